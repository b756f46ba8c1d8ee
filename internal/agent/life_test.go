package agent_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

var wireHistories = flag.Int("wire.histories", 0, "random histories over the wire for each engine; 150 on SQLite and 30 on PostgreSQL by default")

// blocking is the rule that fails builds.
const blocking = "r1"

// TestRandomUploadHistories uploads random histories of projects. They contain full and diff scans,
// also concurrent, late, repeated, failed and unfinished ones, and imports of JSON and of another
// tool. Meanwhile findings are triaged, policies change, repositories are renamed and branches
// deleted.
//
// Findings of an applied scan must be open; other findings are open only if the scan is partial.
// Scans that do not count and repeated ones must change nothing. The gate must block new findings.
func TestRandomUploadHistories(t *testing.T) {
	for engine, count := range map[string]int{storetest.Engines[0]: 40, storetest.Engines[1]: 15} {
		t.Run(engine, func(t *testing.T) {
			if *wireHistories > 0 {
				count = *wireHistories
			}
			storetest.Checks(t, count)
			w := newWorld(t, engine)
			projects := 0
			rapid.Check(t, func(t *rapid.T) {
				projects++
				h := newWireHistory(t, w, projects)
				for range rapid.IntRange(3, 12).Draw(t, "steps") {
					w.clock.Advance(time.Second)
					h.step()
				}
			})
		})
	}
}

// wireHistory is the history of one project.
type wireHistory struct {
	*wire
	t       *rapid.T
	trees   map[string]*wireTree // by ref
	pending []*wireScan
	scans   int
	rows    map[int64]model.Finding // as last stored
	refs    map[string]bool         // refs with applied scans
	based   bool                    // the primary branch was scanned in full, so later scans block
	removed bool                    // r3 is in no policy
}

// wireScan is a scan that was started.
type wireScan struct {
	path   string
	upload wireUpload
	scan   int64
}

var wireRules = []string{"r1", "r2", "r3"}

func newWireHistory(t *rapid.T, w *world, number int) *wireHistory {
	h := &wireHistory{
		wire: &wire{world: w, t: t, name: fmt.Sprintf("acme/p%d", number), number: number}, t: t,
		rows: map[int64]model.Finding{}, refs: map[string]bool{}, trees: map[string]*wireTree{},
	}
	h.first = h.name
	for _, ref := range wireRefs {
		h.trees[ref] = &wireTree{pattern: "p"}
	}
	h.serve()
	h.begin() // an import could otherwise create a separate project
	return h
}

func (h *wireHistory) step() {
	switch what := rapid.IntRange(0, 19).Draw(h.t, "what"); {
	case what <= 7:
		h.begin()
		if rapid.Bool().Draw(h.t, "at once") {
			h.finish(len(h.pending) - 1)
		}
	case what <= 11:
		if len(h.pending) > 0 {
			h.finish(rapid.IntRange(0, len(h.pending)-1).Draw(h.t, "which"))
		}
	case what <= 14:
		h.imports()
	case what <= 16:
		h.triage()
	case what == 17:
		h.policy()
	case what == 18:
		h.deleteRef()
	default:
		h.name = fmt.Sprintf("acme/p%d-%d", h.number, h.scans) // its next applied scan renames the project
	}
	h.rows = h.stored()
}

// tree returns a branch after some edits.
func (h *wireHistory) tree() (string, *wireTree) {
	ref := rapid.SampledFrom([]string{"main", "main", "dev", "refs/pull/7/merge"}).Draw(h.t, "ref")
	if ref != "main" && rapid.IntRange(0, 5).Draw(h.t, "again") == 0 {
		h.trees[ref] = &wireTree{items: slices.Clone(h.trees["main"].items), pattern: h.trees["main"].pattern}
	}
	h.trees[ref].edit(h.t)
	return ref, h.trees[ref]
}

// begin starts a scan of the current tree, which may end much later.
func (h *wireHistory) begin() {
	ref, tree := h.tree()
	h.scans++
	u := wireUpload{Ref: ref, Full: rapid.IntRange(0, 2).Draw(h.t, "full") > 0 && ref != "refs/pull/7/merge", Report: &model.Report{Tool: "semgrep"}}
	u.Commit = rapid.SampledFrom([]string{"", "c1", "c2", "c3", fmt.Sprint("c", h.scans)}).Draw(h.t, "commit")
	served := slices.DeleteFunc(slices.Clone(wireRules), func(r string) bool { return h.removed && r == "r3" })
	u.Report.RulesRun = some(h.t, served, "rule")
	u.Report.Searched = some(h.t, wirePaths, "searched")
	if rapid.IntRange(0, 3).Draw(h.t, "skips") == 0 {
		u.Report.Skipped = some(h.t, wirePaths, "skipped")
	}
	u.Report.Failed = rapid.IntRange(0, 9).Draw(h.t, "failed") == 0
	for _, r := range tree.results(true, true) {
		if slices.Contains(served, r.Rule.Name) {
			u.Report.Results = append(u.Report.Results, r)
		}
	}
	path, id := h.start(u, fmt.Sprintf("u%d-%d", h.number, h.scans))
	h.pending = append(h.pending, &wireScan{path, u, id})
}

