package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// evalCalls returns the matches of a rule without metavariables in a file, numbered by order like
// the scanner's.
func evalCalls(calls ...string) (out []model.Result) {
	for i, call := range calls {
		out = append(out, model.Result{
			Rule: &model.Rule{Name: "eval"}, Path: "a.js", Message: "eval", Location: model.Location{Line: 10 + 2*i, Column: 1, EndLine: 10 + 2*i, EndColumn: 9},
			MatchBasedID: fmt.Sprintf("%s_%d", hexOf("eval a.js"), i), CodeHash: hexOf(call), PatternHash: hexOf("eval(...)"),
		})
	}
	return out
}

// evalScan reports some calls of a file, like a diff scan.
func (w *wire) evalScan(ref, unique string, full bool, results []model.Result) (blocked bool) {
	w.clock.Advance(1e9)
	u := wireUpload{Ref: ref, Full: full, Commit: unique, Report: &model.Report{RulesRun: []string{"eval"}, Searched: []string{"a.js"}, Results: results}}
	path, _ := w.start(u, unique)
	w.post(path+"results", resultsBody(u))
	return strings.Contains(w.post(path+"complete", map[string]any{"exit_code": 0, "stats": map[string]any{"total_time": 1}}), `"app_block_override":true`)
}

// TestCallAddedAboveOthersIsNew adds a call above three calls on main, for a rule without
// metavariables. The scanner assigns the id of the first one to it.
func TestCallAddedAboveOthersIsNew(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: w, name: "acme/eval", first: "acme/eval", number: 11}
		h.change(func(ctx context.Context, tx *store.Tx) error {
			rule := model.Rule{Name: "eval", IssueType: model.SAST, Severity: model.SeverityHigh, Confidence: model.ConfidenceMedium}
			_, err := tx.ServeRule(ctx, store.Serving{Rule: rule, Text: []byte(`{"id":"eval","pattern":"eval(...)"}`), Checked: true, Mode: model.ModeBlock})
			return err
		})
		main := []string{"eval(a)", "eval(b)", "eval(c)"}
		h.evalScan("main", "m1", true, evalCalls(main...))
		_, ids := w.code("main")
		reviewed := ids["eval a.js:10"]
		decide := api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(reviewed)}, NewTriageState: "ignored", NewTriageReason: "false_positive"}
		if _, err := w.client().TriageFindings(t.Context(), "acme", decide); err != nil {
			t.Fatal(err)
		}

		above, below := evalCalls("eval(evil)", "eval(a)", "eval(b)", "eval(c)"), evalCalls("eval(a)", "eval(b)", "eval(c)", "eval(evil)")
		w.same("above, all told", true, h.evalScan("above", "b1", true, above))
		w.same("above, in a diff", true, h.evalScan("above-diff", "b2", false, above[:1]))
		w.same("below, all told", true, h.evalScan("below", "b3", true, below))
		w.same("below, in a diff", true, h.evalScan("below-diff", "b4", false, below[3:]))
		w.same("nothing new", false, h.evalScan("same", "b5", true, evalCalls(main...)))
		got, _ := w.code("above")
		w.same("the branch", map[string]string{"eval a.js:10": "open", "eval a.js:12": "ignored", "eval a.js:14": "open", "eval a.js:16": "open"}, got)

		w.same("merged", true, h.evalScan("main", "m2", true, above))
		got, ids = w.code("main")
		w.same("main", map[string]string{"eval a.js:10": "open", "eval a.js:12": "ignored", "eval a.js:14": "open", "eval a.js:16": "open"}, got)
		w.same("the reviewed one keeps its id", reviewed, ids["eval a.js:12"])

		var response struct {
			Config struct {
				Match     []string `json:"triage_ignored_match_based_ids"`
				Syntactic []string `json:"triage_ignored_syntactic_ids"`
			}
		}
		if err := json.Unmarshal([]byte(w.ok("GET", "/api/cli/v2/scans/m2/config", nil)), &response); err != nil {
			t.Fatal(err)
		}
		w.same("ids by which the scanner would ignore other code", []string{}, response.Config.Match)
		if len(response.Config.Syntactic) == 0 {
			t.Error("the scanner is not told what is ignored")
		}
	})
}

// TestDuplicatedCallIsNew adds a second call that is equal to one on main. A diff scan reports
// only the new one, with the scanner's number among equal code.
func TestDuplicatedCallIsNew(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: w, name: "acme/twice", first: "acme/twice", number: 12}
		h.change(func(ctx context.Context, tx *store.Tx) error {
			rule := model.Rule{Name: "eval", IssueType: model.SAST, Severity: model.SeverityHigh, Confidence: model.ConfidenceMedium}
			_, err := tx.ServeRule(ctx, store.Serving{Rule: rule, Text: []byte(`{"id":"eval","pattern":"eval(...)"}`), Checked: true, Mode: model.ModeBlock})
			return err
		})
		h.evalScan("main", "m1", true, evalCalls("eval(a)"))
		twice := evalCalls("eval(a)", "eval(a)")
		twice[1].CodeNumber = 2
		w.same("in a diff", true, h.evalScan("diff", "d1", false, twice[1:]))
		w.same("all told", true, h.evalScan("full", "d2", true, twice))
	})
}

