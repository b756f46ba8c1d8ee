package index

import (
	"context"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// View answers queries about one deployment, at its version or a later one.
type View struct {
	d       *deployment
	version int64
	now     time.Time
}

// Version returns the version of the deployment when the view was created. Results may include
// newer commits.
func (v *View) Version() int64 { return v.version }

// Today returns the day number, counted from 1970, that determines which findings are overdue.
func (v *View) Today() int { return dayNumber(v.now) }

// newPage returns an empty page with the view's date.
func (v *View) newPage() *Page { return &Page{today: v.Today()} }

// read calls fn with the partition of an issue type under the read lock. It does not call fn for an
// unknown issue type or a dropped deployment.
func (v *View) read(t model.IssueType, fn func(s *state, p *partition)) {
	v.d.mu.RLock()
	defer v.d.mu.RUnlock()
	s := v.d.state
	if p := s.part(t); p != nil {
		fn(s, p)
	}
}

// Page returns one page of the filter's list, newest first (docs/reference/finding-queries.md).
// Page numbers start at 0. A page beyond the end is empty.
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

// Count returns the number of findings that match the filter.
func (v *View) Count(f model.FindingFilter) (n int) {
	v.read(f.IssueType, func(s *state, p *partition) { n = p.count(s.query(p, &f)) })
	return n
}

// Window returns the current bounds of a filter's time windows. They are the first ordinal after
// Since, and the number of decision ends up to EndsBy. For one version of the deployment, equal
// bounds select the same findings.
func (v *View) Window(f model.FindingFilter) (out [2]int) {
	v.read(f.IssueType, func(s *state, p *partition) {
		out = [2]int{p.lowerBound(f.Since), len(s.untils.through(f.EndsBy))}
	})
	return out
}

// Newest returns up to limit of the newest findings that match the filter.
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

// Occurrences returns the IDs of all listed findings of the lineages on all refs, in ascending
// order.
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
