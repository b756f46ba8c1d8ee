package server

import (
	"errors"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestDryRunOfATriage: over the wire, what a dry run tells is what its selection
// has done, and nothing else.
func TestDryRunOfATriage(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1, 2}})
	request := api.TriageRequest{IssueType: "sast", NewTriageState: "ignored", NewTriageReason: "false_positive", DryRun: true, TriageFilter: api.TriageFilter{Status: api.List[api.Status]{"open"}}}
	dry, err := h.client.TriageFindings(t.Context(), "acme", request)
	if err != nil || dry.NumTriaged != 2 || dry.Selection == "" {
		t.Fatalf("%+v, %v", dry, err)
	}
	list, err := h.client.ListFindings(t.Context(), "acme", api.FindingsQuery{IssueType: "sast", Status: []string{"open"}})
	if err != nil || len(list.SASTFindings.Findings) != 2 {
		t.Fatalf("after the dry run: %+v, %v", list, err)
	}
	request.DryRun, request.Selection = false, dry.Selection
	h.imported(map[string][]int{"a.py": {1, 2, 3}})
	var p *api.Problem
	if _, err := h.client.TriageFindings(t.Context(), "acme", request); !errors.As(err, &p) || p.Code != api.CodeConflict {
		t.Fatalf("a third finding came: %v", err)
	}
	request.Selection = ""
	request.DryRun = true
	dry, err = h.client.TriageFindings(t.Context(), "acme", request)
	if err != nil || dry.NumTriaged != 3 {
		t.Fatalf("%+v, %v", dry, err)
	}
	request.DryRun, request.Selection = false, dry.Selection
	done, err := h.client.TriageFindings(t.Context(), "acme", request)
	if err != nil || done.NumTriaged != 3 || done.Selection != "" {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestDryRunOfAnException: the same of exceptions, which are made and rolled back.
func TestDryRunOfAnException(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1, 2}})
	request := api.CreateExceptionRequest{Target: "python.lang.security.eval", Reason: "Tests only.", Forever: true, DryRun: true}
	dry, err := h.client.CreateException(t.Context(), "acme", request)
	if err != nil || dry.Changed != 2 || dry.Exception.ID != 0 {
		t.Fatalf("%+v, %v", dry, err)
	}
	if list, err := h.client.ListExceptions(t.Context(), "acme", api.ExceptionsQuery{}); err != nil || len(list.Exceptions) != 0 {
		t.Fatalf("after the dry run: %+v, %v", list, err)
	}
	request.DryRun, request.IfChanges = false, &dry.Changed
	h.imported(map[string][]int{"a.py": {1, 2, 3}})
	var p *api.Problem
	if _, err := h.client.CreateException(t.Context(), "acme", request); !errors.As(err, &p) || p.Code != api.CodeConflict {
		t.Fatalf("a third finding came: %v", err)
	}
	if list, err := h.client.ListExceptions(t.Context(), "acme", api.ExceptionsQuery{}); err != nil || len(list.Exceptions) != 0 {
		t.Fatalf("a refused one is there: %+v, %v", list, err)
	}
	three := int64(3)
	request.IfChanges = &three
	if made, err := h.client.CreateException(t.Context(), "acme", request, api.WithKey("once")); err != nil || made.Changed != 3 || made.Exception.ID == 0 {
		t.Errorf("%+v, %v", made, err)
	}
	if again, err := h.client.CreateException(t.Context(), "acme", request, api.WithKey("once")); err != nil || again.Changed != 3 {
		t.Errorf("sent again: %+v, %v", again, err)
	}
}

// imported hands in a full scan of main with findings in files, on lines.
func (h *harness) imported(files map[string][]int) {
	h.t.Helper()
	if _, err := h.client.ImportReports(h.t.Context(), "acme", api.ImportQuery{Project: "acme/app", Ref: "main", Full: true}, []api.File{{Name: "semgrep.json", Data: []byte(semgrepReport(files))}}); err != nil {
		h.t.Fatal(err)
	}
}
