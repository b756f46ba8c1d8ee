package index

import (
	"cmp"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

// fewRows is the number of rows up to which dead ordinals are ignored.
const fewRows = 256

// needsCompaction reports whether the partition should be rebuilt. It should if rows are late, if
// more than a fifth of the ordinals are dead, or if the arena is wasteful.
func (p *partition) needsCompaction() bool {
	dead := len(p.rows) - len(p.where)
	return p.empty || len(p.late.rows) > 0 || len(p.rows) > fewRows && dead > len(p.rows)/5 || p.bodies.wasteful()
}

// rebuild returns the partition sorted and without dead ordinals. It does not modify data that
// readers of the old partition can access.
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
	var steps parallel
	steps.do(func() error {
		q.where = make(map[uint32]uint32, len(q.rows))
		for i := range q.rows {
			r := &q.rows[i]
			q.where[r.id] = uint32(i)
			r.next, q.heads[r.lineage] = q.heads[r.lineage], uint32(i+1)
		}
		return nil
	})
	q.indexAll(&steps)
	_ = steps.wait() // the steps never fail
	q.electAll(s)
	for _, of := range q.values {
		for _, b := range of {
			if b != nil {
				b.RunOptimize()
			}
		}
	}
	return q
}

// indexAll adds steps that fill the bitmaps and columns, one field at a time.
func (p *partition) indexAll(steps *parallel) {
	steps.do(func() error {
		p.listed.AddRange(0, uint64(len(p.rows)))
		p.listed.RunOptimize()
		p.columns.fill(p.rows)
		return nil
	})
	var next atomic.Int32
	for range runtime.GOMAXPROCS(0) {
		steps.do(func() error {
			for n := next.Add(1) - 1; n < int32(fields); n = next.Add(1) - 1 {
				f := field(n)
				for i := range p.rows {
					if v := p.rows[i].value(f); v != 0 {
						p.bitmap(f, v).Add(uint32(i))
					}
				}
			}
			return nil
		})
	}
}

// liveRows returns the rows that are not dead, including late ones, in order.
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
	return inOrder(rows)
}

// inOrder returns the rows sorted by row.before, in a slice of exact capacity. It sorts their
// positions, because rows are large.
func inOrder(rows []row) []row {
	type position struct {
		relevant int64
		id, at   uint32
	}
	positions := make([]position, len(rows))
	for i := range rows {
		positions[i] = position{rows[i].relevant, rows[i].id, uint32(i)}
	}
	slices.SortFunc(positions, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.relevant, b.relevant), cmp.Compare(a.id, b.id))
	})
	sorted := make([]row, len(rows))
	for i, from := range positions {
		sorted[i] = rows[from.at]
	}
	return sorted
}

func (p *partition) electAll(s *state) {
	seen := map[uint32]bool{}
	for lineage, head := range p.heads {
		if head != 0 {
			p.electOne(s, uint32(lineage), seen)
		}
	}
}
