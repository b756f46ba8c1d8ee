package apihttp

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var p *api.Problem
	if !errors.As(err, &p) || p.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestProjectLifecycle(t *testing.T) {
	h := newHarness(t)
	ctx, d := t.Context(), "acme"
	made, err := h.client.CreateProject(ctx, d, api.CreateProjectRequest{Name: "group/sub/repo", URL: "https://example.com/x", Tags: api.List[string]{" a ", "b", "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, made.Project.Tags); diff != "" || made.Project.DefaultBranch != "refs/heads/main" || made.Project.LatestScanAt != nil {
		t.Errorf("made: %+v %s", made.Project, diff)
	}
	_, err = h.client.CreateProject(ctx, d, api.CreateProjectRequest{Name: "group/sub/repo"})
	wantCode(t, err, api.CodeConflict)

	primary := "release"
	got, err := h.client.UpdateProject(ctx, d, "group/sub/repo", api.UpdateProjectRequest{PrimaryBranch: &primary, Visibility: "private"})
	if err != nil || got.Project.PrimaryBranch != "refs/heads/release" || got.Project.Visibility != "private" || len(got.Project.Tags) != 2 {
		t.Errorf("updated: %+v, %v", got, err)
	}
	follow := "None"
	got, err = h.client.UpdateProject(ctx, d, "group/sub/repo", api.UpdateProjectRequest{PrimaryBranch: &follow})
	if err != nil || got.Project.PrimaryBranch != "refs/heads/main" {
		t.Errorf("following the default again: %+v, %v", got, err)
	}
	got, err = h.client.ToggleManagedScan(ctx, d, "group/sub/repo", api.ToggleManagedScanRequest{DiffScan: &api.Switch{Enabled: new(true)}})
	if err != nil || !got.Project.ManagedScanConfig.DiffScan.Enabled || got.Project.ManagedScanConfig.FullScan.Enabled {
		t.Errorf("toggled: %+v, %v", got, err)
	}
	if gone, err := h.client.DeleteProject(ctx, d, "group/sub/repo"); err != nil || gone.ProjectName != "group/sub/repo" {
		t.Errorf("deleted: %+v, %v", gone, err)
	}
	_, err = h.client.GetProject(ctx, d, "group/sub/repo")
	wantCode(t, err, api.CodeNotFound)
}

func TestProjectBodies(t *testing.T) {
	h := newHarness(t)
	h.importFindings()
	const target = "/api/v1/deployments/acme/projects/acme/payments"
	for _, test := range []struct{ body, want string }{
		{`{"tags":"x, y"}`, `"tags":["x","y"]`},
		{`{"tags":["z"]}`, `"tags":["z"]`},
		{`{"tags":[]}`, `"tags":[]`},
		{`{"primaryBranch":"dev"}`, `"primary_branch":"refs/heads/dev"`},
		{`{"managedScanConfig":{"fullScan":{"enabled":true}},"nonsense":1}`, `"full_scan":{"enabled":true}`},
		{``, `"name":"acme/payments"`},
		{`{"projectName":"acme/payments","deploymentSlug":"acme"}`, `"name":"acme/payments"`},
	} {
		a := h.send(http.MethodPatch, target, test.body)
		if a.status != http.StatusOK || !contains(a.body, test.want) {
			t.Errorf("%s: %d %s", test.body, a.status, a.body)
		}
	}
	for _, body := range []string{
		`{"tags":1}`, `{"tags":["a","b","c","d","e","f","g","h","i","j","k"]}`, `{"primary_branch":""}`, `{"primary_branch":"refs/tags/v1"}`,
		`{"projectName":"acme/other"}`, `{"visibility":"secret"}`, `{"managed_scan_config":{"diff_scan":{"enabled":"yes"}}}`,
	} {
		h.wantProblem(h.send(http.MethodPatch, target, body), api.CodeInvalidArgument)
	}
}

func TestProjectGlobs(t *testing.T) {
	h := newHarness(t)
	h.importFindings()
	ctx, d := t.Context(), "acme"
	for _, name := range []string{"acme/secret", "other/one"} {
		if _, err := h.client.CreateProject(ctx, d, api.CreateProjectRequest{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	bound := &api.Client{BaseURL: h.url, Retries: -1, Token: h.newToken(model.Token{
		Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"other/*"},
	})}
	var names []string
	for p, err := range bound.Projects(ctx, d, api.ProjectsQuery{PageSize: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"other/one"}, names); diff != "" {
		t.Error(diff)
	}
	_, err := bound.GetProject(ctx, d, "acme/secret")
	wantCode(t, err, api.CodeNotFound)
	_, err = bound.CreateProject(ctx, d, api.CreateProjectRequest{Name: "acme/new"})
	wantCode(t, err, api.CodeNotFound)
	page, err := bound.ListFindings(ctx, d, api.FindingsQuery{})
	if err != nil || len(page.SASTFindings.Findings) != 0 {
		t.Errorf("findings of an invisible project: %+v, %v", page, err)
	}
	if all, err := h.client.ListFindings(ctx, d, api.FindingsQuery{}); err == nil {
		_, err = bound.GetFinding(ctx, d, all.SASTFindings.Findings[0].ID)
		wantCode(t, err, api.CodeNotFound)
		_, err = bound.AnnotateFinding(ctx, d, all.SASTFindings.Findings[0].ID, api.AnnotateRequest{ExternalTicket: &api.ExternalTicket{URL: "https://t.example/1"}})
		wantCode(t, err, api.CodeNotFound)
	}
	if scans, err := bound.SearchScans(ctx, d, api.SearchScansRequest{}); err != nil || len(scans.Scans) != 0 {
		t.Errorf("scans of an invisible project: %+v, %v", scans, err)
	}
}
