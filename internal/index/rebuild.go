package index

import (
	"cmp"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// fewRows is a size below which dead ordinals do not matter.
const fewRows = 256

// needsCompaction reports whether the partition should be built anew: rows wait for
// their place, or more than a fifth of the ordinals is dead, or more than half
// of the arena.
func (p *partition) needsCompaction() bool {
	dead := len(p.rows) - len(p.where)
	return p.empty || len(p.late.rows) > 0 || len(p.rows) > fewRows && dead > len(p.rows)/5 || p.bodies.wasteful()
}

// rebuild returns the partition sorted and without dead ordinals. It changes
// nothing that readers of the old one see.
func (p *partition) rebuild(s *state) *partition {
	q := newPartition(p.issueType, p.bodies)
	q.empty = false
	q.rows = p.liveRows(s)
	if p.bodies.wasteful() {
		q.bodies = &arena{budget: p.bodies.budget}
		for i := range q.rows {
			q.rows[i].body = q.bodies.put(p.bodies.get(q.rows[i].body))
		}
	}
	q.heads = make([]uint32, len(s.lineages.entries))
	for i := range q.rows {
		r := &q.rows[i]
		q.where[r.id] = uint32(i)
		r.next, q.heads[r.lineage] = q.heads[r.lineage], uint32(i+1)
		q.index(uint32(i))
	}
	q.electAll(s)
	q.listed.RunOptimize()
	for _, of := range q.values {
		for _, b := range of {
			if b != nil {
				b.RunOptimize()
			}
		}
	}
	return q
}

// liveRows returns the rows that live, the late ones among them, in order.
func (p *partition) liveRows(s *state) []row {
	rows := slices.DeleteFunc(p.late.rows, func(r row) bool { return r.id == 0 })
	for i := range rows {
		l := s.lineages.entries[rows[i].lineage]
		rows[i].inherit(l, s.inheritedOf(l))
	}
	for ordinal := range roaring.Values(p.listed) {
		r := p.rows[ordinal]
		if _, replaced := p.late.where[r.id]; !replaced {
			r.marks = marks{}
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.relevant, b.relevant), cmp.Compare(a.id, b.id))
	})
	return rows
}

func (p *partition) electAll(s *state) {
	seen := map[uint32]bool{}
	for lineage, head := range p.heads {
		if head != 0 {
			p.electOne(s, uint32(lineage), seen)
		}
	}
}
