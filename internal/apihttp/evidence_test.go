package apihttp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TestEvidence checks that evidence contains the report's code and the decisions about the rule.
// Data of invisible projects must be absent.
func TestEvidence(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1, 2}})
	if _, err := h.client.ImportReports(t.Context(), "acme", api.ImportQuery{Project: "acme/other", Ref: "main", Full: true}, []api.File{{Name: "semgrep.json", Data: []byte(semgrepReport(map[string][]int{"b.py": {1}}))}}); err != nil {
		t.Fatal(err)
	}
	list, err := h.client.ListFindings(t.Context(), "acme", api.FindingsQuery{IssueType: "sast", Repos: []string{"acme/app"}})
	if err != nil || len(list.SASTFindings.Findings) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	f := list.SASTFindings.Findings[0]
	other := list.SASTFindings.Findings[1].ID
	if _, err := h.client.TriageFindings(t.Context(), "acme", api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(other)}, NewTriageState: "ignored", NewTriageReason: "false_positive"}); err != nil {
		t.Fatal(err)
	}
	want := &api.EvidenceResponse{
		Code: []api.CodeLine{{Number: int(f.Location.Line), Text: "eval(x)", Hit: true}}, Flow: []api.FlowStep{}, Dependency: []string{}, Others: []api.Elsewhere{},
		Precedent: api.Precedent{Total: 3, Ignored: 1, FalsePositive: 1},
	}
	got, err := h.client.GetEvidence(t.Context(), "acme", f.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	bound := &api.Client{BaseURL: h.url, Retries: -1, Token: h.newToken(model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"acme/app"}})}
	if got, err = bound.GetEvidence(t.Context(), "acme", f.ID); err != nil || got.Precedent.Total != 2 {
		t.Errorf("restricted token: %+v, %v", got, err)
	}
}
