package index

import (
	"context"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// View answers for one deployment, at its version or later.
type View struct {
	d       *deployment
	version int64
	now     time.Time
}

// Version is that of the deployment when the view was taken. Answers may
// already hold newer commits.
func (v *View) Version() int64 { return v.version }

// Today is the day, from 1970 on, as of which the view says what is overdue.
func (v *View) Today() int { return dayNumber(v.now) }

// newPage is an empty page that is written as of now.
func (v *View) newPage() *Page { return &Page{today: v.Today()} }

// read runs fn on the partition of an issue type under the read lock. An
// unknown issue type, or a deployment dropped meanwhile, has no findings.
func (v *View) read(t model.IssueType, fn func(s *state, p *partition)) {
	v.d.mu.RLock()
	defer v.d.mu.RUnlock()
	s := v.d.state
	if p := s.part(t); p != nil {
		fn(s, p)
	}
}

// Page selects one page of the filter's list, newest first (docs/reference/finding-queries.md).
// Pages count from 0; one beyond the end is empty.
func (v *View) Page(ctx context.Context, f model.FindingFilter, page, size int) (*Page, error) {
	out := v.newPage()
	v.read(f.IssueType, func(s *state, p *partition) {
		if page < 0 || size < 1 || page > len(p.rows)/size {
			return
		}
		out.copy(s, p, p.selection(s.query(p, &f), page*size, size))
	})
	return out, out.fetch(ctx, v.d.x.src, v.d.id)
}

// Count returns how many findings the filter selects.
func (v *View) Count(f model.FindingFilter) (n int) {
	v.read(f.IssueType, func(s *state, p *partition) { n = p.count(s.query(p, &f)) })
	return n
}

// Window says where the windows of a filter begin and end that move with the time: the first
// row since, and how many times of decisions that end. While the version of the deployment
// stays, the same ones are the same findings.
func (v *View) Window(f model.FindingFilter) (out [2]int) {
	v.read(f.IssueType, func(s *state, p *partition) {
		out = [2]int{p.lowerBound(f.Since), len(s.untils.through(f.EndsBy))}
	})
	return out
}

// Newest returns the newest findings that the filter selects, at most limit.
func (v *View) Newest(_ context.Context, f model.FindingFilter, limit int) ([]model.Target, error) {
	var out []model.Target
	v.read(f.IssueType, func(s *state, p *partition) {
		for _, ordinal := range p.selection(s.query(p, &f), 0, max(limit, 0)) {
			r := &p.rows[ordinal]
			out = append(out, model.Target{FindingID: int64(r.id), LineageID: s.lineages.ids[r.lineage]})
		}
	})
	return out, nil
}

// Occurrences returns the ids of all listed findings of the lineages, on every
// ref, ascending.
func (v *View) Occurrences(_ context.Context, t model.IssueType, lineages []int64) ([]int64, error) {
	var out []int64
	v.read(t, func(s *state, p *partition) {
		for _, id := range lineages {
			for ordinal := range p.occurrences(s.lineages.numbers[id]) {
				out = append(out, int64(p.rows[ordinal].id))
			}
		}
	})
	slices.Sort(out)
	return slices.Compact(out), nil
}
