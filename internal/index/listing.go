package index

import (
	"context"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// ListQuery asks for everything that a page of findings shows, of one state.
type ListQuery struct {
	Filter model.FindingFilter
	Order  Order
	Skip   int
	Size   int
	Facets []FacetRequest
	Values int        // how many values of a facet at most
	Groups []Grouping // what to group by, each apart
	Now    time.Time  // from when on FacetEnds and FacetDue count days, and groups what is overdue
}

// Listing answers a ListQuery: its numbers agree with each other and with Count.
type Listing struct {
	Total  int // findings that the filter selects
	Page   *Page
	Facets map[Facet]FacetCounts
	Groups map[Grouping][]Group // as asked
}

// List answers a query about findings. Errors are those of reading bodies.
func (v *View) List(ctx context.Context, q ListQuery) (*Listing, error) {
	out := &Listing{Page: v.newPage(), Facets: map[Facet]FacetCounts{}}
	v.read(q.Filter.IssueType, func(s *state, p *partition) {
		a := s.newFacetCounter(p, &q)
		out.Total = int(a.rows.GetCardinality())
		out.Page.copy(s, p, s.ordered(p, a.rows, q.Order, max(q.Skip, 0), q.Size))
		for _, asked := range q.Facets {
			out.Facets[asked.Facet] = a.facet(asked)
		}
		out.Groups = s.groups(p, a.rows, q.Groups, q.Now)
	})
	return out, out.Page.fetch(ctx, v.d.x.src, v.d.id)
}

// selected returns the rows that a filter accepts, to be read only.
func (s *state) selected(p *partition, f *model.FindingFilter) *roaring.Bitmap {
	q := s.query(p, f)
	b := p.matches(q)
	if q.from > 0 {
		b = b.Clone()
		b.RemoveRange(0, uint64(q.from))
	}
	return b
}

// ascending returns members skip to skip+size of a set.
func ascending(b *roaring.Bitmap, skip, size int) []uint32 {
	n := min(int(b.GetCardinality())-skip, size)
	if n <= 0 {
		return nil
	}
	first, err := b.Select(uint32(skip))
	if err != nil {
		return nil // skip is below the cardinality, so there is such a member
	}
	out := make([]uint32, n)
	it := b.Iterator()
	it.AdvanceIfNeeded(first)
	for i := range out {
		out[i] = it.Next()
	}
	return out
}

// descending does the same from the end.
func descending(b *roaring.Bitmap, skip, size int) []uint32 {
	end := int(b.GetCardinality()) - skip
	out := ascending(b, max(end-size, 0), min(size, end))
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
