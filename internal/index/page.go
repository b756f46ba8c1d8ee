package index

import (
	"context"
	"io"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// Page is a page of findings. It contains copies of rows and references to immutable values, so it
// is written without a lock.
type Page struct {
	items []item
	today int // day number, see dayOf
}

type item struct {
	issueType model.IssueType

	row     row
	ref     string
	secret  string // type of the secret; secrets only
	source  []byte // the member sourcing_policy; SAST only
	project *project
	rule    *rule
	note    *lineageJSON
	due     int    // due day; 0 if there is no due date
	body    []byte // nil if not in memory
}

// copy replaces the page's items with the rows at the ordinals.
func (p *Page) copy(s *state, from *partition, ordinals []uint32) {
	p.items = make([]item, len(ordinals))
	for i, ordinal := range ordinals {
		it := &p.items[i]
		it.issueType, it.row = from.issueType, from.rows[ordinal]
		r := &it.row
		it.ref, it.note = s.refs.Form(r.ref), emptyLineageJSON
		it.project, it.rule = s.projects.entries[r.project], s.rules.entries[r.rule]
		if r.annotated == flagYes {
			it.note = s.lineages.entries[r.lineage].note
		}
		it.secret = s.secrets.Form(r.secret)
		if it.issueType == model.SAST {
			it.source = s.stanceOn(it.issueType, r).source
		}
		it.body, it.due = from.bodies.get(r.body), s.dueDay(from.issueType, r)
	}
}

// fetch reads the bodies that are not in memory. It removes findings that were deleted in the
// meantime.
func (p *Page) fetch(ctx context.Context, src Source, deployment int64) error {
	var ids []int64
	for i := range p.items {
		if p.items[i].body == nil {
			ids = append(ids, int64(p.items[i].row.id))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	bodies, err := src.Bodies(ctx, deployment, ids)
	if err != nil {
		return err
	}
	for i := range p.items {
		if it := &p.items[i]; it.body == nil {
			it.body = bodies[int64(it.row.id)]
		}
	}
	p.items = slices.DeleteFunc(p.items, func(it item) bool { return len(it.body) == 0 })
	return nil
}

// Len returns the number of findings on the page.
func (p *Page) Len() int { return len(p.items) }

// IDs returns the IDs of the page's findings in order.
func (p *Page) IDs() []int64 {
	ids := make([]int64, len(p.items))
	for i := range p.items {
		ids[i] = int64(p.items[i].row.id)
	}
	return ids
}

// Exploited reports whether the vulnerability of finding i is known to be exploited. The contract's
// JSON does not include this.
func (p *Page) Exploited(i int) bool { return p.items[i].row.exploited == flagYes }

// bufferSize is the number of bytes collected before a write. They should fit in the processor's
// cache.
const bufferSize = 512 << 10

// buffers contains buffers with spare capacity for the finding that exceeds bufferSize.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, bufferSize+64<<10)
	return &b
}}

// WriteTo writes the page as a JSON array of findings in the contract's format, in writes of about
// 512 KiB. It holds no lock and does not allocate per finding.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	e := encoder{today: p.today}
	return p.write(w, e.finding)
}

// each calls handle for each finding with its JSON in the contract's format.
func (p *Page) each(handle func(t model.IssueType, finding []byte) error) error {
	e := encoder{today: p.today}
	var buf []byte
	for i := range p.items {
		buf = e.finding(buf[:0], &p.items[i])
		if err := handle(p.items[i].issueType, buf); err != nil {
			return err
		}
	}
	return nil
}

// write writes the page as a JSON array of findings encoded by encode.
func (p *Page) write(w io.Writer, encode func([]byte, *item) []byte) (written int64, err error) {
	pooled := buffers.Get().(*[]byte)
	buf := append(*pooled, '[')
	defer func() {
		if cap(buf) <= 2*bufferSize { // do not retain the buffer of a huge finding
			*pooled = buf[:0]
			buffers.Put(pooled)
		}
	}()
	for i := range p.items {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = encode(buf, &p.items[i])
		if len(buf) >= bufferSize {
			n, err := w.Write(buf)
			if written += int64(n); err != nil {
				return written, err
			}
			buf = buf[:0]
		}
	}
	buf = append(buf, ']')
	n, err := w.Write(buf)
	return written + int64(n), err
}

