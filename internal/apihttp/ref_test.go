package apihttp

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// listed returns the ids of all code findings on a ref, or on all refs if it is empty.
func (h *harness) listed(ref string) (ids []int64) {
	h.t.Helper()
	page, err := h.client.ListFindings(h.t.Context(), "acme", api.FindingsQuery{Ref: ref})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range page.SASTFindings.Findings {
		ids = append(ids, f.ID)
	}
	return ids
}

// importRef uploads a report with one finding on a ref.
func (h *harness) importRef(ref, commit string) api.Import {
	h.t.Helper()
	h.clock.Advance(time.Minute)
	out, err := h.client.ImportReport(h.t.Context(), "acme", api.ImportQuery{Project: "acme/payments", Ref: ref, Commit: commit},
		strings.NewReader(semgrepReport(map[string][]int{"a.py": {1}})))
	if err != nil {
		h.t.Fatal(err)
	}
	return out.Imports[0]
}

func TestDeleteRef(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	h.importRef("main", "c1")
	h.importRef("dev", "c1")
	h.importRef("dev", "c2")
	onDev := h.listed("dev")[0]
	for range 2 {
		got, err := h.client.DeleteRef(ctx, "acme", api.DeleteRefQuery{Project: "acme/payments", Ref: "dev"})
		if err != nil || *got != (api.DeleteRefResponse{ProjectName: "acme/payments", Ref: "refs/heads/dev"}) {
			t.Errorf("got %+v, %v", got, err)
		}
		if len(h.listed("dev")) != 0 || len(h.listed("")) != 1 {
			t.Errorf("on dev %v, on all refs %v", h.listed("dev"), h.listed(""))
		}
	}
	// A recreated branch may have a commit of the previous one.
	if repeated := h.importRef("dev", "c1"); repeated.Returned != 1 || h.listed("refs/heads/dev")[0] != onDev {
		t.Errorf("scanned again: %+v, lists %v", repeated, h.listed("dev"))
	}
	if _, err := h.client.DeleteRef(ctx, "acme", api.DeleteRefQuery{Project: "acme/payments", Ref: "refs/heads/dev"}); err != nil {
		t.Error(err)
	}
}

func TestDeleteRefRejects(t *testing.T) {
	h := newHarness(t)
	h.importRef("main", "c1")
	h.importRef("dev", "c1")
	const target = "/api/v1/deployments/acme/refs"
	for query, code := range map[string]string{
		"?project=acme/payments&ref=main":            api.CodeInvalidArgument,
		"?project=acme/payments&ref=refs/heads/main": api.CodeInvalidArgument,
		"?project=acme/payments":                     api.CodeInvalidArgument,
		"?project=acme/payments&ref=":                api.CodeInvalidArgument,
		"?ref=dev":                                   api.CodeInvalidArgument,
		"?project=acme/payments&ref=none":            api.CodeNotFound,
		"?project=acme/none&ref=dev":                 api.CodeNotFound,
		"?project=payments&ref=dev":                  api.CodeNotFound,
	} {
		if a := h.send(http.MethodDelete, target+query, ""); a.problem.Code != code {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	bound := &api.Client{BaseURL: h.url, Retries: -1, Token: h.newToken(model.Token{
		Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"other/*"},
	})}
	_, err := bound.DeleteRef(t.Context(), "acme", api.DeleteRefQuery{Project: "acme/payments", Ref: "dev"})
	wantCode(t, err, api.CodeNotFound)
	if len(h.listed("dev")) != 1 {
		t.Error("a rejected request deleted the ref")
	}
}
