package apihttp

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// importSample imports a report of the demo under a name.
func (h *harness) importSample(file, name string) *api.ImportResponse {
	h.t.Helper()
	f, err := os.Open(filepath.Join("../demo/samples/reports", file))
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	out, err := h.client.ImportReport(h.t.Context(), "acme", api.ImportQuery{
		Project: "acme/payments", Ref: "main", Filename: name, RepoURL: "https://github.com/acme/payments",
	}, f)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func TestDependencyPagination(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	h.importSample("acme/payments/main-1/requirements.txt", "requirements.txt")
	all, err := h.client.ListDependencies(ctx, "acme", api.ListDependenciesRequest{})
	if err != nil || len(all.Dependencies) < 5 || all.HasMore || all.Cursor != "" {
		t.Fatalf("%d dependencies, %v", len(all.Dependencies), err)
	}
	var paged []api.Dependency
	for d, err := range h.client.Dependencies(ctx, "acme", api.ListDependenciesRequest{PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, d)
	}
	if len(paged) != len(all.Dependencies) {
		t.Errorf("%d in pages, %d at once", len(paged), len(all.Dependencies))
	}
	first, err := h.client.ListDependencies(ctx, "acme", api.ListDependenciesRequest{PageSize: 1})
	if err != nil || !first.HasMore {
		t.Fatalf("%+v, %v", first, err)
	}
	// The page size may change between pages, the filter may not.
	if _, err := h.client.ListDependencies(ctx, "acme", api.ListDependenciesRequest{PageSize: 3, Cursor: api.ID(first.Cursor)}); err != nil {
		t.Error(err)
	}
	_, err = h.client.ListDependencies(ctx, "acme", api.ListDependenciesRequest{Cursor: api.ID(first.Cursor), DependencyFilter: &api.DependencyFilter{Name: "a"}})
	wantCode(t, err, api.CodeInvalidArgument)
	if a := h.send(http.MethodPost, "/api/v1/deployments/acme/dependencies", `{"page_size":1,"cursor":`+first.Cursor+`}`); a.status != http.StatusOK {
		t.Errorf("a cursor as number: %s", a.body)
	}
}

func TestLockfiles(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	h.importSample("acme/payments/main-1/requirements.txt", "requirements.txt")
	got, err := h.client.ListLockfiles(ctx, "acme", h.projectID(), api.ListLockfilesRequest{})
	if err != nil || len(got.LockfileSummaries) != 1 || got.HasMore || got.LockfileSummaries[0].NumDependencies < 5 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, id := range []string{"999999", "x", "0"} {
		_, err := h.client.ListLockfiles(ctx, "acme", id, api.ListLockfilesRequest{})
		wantCode(t, err, api.CodeNotFound)
	}
}

func TestSecretListPaginationAndFilters(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	imported := h.importSample("acme/payments/main-1/gitleaks.sarif", "gitleaks.sarif")
	all, err := h.client.ListSecrets(ctx, "acme", api.SecretsQuery{})
	if err != nil || len(all.Findings) == 0 || len(all.Findings) != imported.Imports[0].New {
		t.Fatalf("%d secrets of %+v, %v", len(all.Findings), imported.Imports, err)
	}
	s := all.Findings[0]
	if s.Repository.Name != "acme/payments" || s.Repository.SCMType != "SCM_TYPE_GITHUB" || s.Status != "FINDING_STATUS_OPEN" || s.FindingPathURL == "" || s.RefURL == "" {
		t.Errorf("secret: %+v", s)
	}
	n := 0
	for _, err := range h.client.Secrets(ctx, "acme", api.SecretsQuery{Limit: 1, Repo: []string{"ACME/payments"}}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(all.Findings) {
		t.Errorf("%d in pages, %d at once", n, len(all.Findings))
	}
	for _, q := range []api.SecretsQuery{{Repo: []string{"acme/other"}}, {Status: []string{"FINDING_STATUS_FIXED"}}, {Since: "2999-01-01T00:00:00Z"}} {
		if got, err := h.client.ListSecrets(ctx, "acme", q); err != nil || len(got.Findings) != 0 {
			t.Errorf("%+v: %d, %v", q, len(got.Findings), err)
		}
	}
}