// finish ends a scan with its results or with an error.
func (h *wireHistory) finish(i int) {
	s := h.pending[i]
	h.pending = slices.Delete(h.pending, i, i+1)
	if rapid.IntRange(0, 11).Draw(h.t, "gives up") == 0 {
		h.post(s.path+"error", map[string]any{"exit_code": 2, "stderr": ""})
		return
	}
	results, done := resultsBody(s.upload), map[string]any{"exit_code": exitCode(s.upload), "stats": map[string]any{"total_time": 1.5}, "dependencies": map[string]any{}}
	for range rapid.IntRange(1, 2).Draw(h.t, "sent") {
		h.post(s.path+"results", results)
	}
	first := h.post(s.path+"complete", done)
	if !strings.Contains(first, `"success":true`) {
		h.t.Fatalf("the completion was answered %s", first)
	}
	before, based := h.rows, h.based
	h.applied(s.upload, s.scan)
	if h.outcome(s.scan) == model.ScanApplied {
		h.gate(s, before, based, strings.Contains(first, `"app_block_override":true`))
	}
	if rapid.Bool().Draw(h.t, "completed twice") {
		if h.post(s.path+"complete", done) != first {
			h.t.Fatal("the completion was answered otherwise the second time")
		}
		h.unchanged("the completion again")
	}
}

// gate checks that a scan fails its build only if reported blocking findings are open. A new
// finding of the blocking rule must fail it.
func (h *wireHistory) gate(s *wireScan, before map[int64]model.Finding, based, blocked bool) {
	known, lineages := map[int64]bool{}, h.lineages()
	for _, f := range before {
		known[f.LineageID] = true
	}
	var account model.ScanAccount
	h.read(func(ctx context.Context, tx *store.Tx) (err error) {
		account, err = tx.ScanAccount(ctx, s.scan)
		return err
	})
	var blocks []model.Blocked
	if account.Gate != nil {
		blocks = account.Gate.Blocking
	}
	if blocked != (len(blocks) > 0) {
		h.t.Fatalf("the scanner receives %v, the gate returns %+v", blocked, blocks)
	}
	at := map[string]bool{}
	for _, b := range blocks {
		at[fmt.Sprint(b.Path, ":", b.Line)] = true
	}
	open := map[string]bool{}
	for id, f := range h.rows {
		if f.Ref != model.FullRef(s.upload.Ref) || f.Source != "semgrep" || f.RuleName != blocking || f.State != model.Unresolved {
			continue
		}
		location := fmt.Sprint(f.Path, ":", f.Line)
		open[location] = open[location] || lineages[f.LineageID].Triage.State != model.TriageIgnored
		if before[id].ID == 0 && !known[f.LineageID] && !at[location] && based && !s.upload.Report.Failed {
			h.t.Fatalf("%+v is new, and passes", f)
		}
	}
	for location := range at {
		if !open[location] {
			h.t.Fatalf("%s blocks, and is not open", location)
		}
	}
}

// imports uploads plain JSON of the tree or a report of another tool.
func (h *wireHistory) imports() {
	ref, tree := h.tree()
	u := wireUpload{Ref: ref, Full: rapid.IntRange(0, 3).Draw(h.t, "full") > 0, Report: &model.Report{Tool: "semgrep"}}
	u.Commit = rapid.SampledFrom([]string{"", "c1", "c2", "c3"}).Draw(h.t, "commit")
	u.DeclaredFull = u.Full && rapid.IntRange(0, 3).Draw(h.t, "declared") == 0
	var body []byte
	if rapid.IntRange(0, 2).Draw(h.t, "tool") == 0 {
		u.Report.Tool = "bandit"
		u.Report.Results = tree.results(false, true)
		for i := range u.Report.Results {
			u.Report.Results[i].MatchBasedID, u.Report.Results[i].CodeHash = "", ""
		}
		body = sarifBody(u)
	} else {
		loggedIn := rapid.Bool().Draw(h.t, "logged in")
		u.Report.Searched = some(h.t, wirePaths, "searched")
		for _, r := range tree.results(false, loggedIn) {
			if !r.Muted { // as without --disable-nosem
				u.Report.Results = append(u.Report.Results, r)
			}
		}
		u.Report.HidesMuted = true
		body = jsonBody(u)
	}
	h.scans++
	done := h.imported(u, body)
	h.applied(u, done.scan)
	if h.outcome(done.scan) == model.ScanApplied && rapid.Bool().Draw(h.t, "imported twice") {
		h.imported(u, body)
		h.unchanged("the import again")
	}
}

