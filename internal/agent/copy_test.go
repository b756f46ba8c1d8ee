package agent_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// callsIn returns the matches of a rule without metavariables in files. The files are calls by
// path, numbered in each file as the scanner does.
func callsIn(files map[string][]string) (out []model.Result) {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		count := map[string]int{}
		for i, r := range evalCalls(files[path]...) {
			count[r.CodeHash]++
			r.Rule = &model.Rule{Name: r.Rule.Name, IssueType: model.SAST}
			r.Path, r.MatchBasedID, r.CodeNumber = path, fmt.Sprintf("%s_%d", hexOf("eval "+path), i), count[r.CodeHash]
			out = append(out, r)
		}
	}
	return out
}

// callsReport returns the scanner's report of files.
func callsReport(files map[string][]string) *model.Report {
	return &model.Report{Tool: "semgrep", RulesRun: []string{"eval"}, Searched: slices.Sorted(maps.Keys(files)), Results: callsIn(files)}
}

// filesScan reports the calls of files. A full scan searches all of them.
func (w *wire) filesScan(ref, unique string, full bool, files map[string][]string) (blocked bool) {
	w.clock.Advance(time.Second)
	return w.reports(wireUpload{Ref: ref, Full: full, Commit: unique, Report: callsReport(files)}, unique)
}

// reports uploads a scan and reports whether the build fails.
func (w *wire) reports(u wireUpload, unique string) (blocked bool) {
	path, scan := w.start(u, unique)
	w.scan = scan
	w.post(path+"results", resultsBody(u))
	return strings.Contains(w.post(path+"complete", map[string]any{"exit_code": 0, "stats": map[string]any{"total_time": 1}}), `"app_block_override":true`)
}

// TestSameCallInOtherFunctionIsNew has the same call in another function, which a metavariable
// of the rule binds. It has the decision only if the rule's text changed, because then both could
// have the same id.
func TestSameCallInOtherFunctionIsNew(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: t, name: "acme/around", first: "acme/around", number: 24}
		h.blockEval()
		scans := 0
		scan := func(function string, version int) (blocked bool) {
			scans++
			w.clock.Advance(time.Second)
			report := callsReport(map[string][]string{"a.js": {"eval(x)"}})
			report.Results[0].MatchBasedID, report.Results[0].PatternHash = hexOf(function)+"_0", hexOf("in "+function)
			report.Results[0].Rule.Version = version
			unique := fmt.Sprint("around-", scans)
			return h.reports(wireUpload{Ref: "main", Full: true, Commit: unique, Report: report}, unique)
		}
		scan("f", 1)
		_, ids := h.listed("main")
		h.decide(ids["a.js:10"], "ignored")
		for _, c := range []struct {
			function string
			version  int
			blocks   bool
			status   string
		}{
			{"f", 1, false, "ignored"},
			{"in the next text, f", 2, false, "ignored"},
			{"in the next text, g", 2, true, "open"},
			{"in the next text, f", 2, false, "ignored"},
			{"h, by who tells no version", 0, false, "ignored"},
			{"i", 0, false, "ignored"},
		} {
			w.same(fmt.Sprint(c, " blocks"), c.blocks, scan(c.function, c.version))
			status, _ := h.listed("main")
			w.same(fmt.Sprint(c), map[string]string{"a.js:10": c.status}, status)
		}
	})
}

func (w *wire) blockEval() {
	w.change(func(ctx context.Context, tx *store.Tx) error {
		rule := model.Rule{Name: "eval", IssueType: model.SAST, Severity: model.SeverityHigh, Confidence: model.ConfidenceMedium}
		_, err := tx.ServeRule(ctx, store.Serving{Rule: rule, Text: []byte(`{"id":"eval","pattern":"eval(...)"}`), Checked: true, Mode: model.ModeBlock})
		return err
	})
}

// decide triages a finding as a person.
func (w *wire) decide(id int64, state string) {
	request := api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(id)}, NewTriageState: state}
	if state == "ignored" {
		request.NewTriageReason = "false_positive"
	}
	if _, err := w.client().TriageFindings(w.t.Context(), "acme", request); err != nil {
		w.t.Fatal(err)
	}
}

