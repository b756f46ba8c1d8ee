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

// Selection is what a filter selected at one moment, to be read to its end in
// steps: each finding once, newest first, as it is when it is read. What came
// since is not in it; what no longer passes the filter, or is gone, is left out.
// In memory it is one bit or so for each finding, whatever they hold.
//
// With Dedup it is lineages that were selected, each by what stands for it when it is
// read: a commit meanwhile may have another occurrence do so.
//
// A finding that scans see again meanwhile moves to the front, behind the reader.
// Those come last.
type Selection struct {
	view   *View
	filter model.FindingFilter
	left   *roaring64.Bitmap // keys of those that were not read yet, of all projects where each has a selection
	total  int
	last   *row // read last; nil before the first
}

// Select returns what the filter selects now.
func (v *View) Select(f model.FindingFilter) *Selection {
	out := v.selection(f, roaring64.New())
	v.read(f.IssueType, func(s *state, p *partition) { out.fill(s, p, s.selected(p, &f)) })
	return out
}

// SelectByProject returns what the filter selects now, a selection for each
// project that has any of it, by name. They are to be read by one goroutine: what is
// left is one set for all of them, since ids of one project alone lie apart and would
// take sixteen times the memory.
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

// key names what is selected by a row, over all states of the index: its lineage where
// there is one row of it at a time, else the finding.
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

// Total is how many findings were selected.
func (x *Selection) Total() int { return x.total }

// Next hands over the next findings, at most size of them, in the contract's
// shape, and reports whether there may be more. take must not keep the bytes.
// Errors are those of reading bodies, and take's own.
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

// step finds the next ordinals of the selection among those that the filter
// accepts now. Those that moved behind the reader are found from the front again,
// until there are none.
func (x *Selection) step(s *state, p *partition, b *roaring.Bitmap, size int) []uint32 {
	out := x.sweep(s, p, b, size)
	if len(out) == 0 && !x.left.IsEmpty() {
		x.last = nil
		out = x.sweep(s, p, b, size)
	}
	return out
}

// sweep finds the next ordinals behind what was read last.
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
