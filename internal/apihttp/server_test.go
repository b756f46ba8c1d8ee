package apihttp

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// importFindings imports two findings on main.
func (h *harness) importFindings() *api.ImportResponse {
	h.t.Helper()
	out, err := h.client.ImportReport(h.t.Context(), "acme", api.ImportQuery{Project: "acme/payments", Ref: "main", RepoURL: "https://github.com/acme/payments"},
		strings.NewReader(semgrepReport(map[string][]int{"src/app.py": {10, 20}})))
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func TestImportedFindingsAreListed(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	if got := h.importFindings().Imports; len(got) != 1 || got[0].New != 2 || got[0].Outcome != "applied" {
		t.Fatalf("import: %+v", got)
	}
	if got := h.importFindings().Imports[0]; got.Outcome != "repeat" || got.Unchanged != 2 {
		t.Errorf("repeated: %+v", got)
	}
	page, err := h.client.ListFindings(ctx, "acme", api.FindingsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.SASTFindings.Findings) != 2 || len(page.SCAFindings.Findings) != 0 {
		t.Fatalf("findings: %+v", page)
	}
	f := page.SASTFindings.Findings[0]
	if f.Severity != "high" || f.Status != "open" || f.Ref != "refs/heads/main" || f.Repository.Name != "acme/payments" || f.SourcingPolicy == nil {
		t.Errorf("finding: %+v", f)
	}
	one, err := h.client.GetFinding(ctx, "acme", f.ID)
	if err != nil || one.Finding.ID != f.ID {
		t.Errorf("one finding: %+v, %v", one, err)
	}
	done, err := h.client.TriageFindings(ctx, "acme", api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(f.ID)}, NewTriageState: "ignored", NewTriageReason: "false_positive"})
	if err != nil || done.NumTriaged != 1 || done.TriagedIssues[0] != f.ID {
		t.Fatalf("triage: %+v, %v", done, err)
	}
	left, err := h.client.ListFindings(ctx, "acme", api.FindingsQuery{Status: []string{"open"}})
	if err != nil || len(left.SASTFindings.Findings) != 1 {
		t.Errorf("open after triage: %+v, %v", left, err)
	}
}

func TestEveryListIsRouted(t *testing.T) {
	h := newHarness(t)
	h.importFindings()
	ctx, d := t.Context(), "acme"
	deployments, err := h.client.ListDeployments(ctx)
	if err != nil || deployments.Deployments[0].Slug != d || deployments.Deployments[0].Findings.URL != h.url+"/api/v1/deployments/acme/findings" {
		t.Errorf("deployments: %+v, %v", deployments, err)
	}
	projects, err := h.client.ListProjects(ctx, d, api.ProjectsQuery{})
	if err != nil || len(projects.Projects) != 1 || projects.Projects[0].ManagedScanConfig != nil {
		t.Fatalf("projects: %+v, %v", projects, err)
	}
	scans, err := h.client.SearchScans(ctx, d, api.SearchScansRequest{Statuses: api.List[api.ScanStatus]{"SCAN_STATUS_COMPLETED"}})
	if err != nil || len(scans.Scans) != 1 || scans.Cursor != "" || scans.Scans[0].FindingsCounts.Code != 2 {
		t.Errorf("scans: %+v, %v", scans, err)
	}
	policies, err := h.client.ListPolicies(ctx, d)
	if err != nil || len(policies.Policies) != 3 {
		t.Fatalf("policies: %+v, %v", policies, err)
	}
	rules, err := h.client.ListPolicyRules(ctx, d, policies.Policies[0].ID, api.PolicyRulesQuery{})
	if err != nil || len(rules.Rules) != 1 || rules.Rules[0].PolicyMode != "MODE_MONITOR" {
		t.Errorf("rules: %+v, %v", rules, err)
	}
	dependencies, err := h.client.ListDependencies(ctx, d, api.ListDependenciesRequest{})
	if err != nil || dependencies.Dependencies == nil || dependencies.HasMore {
		t.Errorf("dependencies: %+v, %v", dependencies, err)
	}
	secrets, err := h.client.ListSecrets(ctx, d, api.SecretsQuery{})
	if err != nil || secrets.Findings == nil {
		t.Errorf("secrets: %+v, %v", secrets, err)
	}
	if err := h.client.Ping(ctx); err != nil {
		t.Error(err)
	}
}

func TestPagesServeOtherPaths(t *testing.T) {
	pages := http.NewServeMux()
	pages.HandleFunc("GET /orgs/{deployment}/overview", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "the overview of "+r.PathValue("deployment"))
	})
	h := newHarness(t, func(c *core.Config) { c.Pages = pages })
	if a := h.send("GET", "/orgs/acme/overview", ""); a.status != http.StatusOK || a.body != "the overview of acme" {
		t.Errorf("a page: %d %s", a.status, a.body)
	}
	if log := h.log.String(); !strings.Contains(log, `"route":"GET /orgs/{deployment}/overview"`) {
		t.Errorf("the log does not contain the page: %s", log)
	}
	h.wantProblem(h.send("GET", "/api/v1/nothing", ""), api.CodeNotFound)
	h.wantProblem(h.send("GET", "/api/", ""), api.CodeNotFound)
	if a := h.send("GET", "/healthz", ""); a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("a probe: %d %s", a.status, a.body)
	}
}