// listed returns the status and id of a ref's findings by path.
func (w *wire) listed(ref string) (status map[string]string, ids map[string]int64) {
	status, ids = map[string]string{}, map[string]int64{}
	q := api.FindingsQuery{Ref: ref, Repos: []string{w.name}, Status: []string{"ignored", "open", "reviewing", "fixing"}}
	for f, err := range w.client().Findings(w.t.Context(), "acme", q) {
		if err != nil {
			w.t.Fatal(err)
		}
		at := fmt.Sprint(f.Location.FilePath, ":", f.Location.Line)
		status[at], ids[at] = f.Status, f.ID
	}
	return status, ids
}

// TestCopyOfMovedCallIsNew moves an ignored call on a branch, and adds it again at the old place.
// One of the two must be an undecided copy.
func TestCopyOfMovedCallIsNew(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: t, name: "acme/copies", first: "acme/copies", number: 21}
		h.blockEval()
		one, moved := map[string][]string{"a/p/x.js": {"eval(x)"}, "c.js": nil}, map[string][]string{"b/p/x.js": {"eval(x)"}, "c.js": nil}
		both := map[string][]string{"a/p/x.js": {"eval(x)"}, "b/p/x.js": {"eval(x)"}, "c.js": nil}
		h.filesScan("main", "m1", true, one)
		_, ids := h.listed("main")
		h.decide(ids["a/p/x.js:10"], "ignored")

		w.same("as main", false, h.filesScan("dev", "d1", true, one))
		w.same("moved", false, h.filesScan("dev", "d2", true, moved))
		for _, commit := range []string{"d3", "d4"} {
			w.same("moved and back, "+commit, true, h.filesScan("dev", commit, true, both))
			status, _ := h.listed("dev")
			w.same("the copy inherits nothing, "+commit, map[string]string{"a/p/x.js:10": "ignored", "b/p/x.js:10": "open"}, status)
		}
		w.same("in a diff", true, h.filesScan("dev", "d5", false, map[string][]string{"b/p/x.js": {"eval(x)"}}))
		w.same("only moved, on another branch", false, h.filesScan("other", "o1", true, one))
		w.same("only moved, on another branch", false, h.filesScan("other", "o2", true, moved))
		status, _ := h.listed("other")
		w.same("only moved", map[string]string{"b/p/x.js:10": "ignored"}, status)
		w.same("told in part, what main has", false, h.filesScan("other", "o3", false, map[string][]string{"a/p/x.js": {"eval(x)"}}))
		status, _ = h.listed("other")
		w.same("told in part, the branch", map[string]string{"a/p/x.js:10": "ignored", "b/p/x.js:10": "open"}, status)

		w.same("only the copy, in a diff", true, h.filesScan("refs/pull/7/merge", "p1", false, map[string][]string{"d/p/x.js": {"eval(x)"}}))
		h.filesScan("third", "t1", true, one)
		w.same("moved elsewhere", false, h.filesScan("third", "t2", true, map[string][]string{"e/p/x.js": {"eval(x)"}, "c.js": nil}))
		w.same("only a copy there, in a diff", true, h.filesScan("refs/pull/8/merge", "p2", false, map[string][]string{"e/p/x.js": {"eval(x)"}}))
		status, _ = h.listed("refs/pull/8/merge")
		w.same("the diff", map[string]string{"e/p/x.js:10": "open"}, status)

		_, ids = h.listed("dev")
		h.decide(ids["b/p/x.js:10"], "ignored")
		w.same("decided", false, h.filesScan("dev", "d6", true, both))
		w.same("merged", false, h.filesScan("main", "m2", true, both))
		_, ids = h.listed("main")
		h.decide(ids["b/p/x.js:10"], "reopened")
		w.same("the first copy goes", false, h.filesScan("main", "m3", true, moved))
		status, _ = h.listed("main")
		w.same("what stays is what it was", map[string]string{"b/p/x.js:10": "open"}, status)
	})
}

