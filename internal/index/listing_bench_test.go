package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// BenchmarkList measures the queries of pages: the findings page with all facets, initially and
// narrowed, and the overview. The reference is the largest page of the web API with the same filter
// and data. Each query also runs after a commit that changed 100 findings, including the refresh.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("%d findings", n), func(b *testing.B) {
			src := &bulk{n: n, version: 1}
			x := New(src, Options{BodyCache: 4 << 30})
			for _, c := range pageQueries {
				view := func() *View {
					v, err := x.Deployment(b.Context(), tenant)
					if err != nil {
						b.Fatal(err)
					}
					return v
				}
				b.Run(c.name, func(b *testing.B) { benchmarkAgainst(b, func() {}, func() { c.run(b, view()) }, limitPage(b, view())) })
				b.Run(c.name+", after a change", func(b *testing.B) {
					benchmarkAgainst(b, src.change, func() { c.run(b, view()) }, limitPage(b, view()))
				})
			}
		})
	}
}

// pageQueries contains the queries of pages.
var pageQueries = []struct {
	name string
	run  func(b *testing.B, v *View)
}{
	{"findings", func(b *testing.B, v *View) { runQuery(b, v, opened(openOnPrimary)) }},
	{"narrowed", func(b *testing.B, v *View) {
		q := opened(openOnPrimary)
		q.Filter.Severities, q.Filter.Projects = []model.Severity{model.SeverityHigh}, []string{"acme/service-3", "acme/service-8"}
		q.Filter.Except = &model.FindingFilter{Rules: []string{"python.flask.security.rule-1"}}
		runQuery(b, v, q)
	}},
	{"visible part", func(b *testing.B, v *View) {
		q := opened(openOnPrimary)
		q.Filter.Visible = []string{"acme/service-1*"}
		runQuery(b, v, q)
	}},
	{"overview", overview},
}

// openOnPrimary is the initial filter of the findings page.
var openOnPrimary = model.FindingFilter{IssueType: model.SAST, Dedup: true, Primary: true, Statuses: []model.Status{model.StatusOpen}}

// opened returns a query with all facets of SAST.
func opened(f model.FindingFilter) ListQuery {
	q := ListQuery{Filter: f, Order: MostSevere, Size: 50, Values: 8}
	for _, facet := range []Facet{
		FacetStatus, FacetSeverity, FacetConfidence, FacetProject, FacetProjectTag, FacetRef, FacetRule, FacetCategory,
		FacetRuleset, FacetMode, FacetReason, FacetVerdict, FacetComponent, FacetPR, FacetProOnly,
	} {
		q.Facets = append(q.Facets, FacetRequest{Facet: facet})
	}
	return q
}

func runQuery(b *testing.B, v *View, q ListQuery) {
	b.Helper()
	if _, err := v.List(context.Background(), q); err != nil {
		b.Fatal(err)
	}
}

// overview queries 13 weeks, and one day since the last visit, of one product.
func overview(b *testing.B, v *View) {
	b.Helper()
	now := bulkBegin.AddDate(2, 0, 0)
	ends := []time.Time{now.AddDate(0, 0, -13*7)}
	for len(ends) <= 13 {
		ends = append(ends, ends[len(ends)-1].AddDate(0, 0, 7))
	}
	every := model.FindingFilter{IssueType: model.SAST, Dedup: true}
	v.Trend(every, ends)
	v.Trend(every, []time.Time{now.AddDate(0, 0, -1), now})
	v.FixTimes(ends[0], every)
	every.Statuses = []model.Status{model.StatusOpen}
	runQuery(b, v, ListQuery{Filter: every, Groups: []Grouping{ByRule, ByProject}, Values: 5, Facets: []FacetRequest{{Facet: FacetSeverity}}})
}

func limitPage(b *testing.B, v *View) func() {
	b.Helper()
	return func() {
		p, err := v.Page(context.Background(), model.FindingFilter{IssueType: model.SAST, Dedup: true, Statuses: openOnPrimary.Statuses}, 0, 3000)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.WriteTo(&sink{buf: make([]byte, 2*bufferSize)}); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkAgainst runs a subject and its reference alternately, so that other load affects both. It reports
// the median time of the subject and its ratio to that of the reference.
func benchmarkAgainst(b *testing.B, prepare, subject, limit func()) {
	b.Helper()
	timed := func(do func()) float64 {
		began := time.Now()
		do()
		return float64(time.Since(began))
	}
	median := func(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }
	limit()
	var times, ratios []float64
	for b.Loop() {
		prepare()
		took := timed(subject)
		times, ratios = append(times, took), append(ratios, took/timed(limit))
	}
	b.ReportMetric(median(times), "ns/op")
	b.ReportMetric(median(ratios), "x-limit")
}

// change simulates the commit of a scan with 50 fixed and 50 new findings.
func (s *bulk) change() {
	s.version++
	rnd := rand.New(rand.NewPCG(uint64(s.version), 5))
	now := bulkBegin.AddDate(2, 0, int(s.version))
	batch := bulkFindings(rnd, s.n, s.n+50)
	for i := range 50 {
		f := &batch.Findings[i]
		f.ID, f.LineageID, f.CreatedAt, f.RelevantSince = int64(s.n)+50*s.version+int64(i), int64(i)+1, now, now
	}
	from := rnd.IntN(s.n - 50)
	fixed := bulkFindings(rnd, from, from+50)
	for i := range fixed.Findings {
		fixed.Findings[i].State, fixed.Findings[i].StateUpdatedAt = model.Fixed, now
	}
	batch.Findings = append(batch.Findings, fixed.Findings...)
	s.extra = []*model.Batch{batch}
}
