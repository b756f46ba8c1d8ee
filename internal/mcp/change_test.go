package mcp_test

import (
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/mcp"
	"github.com/redoubt/redoubt/internal/model"
)

type plan struct {
	Findings       int64
	First          []line
	ConfirmationID string `json:"confirmation_id"`
}

func (w *world) plan(s *sdk.ClientSession, tool string, arguments map[string]any) (p plan) {
	w.Helper()
	w.data(s, tool, arguments, &p)
	return p
}

func (w *world) open() int {
	w.Helper()
	list, err := w.client(w.token).ListFindings(w.Context(), "acme", api.FindingsQuery{IssueType: "sast", Status: []string{"open"}})
	if err != nil {
		w.Fatal(err)
	}
	return len(list.SASTFindings.Findings)
}

var ignoreApp = map[string]any{"issue_type": "sast", "projects": []string{"acme/app"}, "state": "ignored", "reason": "false_positive", "note": "tests"}

// TestConfirmationIsSingleUse checks that a plan changes nothing, and that its confirmation has the
// planned effect. It works once, and only with the token that planned it.
func TestConfirmationIsSingleUse(t *testing.T) {
	w := newWorld(t, "")
	s := w.connect(w.token)
	p := w.plan(s, "plan_triage", ignoreApp)
	if p.Findings != 3 || len(p.First) != 3 || p.ConfirmationID == "" || w.open() != 4 {
		t.Fatalf("%+v, %d open", p, w.open())
	}
	confirm := map[string]any{"confirmation_id": p.ConfirmationID}
	stranger := w.connect(w.newToken(w.ours, model.Token{Name: "another", Scopes: []model.Scope{model.ScopeWebAPI}}))
	if text, refused := w.call(stranger, "confirm_change", confirm); !refused || w.open() != 4 {
		t.Fatalf("another token confirms: %s", text)
	}
	var done api.TriageResponse
	if w.data(w.connect(w.token), "confirm_change", confirm, &done); done.NumTriaged != 3 || w.open() != 1 {
		t.Fatalf("%+v, %d open", done, w.open())
	}
	if text, refused := w.call(s, "confirm_change", confirm); !refused || !strings.Contains(text, "already applied") {
		t.Errorf("a second time: %s", text)
	}
	if text, refused := w.call(s, "confirm_change", map[string]any{"confirmation_id": "AAAAAAAAAAAAAAAAAAAAAAAAAA"}); !refused {
		t.Errorf("a guess: %s", text)
	}
}

// TestAConfirmationOfWhatChangedIsRefused checks that a confirmation is rejected if the findings
// changed or the plan expired.
func TestAConfirmationOfWhatChangedIsRefused(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a finding came": func(w *world) { w.upload(w.token, "acme/app", "eval is dangerous", 1, 2, 3, 4) },
		"another decision": func(w *world) {
			if _, err := w.client(w.token).TriageFindings(w.Context(), "acme", api.TriageRequest{IssueType: "sast", NewTriageState: "reviewing", TriageFilter: api.TriageFilter{Repos: []string{"acme/app"}}, Limit: 1}); err != nil {
				w.Fatal(err)
			}
		},
		"it is late": func(w *world) { w.clock.Advance(mcp.ChangeFor) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			s := w.connect(w.token)
			p := w.plan(s, "plan_triage", ignoreApp)
			change(w)
			if text, refused := w.call(s, "confirm_change", map[string]any{"confirmation_id": p.ConfirmationID}); !refused {
				t.Errorf("confirmed: %s", text)
			}
			list, err := w.client(w.token).ListFindings(t.Context(), "acme", api.FindingsQuery{IssueType: "sast", Status: []string{"ignored"}})
			if err != nil || len(list.SASTFindings.Findings) != 0 {
				t.Errorf("%d are ignored, %v", len(list.SASTFindings.Findings), err)
			}
		})
	}
}