// TestCopyOnPrimaryBranchIsNew moves a call on the primary branch and then has it at both
// places.
func TestCopyOnPrimaryBranchIsNew(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: t, name: "acme/maincopies", first: "acme/maincopies", number: 22}
		h.blockEval()
		h.filesScan("main", "m1", true, map[string][]string{"a/p/x.js": {"eval(x)"}, "c.js": nil})
		_, ids := h.listed("main")
		h.decide(ids["a/p/x.js:10"], "ignored")
		h.filesScan("main", "m2", true, map[string][]string{"b/p/x.js": {"eval(x)"}, "c.js": nil})
		both := map[string][]string{"a/p/x.js": {"eval(x)"}, "b/p/x.js": {"eval(x)"}, "c.js": nil}
		w.same("both", true, h.filesScan("main", "m3", true, both))
		status, _ := h.listed("main")
		w.same("main", map[string]string{"a/p/x.js:10": "open", "b/p/x.js:10": "ignored"}, status)
		w.same("both again", false, h.filesScan("main", "m4", true, both))
		w.same("a branch of it", false, h.filesScan("dev", "d1", true, both))
		third := map[string][]string{"a/p/x.js": {"eval(x)"}, "b/p/x.js": {"eval(x)"}, "d/p/x.js": {"eval(x)"}}
		w.same("a third", true, h.filesScan("dev", "d2", true, third))
	})
}

// TestMoveOntoEqualCallStaysSeparate moves a call on a branch, where main has an equal call at the new
// place. Both must remain separate findings on main.
func TestMoveOntoEqualCallStaysSeparate(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: t, name: "acme/joined", first: "acme/joined", number: 23}
		h.blockEval()
		both := map[string][]string{"a/p/x.js": {"eval(x)"}, "b/p/x.js": {"eval(x)"}, "c.js": nil}
		h.filesScan("main", "m1", true, both)
		_, ids := h.listed("main")
		h.decide(ids["a/p/x.js:10"], "ignored")
		h.filesScan("dev", "d1", true, map[string][]string{"a/p/x.js": {"eval(x)"}, "c.js": nil})
		h.filesScan("dev", "d2", true, map[string][]string{"b/p/x.js": {"eval(x)"}, "c.js": nil})
		status, _ := h.listed("main")
		w.same("main", map[string]string{"a/p/x.js:10": "ignored", "b/p/x.js:10": "open"}, status)
		w.same("both on the branch", false, h.filesScan("dev", "d3", true, both))
		status, _ = h.listed("dev")
		w.same("dev", map[string]string{"a/p/x.js:10": "ignored", "b/p/x.js:10": "open"}, status)
	})
}

// TestGateBlocksCopies moves, copies and deletes calls at random on two branches, and ignores
// some on the primary branch. Calls on the branch without a counterpart or decision there must
// block.
func TestGateBlocksCopies(t *testing.T) {
	w := newWorld(t, storetest.Engines[0])
	(&wire{world: w, t: t, name: "acme/any", first: "acme/any"}).blockEval()
	storetest.Checks(t, 25)
	histories := 0
	rapid.Check(t, func(t *rapid.T) {
		histories++
		h := copyHistory{wire: &wire{world: w, t: t, number: 1000 + histories}, t: t, decided: map[string]map[int64]bool{"x": {}, "y": {}}}
		h.name = fmt.Sprintf("acme/h%d", histories)
		h.first = h.name
		h.trees = map[string]map[string][]string{"main": {"a.js": {"x"}, "b.js": nil, "c.js": nil}, "dev": {"a.js": {"x"}, "b.js": nil, "c.js": nil}}
		h.scan("main")
		for range rapid.IntRange(2, 7).Draw(t, "steps") {
			h.step()
		}
	})
}

// copyHistory is a project with random moves and copies.
type copyHistory struct {
	*wire
	t       *rapid.T
	trees   map[string]map[string][]string // calls by path, by branch; empty for a file without calls
	decided map[string]map[int64]bool      // ids of ignored findings, by call
	scans   int
}

