package ingest

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/ingest/lifetest"
	"github.com/redoubt/redoubt/internal/storetest"
)

var (
	allPaths = []string{"a.py", "b.py", "c.py", "lib/d.py"}
	allRules = []string{"r1", "r2", "r3", "lib.r1"}
	rulesBy  = map[string]*redoubt.Rule{}
)

// A hundred histories would miss much: joined lineages need several steps.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "4000"); err != nil {
		panic(err)
	}
	flag.Parse()
	storetest.Main(m)
}

func init() {
	for _, name := range allRules {
		rulesBy[name] = &redoubt.Rule{Name: name, IssueType: redoubt.SAST, Severity: redoubt.SeverityHigh}
	}
}

// drawUpload scans a tree, in one of the many ways.
func drawUpload(t *rapid.T, tr *tree, now time.Time) Upload {
	r := &redoubt.Report{Tool: rapid.SampledFrom([]string{"semgrep", "Semgrep OSS", "opengrep oss", "bandit"}).Draw(t, "tool")}
	r.Results = tr.results(rapid.SampledFrom([]int{tellsAll, tellsAll, tellsNoPattern, tellsLittle}).Draw(t, "telling"))
	u := Upload{Project: redoubt.Project{Name: "acme/payments"}, Report: r}
	u.Category = rapid.SampledFrom([]string{"", "", "", "ios"}).Draw(t, "category")
	u.Commit = rapid.SampledFrom([]string{"", "", "c1", "c2", "c3"}).Draw(t, "commit")
	u.Full = rapid.IntRange(0, 3).Draw(t, "full") > 0
	u.DeclaredFull = u.Full && rapid.Bool().Draw(t, "declared")
	r.HidesMuted = rapid.IntRange(0, 3).Draw(t, "hides") == 0
	r.Failed = rapid.IntRange(0, 9).Draw(t, "failed") == 0
	if rapid.Bool().Draw(t, "tells rules") {
		r.RulesRun = some(t, allRules, "rules")
	}
	if rapid.Bool().Draw(t, "tells paths") {
		r.Searched = some(t, allPaths, "searched")
	}
	if rapid.IntRange(0, 3).Draw(t, "skips") == 0 {
		r.Skipped = some(t, allPaths, "skipped")
	}
	if rapid.IntRange(0, 3).Draw(t, "unresolved") == 0 {
		r.Unresolved = some(t, allPaths, "unresolved paths")
	}
	if rapid.IntRange(0, 3).Draw(t, "policy") == 0 {
		u.OutOfPolicy = func(rule, path string) bool { return rule == "r3" || path == "c.py" }
		if rapid.IntRange(0, 2).Draw(t, "served") > 0 { // the scanner does as the policy says
			r.Results = slices.DeleteFunc(r.Results, func(r redoubt.Result) bool { return u.OutOfPolicy(r.Rule.Name, r.Path) })
		}
	}
	if rapid.Bool().Draw(t, "tells start") {
		r.StartedAt = now.Add(-time.Duration(rapid.IntRange(0, 4).Draw(t, "ago")) * time.Minute)
	}
	return u
}

