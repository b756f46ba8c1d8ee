package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// scaleSizes is the environment variable that overrides -findings, as "10000,100000,1000000".
const scaleSizes = "REDOUBT_TEST_SCALE"

// BenchmarkScale measures a deployment by its size and prints one table. It measures the time from
// the start of a server's process to its first response, and memory. It also measures pages,
// facets, searches, an import and a triage.
func BenchmarkScale(b *testing.B) {
	useScale(b)
	all := newSheet("findings")
	for i, n := range requestedSizes(b) {
		if i > 0 && testing.Short() {
			break
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			w.fill(n)
			all.column(fmt.Sprint(w.findings))
			benchScale(b, w, all)
		})
	}
	fmt.Print(all)
}

// useScale replaces the sizes of a benchmark by those in REDOUBT_TEST_SCALE, if set.
func useScale(b *testing.B) {
	b.Helper()
	if text := os.Getenv(scaleSizes); text != "" {
		was := *scales
		b.Cleanup(func() { *scales = was })
		*scales = text
	}
}

func benchScale(b *testing.B, w *world, to *sheet) {
	run := func(name string, subject func() time.Duration) {
		b.Run(name, func(b *testing.B) { to.put(name, compare(b, subject).Round(10*time.Microsecond)) })
	}
	started := newStarted(b, w)
	run("start from a checkpoint, to the first page", started.first)
	run("start without one", started.rebuilt)
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			perFound := w.memory()
			b.ReportMetric(perFound, perFinding)
			to.put("memory of a finding without its body", fmt.Sprintf("%.0f B", perFound))
		}
	})
	for _, size := range sizes {
		run(fmt.Sprintf("page of %d", size), w.client.took(w.request("GET", w.target(nil, false, size), nil)))
		run(fmt.Sprintf("page of %d, deep", size), w.client.took(w.request("GET", w.target(nil, true, size), nil)))
	}
	view := func() *index.View {
		v, err := w.index.Deployment(b.Context(), w.deployment.ID)
		w.check(err)
		return v
	}
	run("findings and 15 facets", timed(func() {
		_, err := view().List(b.Context(), withFacets())
		w.check(err)
	}))
	for _, s := range searches {
		turn := 0
		run("search: "+s.name, timed(func() {
			turn++ // a different text each time, because results are cached
			n := view().Count(model.FindingFilter{IssueType: model.SAST, Search: s.text(turn)})
			if (n > 0) != s.found {
				b.Fatalf("%q finds %d", s.text(turn), n)
			}
		}))
	}
	pages, largest := newPages(w), w.projectPage("acme/service-0")
	run("page: overview", timed(func() { pages.open("/overview") }))
	run("page: the largest project", timed(func() { pages.open(largest) }))
	in := newIntake(w)
	fresh := func() string { return "scale/" + in.commit() }
	run("import of 10,000", func() time.Duration { return in.send(fresh(), "1") })
	known := fresh()
	in.send(known, "1")
	run("import of 10,000, unchanged", func() time.Duration { return in.send(known, in.commit()) })
	run("triage of 3,000", w.someTriage())
}

// searches contains texts that depend on the turn, and whether they occur.
var searches = []struct {
	name  string
	text  func(turn int) string
	found bool
}{
	{"what most findings say", func(turn int) string {
		const description = "An attacker who controls it can run any command with the rights of this service."
		return description[turn%40 : turn%40+16]
	}, true},
	{"what one finding says", func(turn int) string { return fmt.Sprintf("'command_%d'", 1+10*(turn%500)) }, true},
	{"what none has", func(turn int) string { return fmt.Sprintf("no such words %d", turn) }, false},
	{"one letter", func(turn int) string { return "abcdefghiklmnoprstu"[turn%19:][:1] }, true},
	{"a part of a path", func(turn int) string { return fmt.Sprintf("module_%d/handlers", turn%40) }, true},
}

// withFacets returns the query of a page of findings with all facets.
func withFacets() index.ListQuery {
	q := index.ListQuery{
		Filter: model.FindingFilter{IssueType: model.SAST, Dedup: true, Primary: true, Statuses: []model.Status{model.StatusOpen}},
		Order:  index.MostSevere, Size: 50, Values: 8,
	}
	for _, facet := range []index.Facet{
		index.FacetStatus, index.FacetSeverity, index.FacetConfidence, index.FacetProject, index.FacetProjectTag, index.FacetRef, index.FacetRule, index.FacetCategory,
		index.FacetRuleset, index.FacetMode, index.FacetReason, index.FacetVerdict, index.FacetComponent, index.FacetPR, index.FacetProOnly,
	} {
		q.Facets = append(q.Facets, index.FacetRequest{Facet: facet})
	}
	return q
}

// memory returns the heap size of an index without bodies, in bytes per finding.
func (w *world) memory() float64 {
	before := live()
	x := index.New(w.store, index.Options{})
	_, err := x.Deployment(w.tb.Context(), w.deployment.ID)
	w.check(err)
	took := live() - before
	findings := x.Stats().Findings
	runtime.KeepAlive(x)
	return float64(took) / float64(findings)
}

// someTriage triages the same 3,000 findings alternately to two states.
func (w *world) someTriage() func() time.Duration {
	w.client.discard(w.triageRequest(`{"issue_type":"sast","status":["open"],"new_triage_state":"reviewing"}`))
	turn := 0
	return timed(func() {
		turn++
		state := []string{"fixing", "reviewing"}[turn%2]
		var answer api.TriageResponse
		w.check(json.Unmarshal(w.client.body(w.triageRequest(fmt.Sprintf(`{"issue_type":"sast","status":["reviewing","fixing"],"new_triage_state":%q}`, state))), &answer))
		if answer.NumTriaged == 0 {
			w.tb.Fatal("nothing was decided on")
		}
	})
}

// started is the built program with the data of a world.
type started struct {
	w       *world
	program string
	data    string
	more    []string // arguments of serve
	address string   // of the running server
	pid     int      // of its process
}

func newStarted(b *testing.B, w *world) *started {
	b.Helper()
	s := &started{w: w, program: filepath.Join(b.TempDir(), "redoubt"), data: w.config.Dir}
	s.build()
	s.first() // writes a checkpoint
	return s
}

// first measures the time from the start of the process to its first page.
func (s *started) first() time.Duration {
	return s.serve(s.requestPage)
}

// rebuilt is first without a checkpoint.
func (s *started) rebuilt() time.Duration {
	s.w.check(os.RemoveAll(filepath.Join(s.data, "index")))
	return s.first()
}

// sheet is a table with a column for each size.
type sheet struct {
	of            string // unit of the column headings
	columns, rows []string
	cells         map[[2]string]string
}

func newSheet(of string) *sheet { return &sheet{of: of, cells: map[[2]string]string{}} }

// column adds a column, which put fills.
func (s *sheet) column(name string) { s.columns = append(s.columns, name) }

func (s *sheet) put(row string, value any) {
	at := [2]string{row, s.columns[len(s.columns)-1]}
	if _, known := s.cells[[2]string{row, s.columns[0]}]; !known {
		s.rows = append(s.rows, row)
	}
	s.cells[at] = fmt.Sprint(value)
}

// String returns the table in Markdown.
func (s *sheet) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n| %s | %s |\n|---|%s\n", s.of, strings.Join(s.columns, " | "), strings.Repeat("---|", len(s.columns)))
	for _, row := range s.rows {
		fmt.Fprintf(&out, "| %s |", row)
		for _, column := range s.columns {
			fmt.Fprintf(&out, " %s |", s.cells[[2]string{row, column}])
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}
