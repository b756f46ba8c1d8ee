package index

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// scoredBulk is a bulk of supply-chain findings. If equal, all findings have the same score,
// reachability and severity, which is the worst case.
type scoredBulk struct {
	*bulk
	equal bool
}

func (s scoredBulk) Feed(ctx context.Context, deployment, since int64, handle func(*model.Batch) error) (int64, bool, error) {
	return s.bulk.Feed(ctx, deployment, since, func(b *model.Batch) error {
		for i := range b.Findings {
			f := &b.Findings[i]
			f.IssueType, f.Reachability, f.State = model.SCA, model.Reachability(f.ID%5+1), model.Unresolved
			score := float64(f.LineageID%100_000) / 100_000
			if s.equal {
				score, f.Reachability, f.Severity = 0.5, model.Reachable, model.SeverityHigh
			}
			b.Lineages = append(b.Lineages, model.Lineage{ID: f.LineageID, Annotations: model.Annotations{EPSS: &model.EPSS{Score: score}, Exploited: f.ID%50 == 0}})
		}
		return handle(b)
	})
}

// BenchmarkOrder measures the first and a middle page of a million findings in each order, relative
// to the initial order of pages.
func BenchmarkOrder(b *testing.B) {
	for kind, equal := range map[string]bool{"spread": false, "equal keys": true} {
		x := New(scoredBulk{&bulk{n: 1_000_000, version: 1}, equal}, Options{BodyCache: 4 << 30})
		v, err := x.Deployment(b.Context(), tenant)
		if err != nil {
			b.Fatal(err)
		}
		q := ListQuery{Filter: model.FindingFilter{IssueType: model.SCA}, Size: 50}
		limit := q
		limit.Order = MostSevere
		for _, o := range Orders(model.SCA) {
			for page, skip := range map[string]int{"first": 0, "middle": 500_000} {
				q.Order, q.Skip, limit.Skip = o, skip, skip
				b.Run(kind+"/"+o.String()+"/"+page, func(b *testing.B) {
					benchmarkAgainst(b, func() {}, func() { runQuery(b, v, q) }, func() { runQuery(b, v, limit) })
				})
			}
		}
	}
}
