package index

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// PageQuery is what the query of a findings page means, for who keeps it.
type PageQuery struct {
	Filter model.FindingFilter
	Order  Order
	Text   string // the query in the one spelling that the page has for it
}

// For puts a user's name in place of @me, which nobody is called.
func (q *PageQuery) For(user string) {
	for _, f := range []*model.FindingFilter{&q.Filter, q.Filter.Except} {
		if f == nil || user == "" {
			continue
		}
		f.Assignees = slices.Clone(f.Assignees)
		for i, name := range f.Assignees {
			if name == model.AssigneeMe {
				f.Assignees[i] = user
			}
		}
	}
}

// AboutMe reports whether a query names @me, so that somebody has to ask.
func (q *PageQuery) AboutMe() bool {
	for _, f := range []*model.FindingFilter{&q.Filter, q.Filter.Except} {
		if f != nil && slices.Contains(f.Assignees, model.AssigneeMe) {
			return true
		}
	}
	return false
}

// Sorted selects one page of the filter's list in an order, as Page does of the newest.
func (v *View) Sorted(ctx context.Context, f model.FindingFilter, o Order, page, size int) (*Page, error) {
	if o == Newest {
		return v.Page(ctx, f, page, size)
	}
	out := v.newPage()
	v.read(f.IssueType, func(s *state, p *partition) {
		if page < 0 || size < 1 || page > len(p.rows)/size {
			return
		}
		out.copy(s, p, s.ordered(p, s.selected(p, &f), o, page*size, size))
	})
	return out, out.fetch(ctx, v.d.x.src, v.d.id)
}
