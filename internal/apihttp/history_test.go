package apihttp

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
)

// TestFindingHistory checks that the history contains the events of scans and users in
// chronological order, and the other refs of the finding.
func TestFindingHistory(t *testing.T) {
	h := newHarness(t)
	began := h.clock.Now()
	h.imported(map[string][]int{"a.py": {1}})
	only := func(ref string) api.CodeFinding {
		t.Helper()
		list, err := h.client.ListFindings(t.Context(), "acme", api.FindingsQuery{Ref: ref})
		if err != nil || len(list.SASTFindings.Findings) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list.SASTFindings.Findings[0]
	}
	first := only("main")
	h.clock.Advance(time.Second)
	if _, err := h.client.TriageFindings(t.Context(), "acme", api.TriageRequest{
		IssueType: "sast", IssueIDs: []api.Int{api.Int(first.ID)}, NewTriageState: "ignored", NewTriageReason: "false_positive", NewNote: "only in tests", NewTriageUntil: "2099-01-31",
	}); err != nil {
		t.Fatal(err)
	}
	h.clock.Advance(time.Second)
	h.imported(map[string][]int{"a.py": {5}})
	h.clock.Advance(time.Second)
	h.imported(map[string][]int{"b.py": {}})
	h.importedOn("develop", map[string][]int{"a.py": {5}})
	onDevelop := only("develop")

	got, err := h.client.GetFindingHistory(t.Context(), "acme", first.ID)
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{}
	for i, e := range got.Events {
		kinds = append(kinds, e.Kind)
		if e.At.Before(began) || i > 0 && e.At.Before(got.Events[i-1].At.Time) || (e.ScanID == 0) != (e.Kind == "triaged") {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if diff := cmp.Diff([]string{"found", "triaged", "moved", "fixed"}, kinds); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	triaged, moved := got.Events[1], got.Events[2]
	want := api.FindingEvent{
		At: triaged.At, Kind: "triaged", By: &api.Person{Kind: "token", Name: "all"}, Before: &api.TriageDecision{TriageState: "untriaged"},
		After: &api.TriageDecision{TriageState: "ignored", TriageReason: "false_positive", TriageUntil: "2099-01-31"}, Note: "only in tests",
	}
	if diff := cmp.Diff(want, triaged); diff != "" {
		t.Errorf("the decision (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]*api.EventPlace{{Path: "a.py", Line: 1}, {Path: "a.py", Line: 5}}, []*api.EventPlace{moved.From, moved.To}); diff != "" {
		t.Errorf("the move (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]api.Elsewhere{{ID: onDevelop.ID, Ref: "refs/heads/develop", Status: "ignored"}}, got.Others); diff != "" {
		t.Errorf("elsewhere (-want +got)\n%s", diff)
	}

	h.token = h.newToken(model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"other/**"}})
	h.wantProblem(h.send(http.MethodGet, "/api/v1/deployments/acme/findings/"+core.Decimal(first.ID)+"/history", ""), api.CodeNotFound)
}
