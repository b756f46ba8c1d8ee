package ingest

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

var (
	allPaths = []string{"a.py", "lib/a.py", "src/lib/a.py", "b.py", "c.py"}
	allRules = []string{"r1", "r2", "r3", "lib.r1"}
	rulesBy  = map[string]*model.Rule{}
)

// TestMain runs enough histories for joined lineages, which need several steps. The seed is fixed,
// so that failures depend on changes only. Use -rapid.seed=0 for other histories and
// -rapid.checks=4000 for more.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "1200", "rapid.seed": "20261128"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	storetest.Main(m)
}

func init() {
	for _, name := range allRules {
		rulesBy[name] = &model.Rule{Name: name, IssueType: model.SAST, Severity: model.SeverityHigh}
	}
}

// drawUpload draws a scan of a tree with random options.
func drawUpload(t *rapid.T, tr *tree, now time.Time) Upload {
	r := &model.Report{Tool: rapid.SampledFrom([]string{"semgrep", "Semgrep OSS", "opengrep oss", "bandit"}).Draw(t, "tool")}
	telling := []int{detailFull, detailFull, detailNoPattern, detailMinimal}
	if tr.coded {
		telling = telling[:3]
	}
	r.Results = tr.results(rapid.SampledFrom(telling).Draw(t, "telling"))
	u := Upload{Project: model.Project{Name: "acme/payments"}, Report: r}
	u.Category = rapid.SampledFrom([]string{"", "", "", "ios"}).Draw(t, "category")
	u.Commit = rapid.SampledFrom([]string{"", "", "c1", "c2", "c3"}).Draw(t, "commit")
	u.Full = rapid.IntRange(0, 3).Draw(t, "full") > 0
	u.DeclaredFull = u.Full && rapid.Bool().Draw(t, "declared")
	if r.HidesMuted = rapid.IntRange(0, 3).Draw(t, "hides") == 0; r.HidesMuted {
		r.Results = slices.DeleteFunc(r.Results, func(r model.Result) bool { return r.Muted })
	}
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
		if rapid.IntRange(0, 2).Draw(t, "served") > 0 { // the scanner applies the policy
			r.Results = slices.DeleteFunc(r.Results, func(r model.Result) bool { return u.OutOfPolicy(r.Rule.Name, r.Path) })
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

// history contains the branches of a project and the uploads so far.
type history struct {
	trees map[string]*tree
	sent  []Upload
}

func newHistory(coded bool) *history {
	main := newTree()
	main.coded = coded
	return &history{trees: map[string]*tree{"main": main, "dev": main.clone()}}
}

// step draws the next upload: a repeated one, or a scan of an edited branch. It returns false if
// dev was reset instead.
func (h *history) step(t *rapid.T, now time.Time) (Upload, bool) {
	ref := rapid.SampledFrom([]string{"main", "dev"}).Draw(t, "ref")
	switch step := rapid.IntRange(1, 9).Draw(t, "step"); {
	case step == 1 && len(h.sent) > 0:
		return h.sent[rapid.IntRange(0, len(h.sent)-1).Draw(t, "again")], true
	case step == 2:
		h.trees["dev"] = h.trees["main"].clone()
		return Upload{}, false
	}
	h.trees[ref].edit(t)
	u := drawUpload(t, h.trees[ref], now)
	u.Ref = ref
	h.sent = append(h.sent, u)
	return u, true
}

// TestRandomHistoriesPreserveInvariants checks the properties of [truth] after every step of random histories
// with several refs, sources and decisions.
func TestRandomHistoriesPreserveInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(rapid.Bool().Draw(t, "coded"))
		c := newTruth(t, h.trees["main"].coded)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			now := c.store.tick(time.Minute)
			if rapid.IntRange(0, 9).Draw(t, "people") == 0 {
				c.triage()
			} else if u, sent := h.step(t, now); sent {
				c.upload(u)
			}
		}
	})
}

