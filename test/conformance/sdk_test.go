package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/clienttest"
)

// TestClientSDK calls all operations of the npm SDK, on many small pages. Its results must equal
// the data that the Go client reads. The SDK validates responses by its own schemas, which reject
// findings and scans of any server.
func TestClientSDK(t *testing.T) {
	folder := clients(t)
	w := newWorld(t, "sqlite")
	service := clienttest.Start(t, w.url)
	project, policy := itoa(w.projectID("acme/payments")), w.policyID(t, "PRODUCT_TYPE_SAST")
	client := exec.CommandContext(t.Context(), "node", script(t, "read_sdk.mjs"))
	client.Env = append(append(os.Environ(), service.Env()...), "TOKEN="+w.hostedToken(t), "PACKAGE="+filepath.Join(folder, "package.json"),
		"PROJECT="+project, "POLICY="+policy)
	var got map[string]any
	if err := json.Unmarshal(run(t, client), &got); err != nil {
		t.Fatal(err)
	}
	for member, why := range map[string]string{
		// Code and an assistant have equal members.
		"findings": "Matched more than one type",
		// Exit codes and counts are numbers in the contract.
		"scans": "Expected value to be of type 'Optional<string>' but found 'number'",
	} {
		refused, _ := got[member].(object)["refused"].(string)
		if !strings.Contains(refused, why) {
			t.Errorf("%s: %.500v", member, got[member])
		}
	}
	ctx, slug, c := t.Context(), w.deployment.Slug, w.api()
	for member, want := range map[string]any{
		"deployments":  get[api.ListDeploymentsResponse](t, w.site, "/api/v1/deployments").Deployments,
		"projects":     w.projects,
		"project":      []any{get[api.ProjectResponse](t, w.site, payments).Project},
		"secrets":      all(t, c.Secrets(ctx, slug, api.SecretsQuery{})),
		"dependencies": mapped(all(t, c.Dependencies(ctx, slug, api.ListDependenciesRequest{})), w.dependencyInSDK),
		"repositories": w.withDependencies(t),
		"lockfiles":    all(t, c.Lockfiles(ctx, slug, project, api.ListLockfilesRequest{})),
		"policies":     filterSlice(get[api.ListPoliciesResponse](t, w.site, "policies").Policies, func(p api.Policy) bool { return p.ProductType != "PRODUCT_TYPE_SCA" }),
		"rules":        all(t, c.PolicyRules(ctx, slug, policy, api.PolicyRulesQuery{})),
	} {
		read := got[member]
		if member == "project" {
			read = []any{read}
		}
		same(t, member, toCamelCase(inJSON(t, want)), toCamelCase(read))
	}
	clienttest.CheckRow(t, clienttest.Client{
		Name: "apimatic-semgrep-sdk", Version: got["version"].(string), Requests: service.Requests(),
		Verdict: "reads all data except findings and scans: its schemas match a finding to two types and require numbers as text",
	})
	if want := clienttest.Pinned(t, "apimatic-semgrep-sdk"); got["version"] != want {
		t.Errorf("version %v, want %s", got["version"], want)
	}
}

// withDependencies returns the projects with dependencies.
func (w *world) withDependencies(t *testing.T) []api.RepositorySummary {
	t.Helper()
	out := post[api.ListDependencyRepositoriesResponse](t, w.site, "dependencies/repositories", object{"page_size": 100})
	if out.HasMore || len(out.RepositorySummaries) < 2 {
		t.Fatalf("%+v", out)
	}
	return out.RepositorySummaries
}

// dependencyInSDK returns a dependency with the additional members of the hosted dialect.
func (w *world) dependencyInSDK(d api.Dependency) any {
	transitivity, line, link := strings.ToUpper(d.Transitivity), "1", w.url+"/orgs/"+w.deployment.Slug+"/dependencies"
	if d.Name == "django" {
		line = "2" // the other lockfiles have one line
	}
	if transitivity == "UNKNOWN" {
		transitivity += "_TRANSITIVITY"
	}
	of := w.projects[slices.IndexFunc(w.projects, func(p api.Project) bool { return itoa(p.ID) == d.RepositoryID })]
	if of.URL != "" {
		link = of.URL + "/blob/main/" + d.LockfilePath + "#L" + line
	}
	return object{
		"id": d.ID, "name": d.Name, "version": d.Version, "ecosystem": d.Ecosystem, "repositoryId": d.RepositoryID, "lockfilePath": d.LockfilePath,
		"licenses": d.Licenses, "purl": d.PURL, "transitivity": transitivity, "resolvedUrl": "", "pathToTransitivity": []any{},
		"mPackage": object{"name": d.Name, "versionSpecifier": d.Version}, // the SDK's name of package
		"definedAt": object{
			"path": d.LockfilePath, "startLine": line, "endLine": line, "startCol": "0", "endCol": "0", "url": link, "committedAt": "1970-01-01T00:00:00Z",
		},
	}
}

// toCamelCase converts the names of members to camelCase and removes nulls, like the SDK.
func toCamelCase(v any) any {
	switch v := v.(type) {
	case []any:
		return mapped(v, toCamelCase)
	case object:
		out := object{}
		for name, value := range v {
			words := strings.Split(name, "_")
			for i, word := range words[1:] {
				words[i+1] = strings.ToUpper(word[:1]) + word[1:]
			}
			if value != nil {
				out[strings.Join(words, "")] = toCamelCase(value)
			}
		}
		return out
	}
	return v
}