// applied checks the effect of an upload on findings.
func (h *wireHistory) applied(u wireUpload, scan int64) {
	if h.outcome(scan) != model.ScanApplied {
		h.unchanged("a scan that counts not")
		return
	}
	h.refs[model.FullRef(u.Ref)] = true
	if p, _ := h.project(); u.Full && !u.Report.Failed && u.Report.Tool == "semgrep" && p.Primary() == model.FullRef(u.Ref) {
		h.based = true
	}
	h.rows = h.stored()
	locationOf := func(rule, path string, line int, muted bool) string {
		return fmt.Sprint(rule, " ", path, ":", line, " ", muted)
	}
	reported, shown := map[string]bool{}, map[string]bool{}
	for _, r := range u.Report.Results {
		reported[locationOf(r.Rule.Name, r.Path, r.Location.Line, r.Muted)] = true
	}
	for _, f := range h.rows {
		if live := f.State == model.Unresolved || f.State == model.Muted; live && f.Ref == model.FullRef(u.Ref) && f.Source == u.Report.Tool {
			shown[locationOf(f.RuleName, f.Path, f.Line, f.State == model.Muted)] = true
		}
	}
	for p := range reported {
		if rule, _, muted := strings.Cut(p, " true"); !shown[p] && (!muted || !shown[rule+" false"]) {
			h.t.Fatalf("nothing shows %s of %v", p, shown)
		}
	}
	r := u.Report
	complete := u.Full && !r.Failed && len(r.Skipped) == 0 && (u.DeclaredFull || len(r.RulesRun) == len(wireRules) && len(r.Searched) == len(wirePaths))
	for p := range shown {
		if complete && !reported[p] && (!r.HidesMuted || !strings.HasSuffix(p, " true")) {
			h.t.Fatalf("%s is open, the report does not tell it: %v", p, reported)
		}
	}
}

// unchanged checks that no finding changed.
func (h *wireHistory) unchanged(what string) {
	if diff := cmp.Diff(h.rows, h.stored()); diff != "" {
		h.t.Fatalf("%s changed findings (-before +after):\n%s", what, diff)
	}
}

// triage decides on a listed finding.
func (h *wireHistory) triage() {
	var listed []int64
	for _, id := range slices.Sorted(maps.Keys(h.rows)) {
		if h.rows[id].State != model.StateRemoved {
			listed = append(listed, id)
		}
	}
	if len(listed) == 0 {
		return
	}
	id := rapid.SampledFrom(listed).Draw(h.t, "finding")
	state := rapid.SampledFrom([]model.TriageState{model.TriageIgnored, model.TriageReviewing, model.TriageFixing, model.TriageReopened}).Draw(h.t, "state")
	r := api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(id)}, NewTriageState: state.String()}
	if _, err := h.client().TriageFindings(h.t.Context(), "acme", r); err != nil {
		h.t.Fatal(err)
	}
	if got := h.lineages()[h.rows[id].LineageID].Triage.State; got != state {
		h.t.Fatalf("finding %d is %s, want %s", id, got, state)
	}
}

// policy removes a rule from the policies, or adds it again.
func (h *wireHistory) policy() {
	if h.removed {
		h.serve()
		h.removed = false
		return
	}
	h.removed = true
	h.change(func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		if err != nil {
			return err
		}
		return tx.RemoveRule(ctx, policies[0].ID, "r3")
	})
}

// deleteRef deletes a branch, unless it is the primary one or was never scanned.
func (h *wireHistory) deleteRef() {
	ref := model.FullRef(rapid.SampledFrom([]string{"dev", "refs/pull/7/merge"}).Draw(h.t, "deleted"))
	project, known := h.project()
	if !known || project.Primary() == ref || !h.refs[ref] {
		return
	}
	h.change(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRef(ctx, project.ID, ref) })
	for id, f := range h.stored() {
		if f.Ref == ref && f.State != model.StateRemoved || f.Ref != ref && f.State != h.rows[id].State {
			h.t.Fatalf("%s is deleted: %+v", ref, f)
		}
	}
}

func exitCode(u wireUpload) int {
	if u.Report.Failed {
		return 2
	}
	return 0
}

func some(t *rapid.T, all []string, label string) []string {
	out := []string{}
	for _, s := range all {
		if rapid.IntRange(0, 4).Draw(t, label) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
