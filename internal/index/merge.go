package index

import (
	"context"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// MergedPage selects one page of two filters' lists in one order, newest first,
// as View.Page does of one. They are of different issue types.
func (v *View) MergedPage(ctx context.Context, one, other model.FindingFilter, page, size int) (*Page, error) {
	out := &Page{}
	v.read(one.IssueType, func(s *state, p *partition) {
		q := s.part(other.IssueType)
		if q == nil || page < 0 || size < 1 || page > (len(p.rows)+len(q.rows))/size {
			return
		}
		a, b := newMergeable(s, p, &one), newMergeable(s, q, &other)
		skip := min(page*size, a.count+b.count)
		fromA := a.before(b, skip)
		var both [2]Page
		both[0].copy(s, p, descending(a.rows, fromA, size))
		both[1].copy(s, q, descending(b.rows, skip-fromA, size))
		out.items = merge(both[0].items, both[1].items, size)
	})
	return out, out.fetch(ctx, v.d.x.src, v.d.id)
}

// mergeable is a list that is merged with another one.
type mergeable struct {
	from  *partition
	rows  *roaring.Bitmap
	count int
}

func newMergeable(s *state, p *partition, f *model.FindingFilter) mergeable {
	rows := s.selected(p, f)
	return mergeable{p, rows, int(rows.GetCardinality())}
}

// at returns the row at a position of the list, newest first.
func (m mergeable) at(i int) *row {
	ordinal, err := m.rows.Select(uint32(m.count - 1 - i))
	if err != nil {
		return &row{} // i is below the count, so there is such a row
	}
	return &m.from.rows[ordinal]
}

// before returns how many of the first n of both lists together are m's.
func (m mergeable) before(other mergeable, n int) int {
	low, high := max(n-other.count, 0), min(n, m.count)
	return low + sort.Search(high-low, func(i int) bool {
		mine, theirs := low+i, n-low-i
		return m.at(mine).before(other.at(theirs - 1))
	})
}

// merge makes one list of the first limit of both.
func merge(a, b []item, limit int) []item {
	out := make([]item, 0, min(len(a)+len(b), limit))
	for len(out) < limit && len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && b[0].row.before(&a[0].row) {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}
