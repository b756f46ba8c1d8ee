package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/clienttest"
)

// TestClientCartography reads everything with cartography, on several small pages, and compares its
// graph with the data that the Go client reads.
func TestClientCartography(t *testing.T) {
	folder := clients(t)
	w := newWorld(t, "sqlite")
	service := clienttest.Start(t, w.url)
	client := exec.CommandContext(t.Context(), filepath.Join(folder, "venv", "bin", "python"), script(t, "read_cartography.py"))
	client.Env = append(append(os.Environ(), service.Env()...), "TOKEN="+w.hostedToken(t), "PAGE_SIZE=60")
	var got struct {
		Version                                              string
		Deployment                                           object
		SAST, SCA, Usages, Assistants, Dependencies, Secrets []object
	}
	if err := json.Unmarshal(run(t, client), &got); err != nil {
		t.Fatal(err)
	}
	ctx, slug := t.Context(), w.deployment.Slug
	code := all(t, w.api().Findings(ctx, slug, api.FindingsQuery{Dedup: true}))
	supply := all(t, w.api().SupplyChainFindings(ctx, slug, api.FindingsQuery{Dedup: true}))
	secrets := all(t, w.api().Secrets(ctx, slug, api.SecretsQuery{}))
	dependencies := all(t, w.api().Dependencies(ctx, slug, api.ListDependenciesRequest{DependencyFilter: &api.DependencyFilter{Ecosystem: []string{"npm"}}}))
	if len(code) < 180 || len(supply) < 120 || len(secrets) < 120 {
		t.Errorf("%d, %d and %d findings are too few for pages of 60", len(code), len(supply), len(secrets))
	}
	same(t, "deployment", []object{{"id": w.deployment.ID, "name": w.deployment.Name, "slug": slug}}, []object{got.Deployment})
	same(t, "code", mapped(code, inCartography), got.SAST)
	same(t, "supply chain", mapped(supply, w.vulnInCartography), got.SCA)
	same(t, "usages", usagesInCartography(w, supply), got.Usages)
	same(t, "assistants", assistantsInCartography(code), got.Assistants)
	same(t, "secrets", mapped(secrets, secretInCartography), got.Secrets)
	same(t, "dependencies", mapped(dependencies, w.dependencyInCartography), got.Dependencies)
	clienttest.CheckRow(t, clienttest.Client{Name: "cartography", Version: got.Version, Requests: service.Requests(), Verdict: clienttest.Reads})
	if want := clienttest.Pinned(t, "cartography"); got.Version != want {
		t.Errorf("version %s, want %s", got.Version, want)
	}
}

