package index

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// dueBulk is a bulk whose policy sets days for each severity. If plain, all clocks started at
// relevant_since. Otherwise those of all open findings started later, which is the worst case for
// sorting.
type dueBulk struct {
	*bulk
	plain bool
}

func (s dueBulk) Feed(ctx context.Context, deployment, since int64, handle func(*model.Batch) error) (int64, bool, error) {
	return s.bulk.Feed(ctx, deployment, since, func(b *model.Batch) error {
		for i := range b.Policies {
			b.Policies[i].Due = model.DueDays{Critical: 7, High: 30, Medium: 90, Low: 180}
		}
		for i := range b.Findings {
			if f := &b.Findings[i]; s.plain && f.State == model.Unresolved {
				f.StateUpdatedAt = time.Time{}
			}
		}
		return handle(b)
	})
}

// BenchmarkDue measures queries by due date, each relative to the same list by age.
func BenchmarkDue(b *testing.B) {
	for _, kind := range []string{"plain", "every clock moved"} {
		now := bulkBegin.AddDate(1, 6, 0)
		x := New(dueBulk{&bulk{n: 1_000_000, version: 1}, kind == "plain"}, Options{BodyCache: 4 << 30, Clock: func() time.Time { return now }})
		v, err := x.Deployment(b.Context(), tenant)
		if err != nil {
			b.Fatal(err)
		}
		byAge := ListQuery{Filter: openOnPrimary, Order: Oldest, Size: 50, Now: now}
		list := func(change func(*ListQuery)) func() {
			q := byAge
			change(&q)
			return func() { runQuery(b, v, q) }
		}
		for name, subject := range map[string]func(){
			"order, first page": list(func(q *ListQuery) { q.Order = Soonest }),
			"order, page 1000":  list(func(q *ListQuery) { q.Order, q.Skip = Soonest, 50_000 }),
			"filter":            list(func(q *ListQuery) { q.Filter.Due = model.DueWithin([]model.DueWindow{model.DueOverdue}, now) }),
			"facet":             list(func(q *ListQuery) { q.Facets = []FacetRequest{{Facet: FacetDue}} }),
			"groups":            list(func(q *ListQuery) { q.Groups = []Grouping{ByProject} }),
			"targets": func() {
				v.DueTargets(model.FindingFilter{IssueType: model.SAST, Dedup: true}, now.AddDate(0, -3, 0))
			},
			"after a change": func() {
				v.d.state.dues.forget()
				list(func(q *ListQuery) { q.Order = Soonest })()
			},
		} {
			b.Run(fmt.Sprintf("%s/%s", kind, name), func(b *testing.B) { benchmarkAgainst(b, func() {}, subject, list(func(*ListQuery) {})) })
		}
	}
}