// TestUnmutedFindingOnBranchIsNew removes a nosemgrep comment of main on a branch. The finding must be
// new on the branch.
func TestUnmutedFindingOnBranchIsNew(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: w, name: "acme/muted", first: "acme/muted", number: 13}
		h.change(func(ctx context.Context, tx *store.Tx) error {
			rule := model.Rule{Name: "eval", IssueType: model.SAST, Severity: model.SeverityHigh, Confidence: model.ConfidenceMedium}
			_, err := tx.ServeRule(ctx, store.Serving{Rule: rule, Text: []byte(`{"id":"eval","pattern":"eval(...)"}`), Checked: true, Mode: model.ModeBlock})
			return err
		})
		muted := evalCalls("eval(a)", "eval(b)")
		muted[0].Muted = true
		h.evalScan("main", "m1", true, muted)
		w.same("with the comment", false, h.evalScan("dev", "b1", true, muted))
		w.same("without it", true, h.evalScan("dev", "b2", true, evalCalls("eval(a)", "eval(b)")))
		w.same("without it, in a diff", true, h.evalScan("pull", "b3", false, evalCalls("eval(a)")))
		w.same("on main", true, h.evalScan("main", "m2", true, evalCalls("eval(a)", "eval(b)")))
	})
}

// TestRevertedEditRestoresDecision edits a decided line and reverts the edit. The earlier decision
// must return.
func TestRevertedEditRestoresDecision(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: w, name: "acme/revert", first: "acme/revert", number: 14}
		h.evalScan("main", "m1", true, evalCalls("eval(a)", "eval(b)"))
		_, ids := w.code("main")
		decided := ids["eval a.js:10"]
		decide := api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(decided)}, NewTriageState: "ignored", NewTriageReason: "false_positive"}
		if _, err := w.client().TriageFindings(t.Context(), "acme", decide); err != nil {
			t.Fatal(err)
		}
		h.evalScan("main", "m2", true, evalCalls("eval(changed)", "eval(b)"))
		listed := func() map[string]int64 {
			list := map[string]int64{}
			for f, err := range w.client().Findings(t.Context(), "acme", api.FindingsQuery{Ref: "main", Status: []string{"ignored", "open"}}) {
				if err != nil {
					t.Fatal(err)
				}
				list[fmt.Sprint(f.Status, f.Location.Line)] = f.ID
			}
			return list
		}
		edited := listed()
		if edited["open10"] == 0 || edited["open10"] == decided || edited["ignored10"] != 0 {
			t.Errorf("with the line edited main has %v", edited)
		}
		h.view(func(ctx context.Context, tx *store.Tx) error {
			past, err := tx.History(ctx, edited["open10"])
			if err == nil && (len(past) != 1 || past[0].Kind != model.EventPrecedent || !strings.Contains(past[0].Detail, fmt.Sprintf(`"finding_id":%d,"state":"ignored","reason":"false_positive"`, decided))) {
				t.Errorf("the history of the edited line is %+v, want that %d was ignored", past, decided)
			}
			return err
		})
		h.evalScan("dev", "d1", true, evalCalls("eval(a)")) // also on a branch that still has it
		branch, _ := w.code("dev")
		w.same("on a branch", "ignored", branch["eval a.js:10"])
		h.evalScan("main", "m3", true, evalCalls("eval(a)", "eval(b)"))
		w.same("the decision is back", decided, listed()["ignored10"])
	})
}

// TestRestoredOldCodeIsNew edits within a long match on main, and restores the old code on
// branches. The old code must be new there, although it has the same lineage.
func TestRestoredOldCodeIsNew(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: w, name: "acme/within", first: "acme/within", number: 15}
		h.change(func(ctx context.Context, tx *store.Tx) error {
			rule := model.Rule{Name: "eval", IssueType: model.SAST, Severity: model.SeverityHigh, Confidence: model.ConfidenceMedium}
			_, err := tx.ServeRule(ctx, store.Serving{Rule: rule, Text: []byte(`{"id":"eval","pattern":"eval(...)"}`), Checked: true, Mode: model.ModeBlock})
			return err
		})
		long := func(calls ...string) []model.Result {
			out := evalCalls(calls...)
			for i := range out {
				out[i].Location.Line, out[i].Location.EndLine = 10+10*i, 14+10*i
				out[i].StartHash, out[i].EndHash = hexOf("eval("), hexOf(")")
			}
			return out
		}
		h.evalScan("main", "m1", true, long("eval(user)"))
		w.same("edited within on main", false, h.evalScan("main", "m2", true, long("eval(fixed)")))
		w.same("as main has it", false, h.evalScan("same", "b1", true, long("eval(fixed)")))
		w.same("as main had it, in a diff", true, h.evalScan("back-diff", "b2", false, long("eval(user)")))
		w.same("as main had it, all told", true, h.evalScan("back", "b3", true, long("eval(user)")))
		w.same("both", true, h.evalScan("both", "b4", true, long("eval(user)", "eval(fixed)")))
	})
}