// branch returns the name of a ref in the hosted dialect.
func branch(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

// coreInCartography returns the members that both types of findings have in the graph.
func coreInCartography(f *api.FindingCore) object {
	return object{
		"id": f.ID, "repositoryName": f.Repository.Name, "repositoryUrl": f.Repository.URL, "branch": branch(f.Ref), "ruleId": f.Rule.Name,
		"description": f.Rule.Message, "severity": strings.ToUpper(f.Severity), "fixStatus": f.Status, "triageStatus": f.TriageState, "openedAt": f.CreatedAt,
		"assistantId": fmt.Sprintf("semgrep-assistant-%d", f.ID),
	}
}

func inCartography(f codeRow) object {
	out := coreInCartography(&f.FindingCore)
	maps.Copy(out, object{
		"title": f.Rule.Name, "confidence": strings.ToUpper(f.Confidence), "categories": f.Categories, "cweNames": f.Rule.CWENames, "owaspNames": f.Rule.OWASPNames,
		"filePath": f.Location.FilePath, "startLine": f.Location.Line, "startCol": f.Location.Column, "endLine": f.Location.EndLine, "endCol": f.Location.EndColumn,
		"lineOfCodeUrl": f.LineOfCodeURL, "state": f.State,
	})
	return out
}

func (w *world) vulnInCartography(f supplyRow) object {
	out, d := coreInCartography(&f.FindingCore), f.FoundDependency
	class := "Other"
	if len(f.Rule.VulnerabilityClasses) > 0 {
		class = f.Rule.VulnerabilityClasses[0]
	}
	reach := strings.ToUpper(strings.ReplaceAll(f.Reachability, "_", " "))
	exposed := "REACHABLE"
	switch f.Reachability {
	case "unknown":
		reach, exposed = "NO REACHABILITY ANALYSIS", "UNREACHABLE"
	case "unreachable":
		exposed = "UNREACHABLE"
	}
	maps.Copy(out, object{
		"title": d.Package + ":" + class, "ecosystem": d.Ecosystem, "confidence": f.Confidence, "reachability": reach, "exposureType": exposed, "reachableIf": nil,
		"matchedDependency": d.Package + "|" + d.Version, "transitivity": strings.ToUpper(d.Transitivity),
	})
	if link := d.LockfileLineURL; link != nil && *link != "" {
		file, _, _ := strings.Cut((*link)[strings.LastIndexByte(*link, '/')+1:], "#")
		out["dependencyFileLocation_path"], out["dependencyFileLocation_url"] = file, *link
	}
	out["has_cve"] = fmt.Sprint(f.VulnerabilityIdentifier != nil)
	if f.VulnerabilityIdentifier != nil { // all are CVEs in this test
		out["cveId"], out["ref_urls"] = *f.VulnerabilityIdentifier, []string{"https://nvd.nist.gov/vuln/detail/" + *f.VulnerabilityIdentifier}
	}
	if len(f.FixRecommendations) > 0 {
		out["closestSafeDependency"] = f.FixRecommendations[0].Package + "|" + f.FixRecommendations[0].Version
	}
	return out
}

func usagesInCartography(w *world, supply []supplyRow) (out []object) {
	for _, f := range supply {
		if f.Usage == nil {
			continue
		}
		l := f.Usage.Location
		out = append(out, object{
			"SCA_ID": f.ID, "path": l.FilePath, "startLine": l.Line, "startCol": l.Column, "endLine": l.EndLine, "endCol": l.EndColumn, "url": f.LineOfCodeURL,
		})
	}
	return out
}

func assistantsInCartography(code []codeRow) (out []object) {
	for _, f := range code {
		if f.Assistant == nil {
			continue
		}
		a := object{
			"id": fmt.Sprintf("semgrep-assistant-%d", f.ID), "autofixFixCode": nil, "autotriagedVerdict": nil, "autotriagedReason": nil, "componentTag": nil,
			"componentRisk": nil, "guidanceSummary": nil, "guidanceInstructions": nil, "ruleExplanationSummary": nil, "ruleExplanation": nil,
		}
		if v := f.Assistant.Autotriage; v != nil {
			a["autotriagedVerdict"], a["autotriagedReason"] = v.Verdict, v.Reason
		}
		if v := f.Assistant.Component; v != nil {
			a["componentTag"], a["componentRisk"] = v.Tag, v.Risk
		}
		out = append(out, a)
	}
	return out
}

func secretInCartography(s api.Secret) object {
	return object{
		"id": s.ID, "repositoryName": s.Repository.Name, "repositoryVisibility": strings.TrimPrefix(s.Repository.Visibility, "REPOSITORY_VISIBILITY_"),
		"repositoryUrl": s.Repository.URL, "repositoryScmType": strings.TrimPrefix(s.Repository.SCMType, "SCM_TYPE_"),
		"ref": s.Ref, "refUrl": s.RefURL, "ruleHashId": s.RuleHashID, "type": s.Type, "findingPath": s.FindingPath, "findingPathUrl": s.FindingPathURL,
		"severity": strings.TrimPrefix(s.Severity, "SEVERITY_"), "confidence": strings.TrimPrefix(s.Confidence, "CONFIDENCE_"),
		"validationState": strings.TrimPrefix(s.ValidationState, "VALIDATION_STATE_"), "status": strings.TrimPrefix(s.Status, "FINDING_STATUS_"),
		"mode": strings.TrimPrefix(s.Mode, "MODE_"), "createdAt": s.CreatedAt, "updatedAt": s.UpdatedAt,
	}
}

// dependencyInCartography returns a dependency as the graph contains it. cartography derives the
// address of the repository from the link to the line.
func (w *world) dependencyInCartography(d api.Dependency) object {
	transitivity := d.Transitivity
	if transitivity == "unknown" {
		transitivity = "unknown_transitivity"
	}
	of := w.projects[slices.IndexFunc(w.projects, func(p api.Project) bool { return itoa(p.ID) == d.RepositoryID })]
	link := w.url + "/orgs/" + w.deployment.Slug + "/dependencies" // if the address is unknown
	repository := link
	if of.URL != "" {
		repository, link = of.URL, of.URL+"/blob/main/"+d.LockfilePath+"#L1" // these npm lockfiles have one line
	}
	return object{
		"id": d.Name + "|" + d.Version, "name": d.Name, "version": d.Version, "specifier": "==" + d.Version, "repo_url": repository, "ecosystem": d.Ecosystem,
		"type": "npm", "normalized_id": "npm|" + strings.ToLower(d.Name) + "|" + d.Version, "transitivity": transitivity, "url": link,
	}
}