// TestFindingsFollowMovedFiles checks that findings follow a file that only moved between two full
// scans, as [told.followsFiles] defines. Edits in other files must have no effect.
func TestFindingsFollowMovedFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := newTree()
		tr.coded = true
		c := newTruth(t, true)
		scan := func() {
			c.tick()
			report := &model.Report{Tool: "semgrep", Results: tr.results(detailFull)}
			c.upload(Upload{Project: model.Project{Name: "acme/payments"}, Ref: "main", Full: true, DeclaredFull: true, Report: report})
		}
		for range 4 {
			tr.edit(t)
		}
		from, to := rapid.SampledFrom(allPaths[:3]).Draw(t, "from"), rapid.SampledFrom(allPaths[:3]).Draw(t, "to")
		delete(tr.files, to)
		for range rapid.IntRange(1, 3).Draw(t, "more") {
			tr.files[from] = append(tr.files[from], tr.draw(t))
		}
		scan()
		items := tr.files[from]
		delete(tr.files, from)
		tr.edit(t)
		if delete(tr.files, from); len(tr.files[to]) == 0 {
			tr.files[to] = items
		}
		scan()
	})
}

// TestSourcesAreIndependent checks that uploads of one source are independent of other sources.
func TestSourcesAreIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(rapid.Bool().Draw(t, "coded"))
		all, one := newMemory(), newMemory()
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			now := all.tick(time.Minute)
			one.clock = now
			u, sent := h.step(t, now)
			if !sent {
				continue
			}
			if u.Report.Tool == "bandit" { // rules and ids are separate
				u.Report.Results = slices.Clone(u.Report.Results)
				for i := range u.Report.Results {
					r := &u.Report.Results[i]
					r.Rule, r.MatchBasedID = &model.Rule{Name: "bandit." + r.Rule.Name, IssueType: model.SAST}, ""
				}
			}
			for _, m := range []*memory{all, one} {
				if m == one && u.Report.Tool == "bandit" {
					continue
				}
				if _, err := Apply(t.Context(), m, m, u); err != nil {
					t.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff(shown(one), shown(all)); diff != "" {
			t.Fatalf("findings of one source (-alone +beside another):\n%s", diff)
		}
	})
}

// shown returns the findings of all tools except bandit.
func shown(m *memory) (out []string) {
	for _, f := range m.rows {
		if toolOf(f.Source) != "bandit" {
			out = append(out, fmt.Sprint(f.Ref, " ", f.Source, " ", f.RuleName, " ", f.Path, ":", f.Line, " ", f.State, " since ", f.RelevantSince))
		}
	}
	slices.Sort(out)
	return out
}

// TestIdentityIsStableUnderLineMoves checks that added and removed lines above a finding do not
// change its identity.
func TestIdentityIsStableUnderLineMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := newTree()
		for range 4 {
			tr.edit(t)
		}
		results := tr.results(detailFull)
		for i := range results { // to make the order unambiguous
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
		before, _ := Observe(&model.Report{Tool: "bandit", Results: results})
		after, _ := Observe(&model.Report{Tool: "bandit", Results: moved})
		if diff := cmp.Diff(identities(before), identities(after)); diff != "" {
			t.Fatalf("identities before and after (-before +after):\n%s", diff)
		}
	})
}

func identities(sightings []Sighting) (out []model.Identity) {
	for i := range sightings {
		out = append(out, sightings[i].Finding.Identity)
	}
	return out
}

// TestResultOrderDoesNotMatter checks that the order of results in a report has no effect.
func TestResultOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := newTree()
		for range 4 {
			tr.edit(t)
		}
		m := newMemory()
		u := drawUpload(t, tr, m.clock)
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

// TestUnchangedScanWritesNoFindings checks that a scan with equal findings writes only its own row and
// the project's scan time.
func TestUnchangedScanWritesNoFindings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := newTree()
		for range 4 {
			tr.edit(t)
		}
		m := newMemory()
		u := drawUpload(t, tr, m.clock)
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
		if got := m.writes - writes; got != 2 { // the scan and the project's scan time
			t.Fatalf("%d writes, want 2", got)
		}
		if diff := cmp.Diff(before, m.rows); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestLastFullScanDeterminesOpenFindings checks that the open findings after a declared full scan do not depend on
// the order of earlier scans.
func TestLastFullScanDeterminesOpenFindings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := newTree()
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

// statuses applies uploads, a minute apart, and returns the statuses of live findings.
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
			out = append(out, fmt.Sprint(f.RuleName, " ", f.Path, ":", f.Line, " ", model.StatusOf(f.State, m.lineages[f.LineageID].Triage.State)))
		}
	}
	slices.Sort(out)
	return out
}
