package index

import (
	"context"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// PageQuery is what the query of a findings page means, for who keeps it.
type PageQuery struct {
	Filter redoubt.FindingFilter
	Order  Order
	Text   string // the query in the one spelling that the page has for it
}

// For puts a user's name in place of @me, which nobody is called.
func (q *PageQuery) For(user string) {
	for _, f := range []*redoubt.FindingFilter{&q.Filter, q.Filter.Except} {
		if f == nil || user == "" {
			continue
		}
		f.Assignees = slices.Clone(f.Assignees)
		for i, name := range f.Assignees {
			if name == redoubt.AssigneeMe {
				f.Assignees[i] = user
			}
		}
	}
}

// AboutMe reports whether a query names @me, so that somebody has to ask.
func (q *PageQuery) AboutMe() bool {
	for _, f := range []*redoubt.FindingFilter{&q.Filter, q.Filter.Except} {
		if f != nil && slices.Contains(f.Assignees, redoubt.AssigneeMe) {
			return true
		}
	}
	return false
}

// Missing says which projects a query names that are not there any more, for people;
// empty: none.
func (v *View) Missing(q *PageQuery) string {
	var lost []string
	v.d.mu.RLock()
	defer v.d.mu.RUnlock()
	for _, f := range []*redoubt.FindingFilter{&q.Filter, q.Filter.Except} {
		if f == nil {
			continue
		}
		for _, name := range f.Projects {
			known := func(p *project) bool { return p != nil && strings.EqualFold(p.name, name) }
			if !slices.ContainsFunc(v.d.state.projects.entries, known) && !slices.Contains(lost, name) {
				lost = append(lost, name)
			}
		}
	}
	switch len(lost) {
	case 0:
		return ""
	case 1:
		return "there is no project " + lost[0] + " any more"
	}
	return "there are no projects " + strings.Join(lost, ", ") + " any more"
}

// Sorted selects one page of the filter's list in an order, as Page does of the newest.
func (v *View) Sorted(ctx context.Context, f redoubt.FindingFilter, o Order, page, size int) (*Page, error) {
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
