package index

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/redoubt/redoubt/internal/model"
)

// Selection is the set of findings that matched a filter at one moment. It is read in steps, newest
// first. Each finding is read once, in its state at that time. Later findings are not included.
// Findings that no longer match or were deleted are skipped. It takes about one bit per finding.
//
// With Dedup, a Selection contains lineages. Each is read as its current representative, which a
// later commit may change.
//
// A finding that is seen again by a scan moves to the front, behind the reader. Such findings are
// read last.
type Selection struct {
	view   *View
	filter model.FindingFilter
	left   *roaring64.Bitmap // keys of unread items; shared by selections of SelectByProject
	total  int
	last   *row // last row read; nil before the first
}

// Select returns the current selection of a filter.
func (v *View) Select(f model.FindingFilter) *Selection {
	out := v.selection(f, roaring64.New())
	v.read(f.IssueType, func(s *state, p *partition) { out.fill(s, p, s.selected(p, &f)) })
	return out
}

// SelectByProject returns one selection per project with matching findings, sorted by project name.
// The selections share one set of unread IDs, because sets per project would need about sixteen
// times the memory. They must be used by one goroutine.
func (v *View) SelectByProject(f model.FindingFilter) []*Selection {
	type named struct {
		name string
		*Selection
	}
	var all []named
	left := roaring64.New()
	v.read(f.IssueType, func(s *state, p *partition) {
		b := s.selected(p, &f)
		for n, project := range s.projects.entries {
			if project == nil || !b.Intersects(p.readBitmap(byProject, uint32(n))) {
				continue
			}
			one := v.selection(f, left)
			one.filter.ProjectIDs = []int64{s.projects.ids[n]}
			one.fill(s, p, roaring.And(b, p.readBitmap(byProject, uint32(n))))
			all = append(all, named{project.name, one})
		}
	})
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	out := make([]*Selection, len(all))
	for i := range all {
		out[i] = all[i].Selection
	}
	return out
}

func (v *View) selection(f model.FindingFilter, left *roaring64.Bitmap) *Selection {
	return &Selection{view: v, filter: f, left: left}
}

// key identifies the selected item of a row: the lineage with Dedup, the finding otherwise.
func (x *Selection) key(s *state, r *row) uint64 {
	if x.filter.Dedup {
		return uint64(s.lineages.ids[r.lineage])
	}
	return uint64(r.id)
}

func (x *Selection) fill(s *state, p *partition, b *roaring.Bitmap) {
	for ordinal := range roaring.Values(b) {
		if x.left.CheckedAdd(x.key(s, &p.rows[ordinal])) {
			x.total++
		}
	}
}

// Total returns the number of selected findings.
func (x *Selection) Total() int { return x.total }

// Next passes up to size findings to take as JSON, and reports whether there may be more. take must
// not retain the bytes. Next returns errors from reading bodies and from take.
func (x *Selection) Next(
	ctx context.Context, size int, take func(t model.IssueType, finding []byte) error,
) (more bool, err error) {
	page := x.view.newPage()
	x.view.read(x.filter.IssueType, func(s *state, p *partition) {
		ordinals := x.step(s, p, s.selected(p, &x.filter), size)
		more = len(ordinals) > 0
		page.copy(s, p, ordinals)
	})
	if err := page.fetch(ctx, x.view.d.x.src, x.view.d.id); err != nil {
		return false, err
	}
	return more, page.each(take)
}

// step returns the next ordinals among the rows in b. At the end, it starts again from the front,
// to find rows that moved behind the reader.
func (x *Selection) step(s *state, p *partition, b *roaring.Bitmap, size int) []uint32 {
	out := x.sweep(s, p, b, size)
	if len(out) == 0 && !x.left.IsEmpty() {
		x.last = nil
		out = x.sweep(s, p, b, size)
	}
	return out
}

// sweep returns the next ordinals after the last row read.
func (x *Selection) sweep(s *state, p *partition, b *roaring.Bitmap, size int) (out []uint32) {
	end := int(b.GetCardinality())
	if x.last != nil {
		at := sort.Search(len(p.rows), func(i int) bool { return !p.rows[i].before(x.last) })
		end = below(b, at)
	}
	for end > 0 && len(out) < size && !x.left.IsEmpty() {
		start := max(end-(size-len(out)), 0)
		for _, ordinal := range slices.Backward(ascending(b, start, end-start)) {
			r := p.rows[ordinal]
			x.last = &r
			if x.left.CheckedRemove(x.key(s, &r)) {
				out = append(out, ordinal)
			}
		}
		end = start
	}
	return out
}
