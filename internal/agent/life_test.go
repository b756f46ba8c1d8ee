package agent_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/ingest/lifetest"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

var wireHistories = flag.Int("wire.histories", 0, "random histories over the wire for each engine; 150 on SQLite and 30 on PostgreSQL by default")

// TestHistoriesOverTheWire lets scanners report random histories of projects:
// full and diff scans of branches and change requests, several of one ref at
// once, late and again, ones that fail and ones that never end, imports of
// plain JSON and of another tool, while people triage, change policies, rename
// repositories and delete branches. After every step the store holds what the
// model says.
func TestHistoriesOverTheWire(t *testing.T) {
	text, err := os.ReadFile("../../docs/life-of-a-finding.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := lifetest.ReadTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for engine, count := range map[string]int{storetest.Engines[0]: 150, storetest.Engines[1]: 30} {
		t.Run(engine, func(t *testing.T) {
			if *wireHistories > 0 {
				count = *wireHistories
			}
			before := flag.Lookup("rapid.checks").Value.String()
			defer func() { _ = flag.Set("rapid.checks", before) }()
			if err := flag.Set("rapid.checks", fmt.Sprint(count)); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, engine)
			projects := 0
			rapid.Check(t, func(t *rapid.T) {
				projects++
				h := newWireHistory(t, w, projects, table)
				for range rapid.IntRange(3, 12).Draw(t, "steps") {
					w.clock.Advance(time.Second)
					h.step()
				}
			})
		})
	}
}

// wireHistory is one project, on the wire and by the model.
type wireHistory struct {
	*wire
	t       *rapid.T
	model   *lifetest.Model
	table   *lifetest.Table
	trees   map[string]*wireTree // by ref
	pending []*wireScan
	scans   int
	ids     map[int]int64 // of findings, from the model's serials
	rows    map[int64]redoubt.Finding
	removed bool  // r3 is in no policy
	told    int64 // the newest line of a history that was looked at
}

// wireScan is a scan that has begun.
type wireScan struct {
	path   string
	upload lifetest.Upload
	scan   int64
}

var wireRules = []string{"r1", "r2", "r3"}

func newWireHistory(t *rapid.T, w *world, number int, table *lifetest.Table) *wireHistory {
	h := &wireHistory{
		wire: &wire{world: w, t: t, name: fmt.Sprintf("acme/p%d", number), number: number}, t: t, model: lifetest.New(), table: table,
		ids: map[int]int64{}, rows: map[int64]redoubt.Finding{}, trees: map[string]*wireTree{},
	}
	h.first = h.name
	for _, ref := range []string{"main", "dev", "refs/pull/7/merge"} {
		h.trees[ref] = &wireTree{pattern: "p"}
	}
	h.serve()
	h.begin() // else an import may make a project that the scanner's repository is not
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
		h.name = fmt.Sprintf("acme/p%d-%d", h.number, h.scans) // its next scan that counts renames the project
	}
	h.check()
}

// tree is what somebody works on, after some work.
func (h *wireHistory) tree() (string, *wireTree) {
	ref := rapid.SampledFrom([]string{"main", "main", "dev", "refs/pull/7/merge"}).Draw(h.t, "ref")
	if ref != "main" && rapid.IntRange(0, 5).Draw(h.t, "anew") == 0 {
		h.trees[ref] = &wireTree{items: slices.Clone(h.trees["main"].items), pattern: h.trees["main"].pattern}
	}
	h.trees[ref].edit(h.t)
	return ref, h.trees[ref]
}

// begin starts a scan of what is in the tree now; it may end much later.
func (h *wireHistory) begin() {
	ref, tree := h.tree()
	h.scans++
	u := lifetest.Upload{Ref: ref, Full: rapid.IntRange(0, 2).Draw(h.t, "full") > 0 && ref != "refs/pull/7/merge", Report: &redoubt.Report{Tool: "semgrep"}}
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
	u.Begun = h.clock.Now()
	path, id := h.start(u, fmt.Sprintf("u%d-%d", h.number, h.scans))
	h.pending = append(h.pending, &wireScan{path, u, id})
}

// finish ends a scan: with what it found, or with an error.
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
	if rapid.Bool().Draw(h.t, "completed twice") && h.post(s.path+"complete", done) != first {
		h.t.Fatal("the completion was answered otherwise the second time")
	}
	s.upload.OutOfPolicy = func(rule, _ string) bool { return h.removed && rule == "r3" }
	h.applied(s.upload, s.scan)
}

// imports hands in plain JSON of the tree, or what another tool says.
func (h *wireHistory) imports() {
	ref, tree := h.tree()
	u := lifetest.Upload{Ref: ref, Full: rapid.IntRange(0, 3).Draw(h.t, "full") > 0, Report: &redoubt.Report{Tool: "semgrep"}}
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
}

