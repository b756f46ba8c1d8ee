package index

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/redoubt/redoubt"
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
	filter redoubt.FindingFilter
	left   *roaring64.Bitmap // keys of those that were not read yet
	total  int
	last   *row // read last; nil before the first
}

// Select returns what the filter selects now.
func (v *View) Select(f redoubt.FindingFilter) *Selection {
	out := v.selection(f)
	v.read(f.IssueType, func(s *state, p *partition) { out.fill(s, p, s.selected(p, &f)) })
	return out
}

// SelectByProject returns what the filter selects now, a selection for each
// project that has any of it, by name.
func (v *View) SelectByProject(f redoubt.FindingFilter) []*Selection {
	type named struct {
		name string
		*Selection
	}
	var all []named
	v.read(f.IssueType, func(s *state, p *partition) {
		b := s.selected(p, &f)
		for n, project := range s.projects.entries {
			if project == nil || !b.Intersects(p.readBitmap(byProject, uint32(n))) {
				continue
			}
			one := v.selection(f)
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

func (v *View) selection(f redoubt.FindingFilter) *Selection {
	return &Selection{view: v, filter: f, left: roaring64.New()}
}

// key names what is selected by a row, over all states of the index: its lineage where
// there is one row of it at a time, else the finding.
func (x *Selection) key(s *state, r *row) uint64 {
	if x.filter.Dedup {
		return uint64(s.lineages.ids[r.lineage])
	}
	return uint64(r.id)
}

// standing finds the row of a key among those that the filter accepts now.
func (x *Selection) standing(s *state, p *partition, b *roaring.Bitmap, key uint64) (ordinal uint32, ok bool) {
	if !x.filter.Dedup {
		ordinal, ok = p.where[uint32(key)]
		return ordinal, ok && b.Contains(ordinal)
	}
	lineage, known := s.lineages.numbers[int64(key)]
	if !known {
		return 0, false
	}
	for ordinal := range p.occurrences(lineage) {
		if b.Contains(ordinal) {
			return ordinal, true
		}
	}
	return 0, false
}

func (x *Selection) fill(s *state, p *partition, b *roaring.Bitmap) {
	for ordinal := range roaring.Values(b) {
		x.left.Add(x.key(s, &p.rows[ordinal]))
	}
	x.left.RunOptimize()
	x.total = int(x.left.GetCardinality())
}

// Total is how many findings were selected.
func (x *Selection) Total() int { return x.total }

// Next hands over the next findings, at most size of them, in the contract's
// shape, and reports whether there may be more. take must not keep the bytes.
// Errors are those of reading bodies, and take's own.
func (x *Selection) Next(ctx context.Context, size int, take func(t redoubt.IssueType, finding []byte) error) (more bool, err error) {
	page := &Page{}
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
// accepts now.
func (x *Selection) step(s *state, p *partition, b *roaring.Bitmap, size int) (out []uint32) {
	end := int(b.GetCardinality())
	if x.last != nil {
		at := sort.Search(len(p.rows), func(i int) bool { return !p.rows[i].before(x.last) })
		end = below(b, at)
	}
	for end > 0 && len(out) < size {
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
	if len(out) > 0 {
		return out
	}
	return x.moved(s, p, b, size)
}

// moved finds those that are behind the reader by now.
func (x *Selection) moved(s *state, p *partition, b *roaring.Bitmap, size int) (out []uint32) {
	for len(out) < size && !x.left.IsEmpty() {
		key := x.left.Maximum()
		x.left.Remove(key)
		if ordinal, ok := x.standing(s, p, b, key); ok {
			out = append(out, ordinal)
		}
	}
	return out
}
