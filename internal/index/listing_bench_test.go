package index

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
)

// BenchmarkAsk answers a findings page with all facets of code, and an
// overview, beside the limit: the largest page of the Web API, on the same data.
func BenchmarkAsk(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		v := bulkView(b, n)
		f := redoubt.FindingFilter{IssueType: redoubt.SAST, Dedup: true, Statuses: []redoubt.Status{redoubt.StatusOpen}}
		q := Question{Filter: f, Order: Riskiest, Size: 50, Values: 8}
		for _, facet := range []Facet{
			FacetStatus, FacetSeverity, FacetConfidence, FacetProject, FacetProjectTag, FacetRef, FacetRule, FacetCategory,
			FacetRuleset, FacetMode, FacetReason, FacetVerdict, FacetComponent, FacetPR, FacetProOnly,
		} {
			q.Facets = append(q.Facets, FacetAsked{Facet: facet})
		}
		b.Run(fmt.Sprintf("n=%d/facets/index", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := v.Ask(context.Background(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
		narrow := q
		narrow.Filter.Severities, narrow.Filter.Projects = []redoubt.Severity{redoubt.SeverityHigh}, []string{"acme/service-3"}
		b.Run(fmt.Sprintf("n=%d/narrowed/index", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := v.Ask(context.Background(), narrow); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("n=%d/overview/index", n), func(b *testing.B) {
			ends := []time.Time{time.Unix(1_600_000_000, 0)}
			for len(ends) < 14 {
				ends = append(ends, ends[len(ends)-1].AddDate(0, 3, 0))
			}
			every := redoubt.FindingFilter{IssueType: redoubt.SAST, Dedup: true}
			for b.Loop() {
				v.Trend(every, ends)
				v.FixTimes(every, ends[0])
				for _, by := range []Grouping{ByRule, ByProject} {
					if _, err := v.Ask(context.Background(), Question{Filter: f, Groups: by, Values: 5, Facets: []FacetAsked{{Facet: FacetSeverity}}}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(fmt.Sprintf("n=%d/page/limit", n), func(b *testing.B) { benchPage(b, v, f, 0, 3000) })
	}
}