// PageQuery is the parsed query of a findings page.
type PageQuery struct {
	Filter model.FindingFilter
	Order  Order
	Text   string // canonical form of the query
}

// For replaces the placeholder @me with a user's name.
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

// AboutMe reports whether a query contains @me and therefore requires a user.
func (q *PageQuery) AboutMe() bool {
	for _, f := range []*model.FindingFilter{&q.Filter, q.Filter.Except} {
		if f != nil && slices.Contains(f.Assignees, model.AssigneeMe) {
			return true
		}
	}
	return false
}

// Sorted returns one page of the filter's list in the given order. See Page.
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

// ListQuery requests all data of a findings page, from one state.
type ListQuery struct {
	Filter model.FindingFilter
	Order  Order
	Skip   int
	Size   int
	Facets []FacetRequest
	Values int        // maximum number of values per facet
	Groups []Grouping // each is grouped separately
	Now    time.Time  // reference time of FacetEnds, FacetDue and overdue counts
}

// Listing is the result of a ListQuery. Its numbers are consistent with each other and with Count.
type Listing struct {
	Total  int // number of findings that match the filter
	Page   *Page
	Facets map[Facet]FacetCounts
	Groups map[Grouping][]Group // by requested grouping
}

// List executes a query. It returns errors from reading bodies.
func (v *View) List(ctx context.Context, q ListQuery) (*Listing, error) {
	out := &Listing{Page: v.newPage(), Facets: map[Facet]FacetCounts{}}
	v.read(q.Filter.IssueType, func(s *state, p *partition) {
		a := s.newFacetCounter(p, &q)
		out.Total = int(a.rows.GetCardinality())
		out.Page.copy(s, p, s.ordered(p, a.rows, q.Order, max(q.Skip, 0), q.Size))
		for _, request := range q.Facets {
			out.Facets[request.Facet] = a.facet(request)
		}
		out.Groups = s.groups(p, a.rows, q.Groups, q.Now)
	})
	return out, out.Page.fetch(ctx, v.d.x.src, v.d.id)
}

// selected returns the rows that match a filter. The caller must not modify the result.
func (s *state) selected(p *partition, f *model.FindingFilter) *roaring.Bitmap {
	q := s.query(p, f)
	b := p.matches(q)
	if q.from > 0 {
		b = b.Clone()
		b.RemoveRange(0, uint64(q.from))
	}
	return b
}

// ascending returns the members of a set at positions skip to skip+size.
func ascending(b *roaring.Bitmap, skip, size int) []uint32 {
	n := min(int(b.GetCardinality())-skip, size)
	if n <= 0 {
		return nil
	}
	first, err := b.Select(uint32(skip))
	if err != nil {
		return nil // unreachable: skip is below the cardinality
	}
	out := make([]uint32, n)
	it := b.Iterator()
	it.AdvanceIfNeeded(first)
	for i := range out {
		out[i] = it.Next()
	}
	return out
}

// descending is like ascending, but counts from the end.
func descending(b *roaring.Bitmap, skip, size int) []uint32 {
	end := int(b.GetCardinality()) - skip
	out := ascending(b, max(end-size, 0), min(size, end))
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// MergedPage returns one page of two filters' merged lists, newest first. The filters must have
// different issue types.
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

// mergeable is a list to be merged with another one.
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
		return &row{} // unreachable: i is below the count
	}
	return &m.from.rows[ordinal]
}

// before returns how many of the first n items of the merged list are from m.
func (m mergeable) before(other mergeable, n int) int {
	low, high := max(n-other.count, 0), min(n, m.count)
	return low + sort.Search(high-low, func(i int) bool {
		mine, theirs := low+i, n-low-i
		return m.at(mine).before(other.at(theirs - 1))
	})
}

// merge returns the first limit items of two sorted lists.
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