func (h *copyHistory) step() {
	ref := rapid.SampledFrom([]string{"main", "dev", "dev", "dev"}).Draw(h.t, "ref")
	tree := h.trees[ref]
	path := rapid.SampledFrom([]string{"a.js", "b.js", "c.js"})
	call := rapid.SampledFrom([]string{"x", "y"})
	switch from, to := path.Draw(h.t, "from"), path.Draw(h.t, "to"); rapid.IntRange(0, 5).Draw(h.t, "what") {
	case 0, 1: // the file moves
		if from != to {
			tree[to] = append(slices.Clone(tree[to]), tree[from]...)
			delete(tree, from)
		}
	case 2, 3:
		tree[to] = append(slices.Clone(tree[to]), call.Draw(h.t, "call"))
	case 4:
		delete(tree, from)
	case 5:
		status, ids := h.listed("main")
		for _, at := range slices.Sorted(maps.Keys(ids)) {
			if status[at] == "open" {
				h.decide(ids[at], "ignored")
				h.decided[h.callAt("main", at)][ids[at]] = true
				break
			}
		}
	}
	h.scan(ref)
	h.scan("dev")
}

// callAt returns the call of a branch at a place.
func (h *copyHistory) callAt(ref, at string) string {
	path, line, _ := strings.Cut(at, ":")
	n := 0
	fmt.Sscan(line, &n)
	return h.trees[ref][path][(n-10)/2]
}

func (h *copyHistory) scan(ref string) {
	h.scans++
	files := map[string][]string{}
	count := map[string]int{}
	for path, calls := range h.trees[ref] {
		files[path] = nil
		for _, call := range calls {
			files[path] = append(files[path], "eval("+call+")")
			count[call]++
		}
	}
	h.scanned(ref, files, count)
}

func (h *copyHistory) scanned(ref string, files map[string][]string, count map[string]int) {
	open := map[string]int{}
	status, _ := h.listed("main")
	if ref == "dev" {
		for at, s := range status {
			if s == "open" {
				open[h.callAt("main", at)]++
			}
		}
	}
	blocked := h.filesScan(ref, fmt.Sprintf("%s-%d", h.name[5:], h.scans), true, files)
	for call, n := range count {
		if ref == "dev" && n > open[call]+len(h.decided[call]) && !blocked {
			h.t.Fatalf("%s has %d of eval(%s), main %d that are open, and people decided on %d: it passes\n%v", ref, n, call, open[call], len(h.decided[call]), h.trees)
		}
	}
	status, _ = h.listed(ref)
	ignored := map[string]int{}
	for at, s := range status {
		if s == "ignored" {
			ignored[h.callAt(ref, at)]++
		}
	}
	for call, n := range ignored {
		if n > len(h.decided[call]) {
			h.t.Fatalf("%s shows %d of eval(%s) as ignored, people decided on %d\n%v", ref, n, call, len(h.decided[call]), h.trees)
		}
	}
}

// TestChangeRequestDecisionSurvivesMerge decides on a moved call in a change request. Its
// diff scan does not report that the old place is gone, and the branch still has it from an earlier
// full scan.
func TestChangeRequestDecisionSurvivesMerge(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: t, name: "acme/moves", first: "acme/moves", number: 23}
		h.blockEval()
		old, moved := map[string][]string{"a/p/x.js": {"eval(x)"}, "c.js": nil}, map[string][]string{"b/p/x.js": {"eval(x)"}, "c.js": nil}
		h.filesScan("main", "m1", true, old)
		h.filesScan("dev", "d1", true, old)
		w.same("the diff", true, h.filesScan("dev", "d2", false, map[string][]string{"b/p/x.js": {"eval(x)"}}))
		_, ids := h.listed("dev")
		h.decide(ids["b/p/x.js:10"], "ignored")
		w.same("decided", false, h.filesScan("dev", "d3", false, map[string][]string{"b/p/x.js": {"eval(x)"}}))
		w.same("merged", false, h.filesScan("main", "m2", true, moved))
		status, _ := h.listed("main")
		w.same("main", map[string]string{"b/p/x.js:10": "ignored"}, status)
	})
}
