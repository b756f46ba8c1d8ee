package apihttp

import (
	"errors"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestTriageDryRun checks that a triage with the selection of a dry run changes exactly the
// findings of the dry run, or nothing.
func TestTriageDryRun(t *testing.T) {
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
		t.Fatalf("third finding: %v", err)
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

// TestExceptionDryRun checks the same for exceptions, which are created and rolled back.
func TestExceptionDryRun(t *testing.T) {
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
	if len(dry.FirstFindings) != 2 || len(dry.Selection) != 64 {
		t.Fatalf("preview: %+v", dry)
	}
	request.DryRun, request.Selection = false, dry.Selection
	h.imported(map[string][]int{"a.py": {1, 2, 3}})
	h.reviewing(dry.FirstFindings[0]) // one finding is lost and another added, so the number is the same
	var p *api.Problem
	if _, err := h.client.CreateException(t.Context(), "acme", request); !errors.As(err, &p) || p.Code != api.CodeConflict {
		t.Fatalf("other findings than in the preview: %v", err)
	}
	if list, err := h.client.ListExceptions(t.Context(), "acme", api.ExceptionsQuery{}); err != nil || len(list.Exceptions) != 0 {
		t.Fatalf("a rejected one exists: %+v, %v", list, err)
	}
	request.DryRun, request.Selection = true, ""
	if dry, err = h.client.CreateException(t.Context(), "acme", request); err != nil || dry.Changed != 2 {
		t.Fatalf("%+v, %v", dry, err)
	}
	request.DryRun, request.Selection = false, dry.Selection
	if made, err := h.client.CreateException(t.Context(), "acme", request, api.WithKey("once")); err != nil || made.Changed != 2 || made.Exception.ID == 0 || made.Selection != "" {
		t.Errorf("%+v, %v", made, err)
	}
	if repeated, err := h.client.CreateException(t.Context(), "acme", request, api.WithKey("once")); err != nil || repeated.Changed != 2 {
		t.Errorf("repeated: %+v, %v", repeated, err)
	}
}

// TestDeleteExceptionWithSelection checks that deleting an exception with the selection of its
// preview has the previewed effect, or none.
func TestDeleteExceptionWithSelection(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1, 2}})
	made, err := h.client.CreateException(t.Context(), "acme", api.CreateExceptionRequest{Target: "python.lang.security.eval", Reason: "Tests only.", Forever: true})
	if err != nil || made.Changed != 2 {
		t.Fatalf("%+v, %v", made, err)
	}
	id := made.Exception.ID
	if plain, err := h.client.GetException(t.Context(), "acme", id, api.ExceptionQuery{}); err != nil || plain.Ending != nil {
		t.Errorf("the end was not requested: %+v, %v", plain, err)
	}
	preview := func() *api.ExceptionEffect {
		t.Helper()
		e, err := h.client.GetException(t.Context(), "acme", id, api.ExceptionQuery{Ending: true})
		if err != nil || e.Ending == nil || e.Ending.Changed != 2 || len(e.Ending.FirstFindings) != 2 || e.Exception.Ignores != 2 {
			t.Fatalf("%+v, %v", e, err)
		}
		return e.Ending
	}
	before := preview()
	h.imported(map[string][]int{"a.py": {1, 2, 3}})
	h.reviewing(before.FirstFindings[0])
	var p *api.Problem
	if _, err := h.client.DeleteException(t.Context(), "acme", id, api.DeleteExceptionQuery{Selection: before.Selection}); !errors.As(err, &p) || p.Code != api.CodeConflict {
		t.Fatalf("other findings than in the preview: %v", err)
	}
	now := preview()
	if gone, err := h.client.DeleteException(t.Context(), "acme", id, api.DeleteExceptionQuery{Selection: now.Selection}); err != nil || gone.Changed != 2 {
		t.Errorf("%+v, %v", gone, err)
	}
}

// reviewing sets a finding to reviewing by a user, whose decision no exception overrides.
func (h *harness) reviewing(id int64) {
	h.t.Helper()
	r := api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(id)}, NewTriageState: "reviewing"}
	if done, err := h.client.TriageFindings(h.t.Context(), "acme", r); err != nil || done.NumTriaged != 1 {
		h.t.Fatalf("%+v, %v", done, err)
	}
}

// imported uploads a full scan of main with findings on the given lines of files.
func (h *harness) imported(files map[string][]int) {
	h.t.Helper()
	h.importedOn("main", files)
}

func (h *harness) importedOn(ref string, files map[string][]int) {
	h.t.Helper()
	if _, err := h.client.ImportReports(h.t.Context(), "acme", api.ImportQuery{Project: "acme/app", Ref: ref, Full: true}, []api.File{{Name: "semgrep.json", Data: []byte(semgrepReport(files))}}); err != nil {
		h.t.Fatal(err)
	}
}