func some(t *rapid.T, all []string, label string) []string {
	out := []string{}
	for _, s := range all {
		if rapid.IntRange(0, 3).Draw(t, label) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// history is what people do to the branches of a project, and hand in.
type history struct {
	trees map[string]*tree
	sent  []Upload
}

func newHistory() *history {
	return &history{trees: map[string]*tree{"main": {pattern: "p"}, "dev": {pattern: "p"}}}
}

// step draws what happens next, and the upload that comes of it: an old one
// again, or a scan of a branch that was worked on; none when dev starts anew.
func (h *history) step(t *rapid.T, now time.Time) (Upload, bool) {
	ref := rapid.SampledFrom([]string{"main", "dev"}).Draw(t, "ref")
	switch step := rapid.IntRange(1, 9).Draw(t, "step"); {
	case step == 1 && len(h.sent) > 0:
		return h.sent[rapid.IntRange(0, len(h.sent)-1).Draw(t, "again")], true
	case step == 2:
		h.trees["dev"] = &tree{items: slices.Clone(h.trees["main"].items), pattern: h.trees["main"].pattern}
		return Upload{}, false
	}
	h.trees[ref].edit(t)
	u := drawUpload(t, h.trees[ref], now)
	u.Ref = ref
	h.sent = append(h.sent, u)
	return u, true
}

// Random histories of several refs, sources and people end as the model says,
// after every step.
func TestHistoriesFollowTheModel(t *testing.T) {
	table := readTable(t)
	defer func() {
		unmet := slices.DeleteFunc(table.Unmet(), func(row string) bool { return strings.HasSuffix(row, ", ref deleted") })
		if len(unmet) > 0 && !t.Failed() && !testing.Short() { // a fifth of the histories may miss a rare row
			t.Errorf("no history met the rows of the table: %v", unmet)
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		store := newMemory()
		c := comparison{t: t, model: lifetest.New(), store: store, ids: map[int]int64{}, table: table}
		c.send = func(u Upload) (Summary, error) { return Apply(t.Context(), store, store, u) }
		h := newHistory()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			now := c.store.tick(time.Minute)
			if rapid.IntRange(0, 9).Draw(t, "people") == 0 {
				c.triage()
			} else if u, sent := h.step(t, now); sent {
				c.upload(u)
			}
			c.check()
		}
	})
}

// comparison drives the model and the implementation side by side.
type comparison struct {
	t     *rapid.T
	model *lifetest.Model
	store *memory                       // what is stored
	send  func(Upload) (Summary, error) // applies an upload, so that store has it
	ids   map[int]int64                 // from the model's serials
	table *lifetest.Table               // of docs/life-of-a-finding.md
}

func (c *comparison) upload(u Upload) {
	rows, events := slices.Collect(maps.Keys(c.store.rows)), len(c.store.events)
	before := c.snapshot()
	got, err := c.send(u)
	if err != nil {
		c.t.Fatal(err)
	}
	want := c.model.Apply(modelUpload(u), c.store.clock)
	c.pairNew(rows)
	if want.Outcome == redoubt.ScanApplied {
		for serial, what := range want.Happened {
			c.transition(c.ids[serial], what, before, events)
		}
	}
	gotEvents := []string{}
	for _, e := range c.store.events[events:] {
		gotEvents = append(gotEvents, fmt.Sprint(e.FindingID, " ", e.Kind))
	}
	wantEvents := []string{}
	for _, e := range want.Events {
		var serial int
		var kind string
		fmt.Sscan(e, &serial, &kind)
		wantEvents = append(wantEvents, fmt.Sprint(c.ids[serial], " ", kind))
	}
	slices.Sort(gotEvents)
	slices.Sort(wantEvents)
	if diff := cmp.Diff(wantEvents, gotEvents); diff != "" {
		c.t.Fatalf("events (-model +got):\n%s", diff)
	}
	gotAnswer := []any{got.Outcome, got.New, got.Returned, got.Moved, got.Closed, got.Removed}
	wantAnswer := []any{want.Outcome, want.Fresh, want.Returned, want.Moved, want.Closed, want.Removed}
	if diff := cmp.Diff(wantAnswer, gotAnswer); diff != "" {
		c.t.Fatalf("outcome, new, returned, moved, closed, removed (-model +got):\n%s", diff)
	}
	if idle := got.Changed + got.Unchanged; want.Outcome == redoubt.ScanApplied && idle != want.Idle {
		c.t.Fatalf("%d findings changed in detail or not at all, want %d", idle, want.Idle)
	}
}

// readTable reads the table that people read.
func readTable(t testing.TB) *lifetest.Table {
	t.Helper()
	text, err := os.ReadFile("../../docs/life-of-a-finding.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := lifetest.ReadTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// snapshot is what stands of each finding.
func (c *comparison) snapshot() map[int64]redoubt.Finding {
	out := make(map[int64]redoubt.Finding, len(c.store.rows))
	for id, row := range c.store.rows {
		out[id] = row.Finding
	}
	return out
}

// transition holds what became of a finding to the table.
func (c *comparison) transition(id int64, what string, before map[int64]redoubt.Finding, events int) {
	was, there := before[id]
	from := "none"
	if there {
		from = was.State.String()
	}
	var kinds []string
	for _, e := range c.store.events[events:] {
		if e.FindingID == id {
			kinds = append(kinds, string(e.Kind))
		}
	}
	row := c.store.rows[id]
	if err := c.table.Check(from, what, row.State.String(), kinds, !row.RelevantSince.Equal(was.RelevantSince)); err != nil {
		c.t.Fatalf("finding %d: %v", id, err)
	}
}

// pairNew notes the ids of new findings: both sides count up by position.
func (c *comparison) pairNew(before []int64) {
	var serials []int
	for _, s := range c.model.Streams {
		for _, f := range s.Findings {
			if c.ids[f.Serial] == 0 {
				serials = append(serials, f.Serial)
			}
		}
	}
	var ids []int64
	for id := range c.store.rows {
		if !slices.Contains(before, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) != len(serials) {
		c.t.Fatalf("%d new findings, want %d", len(ids), len(serials))
	}
	slices.Sort(serials)
	slices.Sort(ids)
	for i := range ids {
		c.ids[serials[i]] = ids[i]
	}
}

// triage lets a person or a worker decide about a lineage, on both sides.
func (c *comparison) triage() {
	state := rapid.SampledFrom([]redoubt.TriageState{redoubt.TriageIgnored, redoubt.TriageReviewing, redoubt.TriageFixing}).Draw(c.t, "state")
	human := rapid.Bool().Draw(c.t, "human")
	var all []*lifetest.Finding
	for _, key := range slices.Sorted(maps.Keys(c.model.Streams)) {
		all = append(all, c.model.Streams[key].Findings...)
	}
	if len(all) == 0 {
		return
	}
	f := all[rapid.IntRange(0, len(all)-1).Draw(c.t, "finding")]
	f.Lineage.Triage, f.Lineage.Human = state, human
	c.store.lineages[c.store.rows[c.ids[f.Serial]].LineageID].Triage = redoubt.Triage{State: state, At: c.store.clock, Automatic: !human}
}

// view is a finding as both sides know it.
type view struct {
	Ref, Source, Rule, Path string
	Line                    int
	State                   redoubt.State
	Triage                  redoubt.TriageState
	Created, Since, Changed time.Time
	SeenByFull              bool
}

func (c *comparison) check() {
	want, got := map[int64]view{}, map[int64]view{}
	here, there := map[*lifetest.Lineage]int64{}, map[int64]*lifetest.Lineage{}
	for _, s := range c.model.Streams {
		for _, f := range s.Findings {
			id := c.ids[f.Serial]
			want[id] = view{s.Ref, s.Source, f.Rule, f.Path, f.Line, f.State, f.Lineage.Triage, f.Created, f.Since, f.Changed, f.SeenByFull}
			row := c.store.rows[id]
			if row == nil {
				continue
			}
			if here[f.Lineage] == 0 && there[row.LineageID] == nil {
				here[f.Lineage], there[row.LineageID] = row.LineageID, f.Lineage
			}
			if here[f.Lineage] != row.LineageID || there[row.LineageID] != f.Lineage {
				c.t.Fatalf("finding %d is of lineage %d, against the model", id, row.LineageID)
			}
		}
	}
	for id, f := range c.store.rows {
		got[id] = view{
			f.Ref, f.Source, f.RuleName, f.Path, f.Line, f.State, c.store.lineages[f.LineageID].Triage.State,
			f.CreatedAt, f.RelevantSince, f.StateUpdatedAt, f.SeenByFull,
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Fatalf("findings (-model +got):\n%s", diff)
	}
}

// Lines that come and go above a finding do not change who it is, whatever its
// scanner tells of it.
func TestIdentityIsStableUnderLineMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := tree{pattern: "p"}
		for range 4 {
			tr.edit(t)
		}
		results := tr.results(tellsAll)
		for i := range results { // else nothing tells which comes first
			at := &results[i].Location
			at.Column, at.EndColumn = i+1, max(0, at.EndColumn+i+1-at.Column)
		}
		shift := map[int]int{}
		for line, at := 1, 0; line < 40; line++ {
			at += rapid.IntRange(1, 9).Draw(t, "lines")
			shift[line] = at
		}
		moved := slices.Clone(results)
		for i := range moved {
			at := &moved[i].Location
			at.Line, at.EndLine = shift[at.Line], shift[at.EndLine]
			moved[i].Message += fmt.Sprintf(" (line %d)", moved[i].Location.Line)
		}
		for i := range results {
			results[i].Message += fmt.Sprintf(" (line %d)", results[i].Location.Line)
		}
		before, _ := Observe(&redoubt.Report{Tool: "bandit", Results: results})
		after, _ := Observe(&redoubt.Report{Tool: "bandit", Results: moved})
		if diff := cmp.Diff(identities(before), identities(after)); diff != "" {
			t.Fatalf("identities before and after (-before +after):\n%s", diff)
		}
	})
}

func identities(sightings []Sighting) (out []redoubt.Identity) {
	for i := range sightings {
		out = append(out, sightings[i].Finding.Identity)
	}
	return out
}

// The order in which a report lists its results means nothing.
func TestOrderOfResultsMeansNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := tree{pattern: "p"}
		for range 4 {
			tr.edit(t)
		}
		m := newMemory()
		u := drawUpload(t, &tr, m.clock)
		u.Ref = "main"
		if _, err := Apply(t.Context(), m, m, u); err != nil {
			t.Fatal(err)
		}
		shuffled := *u.Report
		shuffled.Results = slices.Clone(u.Report.Results)
		order := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		order.Shuffle(len(shuffled.Results), func(i, j int) {
			shuffled.Results[i], shuffled.Results[j] = shuffled.Results[j], shuffled.Results[i]
		})
		u.Report = &shuffled
		before, events := maps.Clone(m.rows), len(m.events)
		m.tick(time.Minute)
		if sum, err := Apply(t.Context(), m, m, u); err != nil || len(sum.Items) > 0 || len(m.events) != events {
			t.Fatalf("shuffled: %+v, %v", sum, err)
		}
		if diff := cmp.Diff(before, m.rows); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A scan of another commit that sees the same writes its row and no other.
func TestSameFindingsWriteNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := tree{pattern: "p"}
		for range 4 {
			tr.edit(t)
		}
		m := newMemory()
		u := drawUpload(t, &tr, m.clock)
		u.Ref, u.Commit, u.OutOfPolicy = "main", "c1", nil
		u.Report.StartedAt = time.Time{}
		if _, err := Apply(t.Context(), m, m, u); err != nil {
			t.Fatal(err)
		}
		before, writes, events := maps.Clone(m.rows), m.writes, len(m.events)
		m.tick(time.Minute)
		u.Commit = "c2"
		sum, err := Apply(t.Context(), m, m, u)
		if err != nil || len(sum.Items) > 0 || len(m.events) != events {
			t.Fatalf("again at another commit: %+v, %v", sum, err)
		}
		if got := m.writes - writes; got != 2 { // the scan, and on the project when it was
			t.Fatalf("%d writes, want 2", got)
		}
		if diff := cmp.Diff(before, m.rows); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What a full scan that asserts everything leaves open does not depend on the
// order in which earlier scans came.
func TestLastFullScanDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := &tree{pattern: "p"}
		var uploads []Upload
		draw := func() Upload {
			tr.edit(t)
			u := drawUpload(t, tr, time.Time{})
			u.Ref, u.Category, u.Commit, u.OutOfPolicy = "main", "", "", nil
			u.Report.Tool, u.Report.StartedAt = "semgrep", time.Time{}
			return u
		}
		for range rapid.IntRange(1, 6).Draw(t, "scans") {
			uploads = append(uploads, draw())
		}
		last := draw()
		last.Full, last.DeclaredFull, last.Report.Failed, last.Report.HidesMuted = true, true, false, false
		last.Report.RulesRun, last.Report.Searched, last.Report.Skipped, last.Report.Unresolved = nil, nil, nil, nil
		one := statuses(t, append(slices.Clone(uploads), last))
		other := statuses(t, append(rapid.Permutation(uploads).Draw(t, "order"), last))
		if diff := cmp.Diff(one, other); diff != "" {
			t.Fatalf("statuses (-in one order +in another):\n%s", diff)
		}
		sightings, _ := Observe(last.Report)
		if len(one) != len(sightings) {
			t.Fatalf("%d findings are live, the last scan saw %d", len(one), len(sightings))
		}
	})
}

// statuses applies uploads, a minute apart, and returns the status of what is
// live then.
func statuses(t *rapid.T, uploads []Upload) (out []string) {
	m := newMemory()
	for _, u := range uploads {
		m.tick(time.Minute)
		if _, err := Apply(t.Context(), m, m, u); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range m.rows {
		if live(f.State) {
			out = append(out, fmt.Sprint(f.RuleName, " ", f.Path, ":", f.Line, " ", redoubt.StatusOf(f.State, m.lineages[f.LineageID].Triage.State)))
		}
	}
	slices.Sort(out)
	return out
}