// TestExceptionsNeedConfirmation checks that exceptions are created and ended in two steps.
func TestExceptionsNeedConfirmation(t *testing.T) {
	w := newWorld(t, "")
	s := w.inMemory(w.token, true)
	tests := map[string]any{"target": "python.eval", "reason": "Tests only.", "projects": []string{"acme/app"}, "until": w.clock.Now().Add(48 * time.Hour).Format(time.DateOnly)}
	p := w.plan(s, "plan_exception", tests)
	if p.Findings != 3 || len(p.First) != 3 || p.First[0].Path != "a.py" || w.open() != 4 {
		t.Fatalf("%+v, %d open", p, w.open())
	}
	var made api.ExceptionChangeResponse
	if w.data(s, "confirm_change", map[string]any{"confirmation_id": p.ConfirmationID}, &made); made.Changed != 3 || w.open() != 1 {
		t.Fatalf("%+v, %d open", made, w.open())
	}
	p = w.plan(s, "plan_end_of_exception", map[string]any{"id": made.Exception.ID})
	if p.Findings != 3 || len(p.First) != 3 || w.open() != 1 {
		t.Fatalf("%+v, %d open", p, w.open())
	}
	if w.data(s, "confirm_change", map[string]any{"confirmation_id": p.ConfirmationID}, &made); w.open() != 4 {
		t.Errorf("%+v, %d open", made, w.open())
	}
}

// TestExceptionsOfOtherFindingsAreRefused checks that a confirmation is rejected if it would change
// other findings, even if their number is the same.
func TestExceptionsOfOtherFindingsAreRefused(t *testing.T) {
	for _, tool := range []string{"plan_exception", "plan_end_of_exception"} {
		t.Run(tool, func(t *testing.T) {
			w := newWorld(t, "")
			s := w.connect(w.token)
			arguments, want := map[string]any{"target": "python.eval", "reason": "Tests only.", "projects": []string{"acme/app"}, "forever": true}, 4
			if tool == "plan_end_of_exception" {
				made, err := w.client(w.token).CreateException(t.Context(), "acme", api.CreateExceptionRequest{Target: "python.eval", Reason: "x", Projects: []string{"acme/app"}, Forever: true})
				if err != nil {
					t.Fatal(err)
				}
				arguments, want = map[string]any{"id": made.Exception.ID}, 1
			}
			p := w.plan(s, tool, arguments)
			w.upload(w.token, "acme/app", "eval is dangerous", 1, 2, 3, 4)
			if _, err := w.client(w.token).TriageFindings(t.Context(), "acme", api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(p.First[0].ID)}, NewTriageState: "reviewing"}); err != nil {
				t.Fatal(err)
			}
			if second := w.plan(s, tool, arguments); second.Findings != p.Findings {
				t.Fatalf("a count tells them apart: %+v", second)
			}
			if text, refused := w.call(s, "confirm_change", map[string]any{"confirmation_id": p.ConfirmationID}); !refused || w.open() != want {
				t.Errorf("confirmed: %s; %d open", text, w.open())
			}
		})
	}
}

// TestPlansOfOneCallerAreBounded checks that the oldest change of a token is dropped at the limit.
func TestPlansOfOneCallerAreBounded(t *testing.T) {
	w := newWorld(t, "")
	s := w.inMemory(w.token, true)
	var ids []string
	for range 21 {
		ids = append(ids, w.plan(s, "plan_triage", ignoreApp).ConfirmationID)
		w.clock.Advance(time.Second)
	}
	if text, refused := w.call(s, "confirm_change", map[string]any{"confirmation_id": ids[0]}); !refused {
		t.Errorf("the oldest of 21 is kept: %s", text)
	}
	if text, refused := w.call(s, "confirm_change", map[string]any{"confirmation_id": ids[1]}); refused {
		t.Errorf("the 20 newest are not kept: %s", text)
	}
}