// applied lets the model take an upload, and holds every transition to the
// table.
func (h *wireHistory) applied(u lifetest.Upload, scan int64) {
	want := h.model.Apply(u, h.clock.Now())
	before := h.rows
	h.load()
	events := h.events()
	if got := h.outcome(scan); got != want.Outcome {
		h.t.Fatalf("the scan counts as %v, want %v", got, want.Outcome)
	}
	if want.Outcome != redoubt.ScanApplied {
		return
	}
	for serial, what := range want.Happened {
		id := h.ids[serial]
		was, from := before[id], "none"
		if was.ID != 0 {
			from = was.State.String()
		}
		row := h.rows[id]
		if err := h.table.Check(from, what, row.State.String(), events[id], !row.RelevantSince.Equal(was.RelevantSince)); err != nil {
			h.t.Fatalf("finding %d: %v", id, err)
		}
	}
}

// triage decides on a finding that is listed.
func (h *wireHistory) triage() {
	var listed []*lifetest.Finding
	for _, f := range h.findings() {
		if f.State != redoubt.StateRemoved {
			listed = append(listed, f)
		}
	}
	if len(listed) == 0 {
		return
	}
	f := rapid.SampledFrom(listed).Draw(h.t, "finding")
	state := rapid.SampledFrom([]redoubt.TriageState{redoubt.TriageIgnored, redoubt.TriageReviewing, redoubt.TriageFixing, redoubt.TriageReopened}).Draw(h.t, "state")
	r := api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(h.ids[f.Serial])}, NewTriageState: state.String()}
	if _, err := h.client().TriageFindings(h.t.Context(), "acme", r); err != nil {
		h.t.Fatal(err)
	}
	f.Lineage.Triage, f.Lineage.Human = state, true
}

// policy takes a rule out of the policies, or puts it back.
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

// deleteRef deletes a branch, unless it is the primary one or nobody scanned it.
func (h *wireHistory) deleteRef() {
	ref := redoubt.FullRef(rapid.SampledFrom([]string{"dev", "refs/pull/7/merge"}).Draw(h.t, "deleted"))
	project, known := h.project()
	if !known || project.Primary() == ref || !slices.ContainsFunc(slices.Collect(maps.Values(h.model.Streams)), func(s *lifetest.Stream) bool { return s.Ref == ref }) {
		return
	}
	h.change(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRef(ctx, project.ID, ref) })
	h.model.DeleteRef(ref, h.clock.Now())
}

func (h *wireHistory) findings() (out []*lifetest.Finding) {
	for _, key := range slices.Sorted(maps.Keys(h.model.Streams)) {
		out = append(out, h.model.Streams[key].Findings...)
	}
	return out
}

// wireView is a finding as both sides know it; times to the second, which is
// how far the clock moves on between steps.
type wireView struct {
	Ref, Source, Rule, Path string
	Line                    int
	State                   redoubt.State
	Triage                  redoubt.TriageState
	Created, Since          time.Time
	SeenByFull              bool
}

// check compares what is stored with the model.
func (h *wireHistory) check() {
	h.load()
	want, got, lineages := map[int64]wireView{}, map[int64]wireView{}, h.lineages()
	for _, s := range h.model.Streams {
		for _, f := range s.Findings {
			want[h.ids[f.Serial]] = wireView{s.Ref, s.Source, f.Rule, f.Path, f.Line, f.State, f.Lineage.Triage, second(f.Created), second(f.Since), f.SeenByFull}
		}
	}
	for id, f := range h.rows {
		got[id] = wireView{f.Ref, f.Source, f.RuleName, f.Path, f.Line, f.State, lineages[f.LineageID].Triage.State, second(f.CreatedAt), second(f.RelevantSince), f.SeenByFull}
	}
	h.events()
	if diff := cmp.Diff(want, got); diff != "" {
		h.t.Fatalf("findings (-model +stored):\n%s", diff)
	}
}

func second(t time.Time) time.Time { return t.Truncate(time.Second) }

// load reads what is stored, and notes the ids of new findings: both sides
// count up by position.
func (h *wireHistory) load() {
	h.rows = h.stored(h.model)
	known := slices.Collect(maps.Values(h.ids))
	var serials []int
	for _, f := range h.findings() {
		if h.ids[f.Serial] == 0 {
			serials = append(serials, f.Serial)
		}
	}
	var ids []int64
	for id := range h.rows {
		if !slices.Contains(known, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) != len(serials) {
		h.t.Fatalf("%d findings are new, want %d", len(ids), len(serials))
	}
	slices.Sort(serials)
	slices.Sort(ids)
	for i := range ids {
		h.ids[serials[i]] = ids[i]
	}
}

func exitCode(u lifetest.Upload) int {
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
