package agent_test

import (
	"net/http"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TestScanOutcome requests the outcome like redoubt ci, and with a token without access to the
// project.
func TestScanOutcome(t *testing.T) {
	const path = "/api/agent/scans/outcome?project=acme/demo&ref="
	type scanOutcome struct {
		ScanID  int64              `json:"scan_id"`
		Commit  string             `json:"commit"`
		Outcome api.ImportResponse `json:"outcome"`
	}
	each(t, func(w *world) {
		outcomeOf := func(ref string) (out scanOutcome) {
			w.decode([]byte(w.ok("GET", path+ref, nil)), &out)
			return out
		}
		w.rules(model.ModeBlock)
		w.same("before any scan", scanOutcome{}, outcomeOf("main"))
		w.replay("full")
		first := outcomeOf("refs/heads/main")
		if len(first.Outcome.Imports) != 1 || first.Outcome.Imports[0].New != 8 || first.Outcome.Gate.Blocked || first.ScanID == 0 || len(first.Commit) != 40 {
			w.Errorf("the first scan came to %+v", first)
		}
		for _, item := range first.Outcome.Imports[0].Items {
			if muted := item.Path == "app.py" && item.Line == 14; item.Muted != muted {
				w.Errorf("%+v: muted is %v", item, muted)
			}
		}
		w.replay("diff")
		branch := outcomeOf("feature").Outcome.Gate
		_, ids := w.code("feature")
		if !branch.Blocked || len(branch.Blocking) != 1 || branch.Blocking[0].Change != "new" || branch.Blocking[0].FindingID != ids["eqeq service.py:17"] {
			w.Errorf("the branch came to %+v", branch)
		}
		w.same("main still", first.ScanID, outcomeOf("main").ScanID)
		bound := w.newToken(model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeCI}, ProjectGlobs: []string{"other/*"}})
		_, text := w.send(http.MethodGet, path+"main", bound, nil)
		w.same("to a token of other projects", `{"scan_id":0,"commit":""}`, text)
		if status, _ := w.send(http.MethodGet, "/api/agent/scans/outcome", w.token, nil); status != http.StatusBadRequest {
			w.Errorf("of no project it answers %d", status)
		}
	})
}
