package index

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// matches returns the ordinals that a query's clauses accept, to be read only;
// the query's lower bound is left to the caller.
func (p *partition) matches(q *query) *roaring.Bitmap {
	var sets []*roaring.Bitmap
	for _, c := range q.clauses {
		sets = append(sets, p.union(c))
	}
	if q.ids != nil {
		sets = append(sets, q.ids)
	}
	b := p.allOf(append(sets, q.with...))
	for _, none := range q.without {
		b = roaring.AndNot(b, none)
	}
	return b
}

// allOf returns what is in each of the sets; without any, what is listed.
func (p *partition) allOf(sets []*roaring.Bitmap) *roaring.Bitmap {
	switch len(sets) {
	case 0:
		return p.listed
	case 1:
		return sets[0]
	}
	slices.SortFunc(sets, func(a, b *roaring.Bitmap) int { return int(a.GetCardinality()) - int(b.GetCardinality()) })
	return roaring.FastAnd(sets...)
}

// union returns the rows that have one of the clause's values. Where it accepts
// most projects or rules, it is cheaper to leave out the others.
func (p *partition) union(c clause) *roaring.Bitmap {
	switch len(c.values) {
	case 0:
		return emptyBitmap
	case 1:
		return p.readBitmap(c.field, c.values[0])
	}
	if known := len(p.values[c.field]); (c.field == byProject || c.field == byRule) && len(c.values) > known/2 {
		return roaring.AndNot(p.listed, roaring.FastOr(p.bitmaps(c.field, others(c.values, known))...))
	}
	return roaring.FastOr(p.bitmaps(c.field, c.values)...)
}

func (p *partition) bitmaps(f field, values []uint32) []*roaring.Bitmap {
	out := make([]*roaring.Bitmap, len(values))
	for i, v := range values {
		out[i] = p.readBitmap(f, v)
	}
	return out
}

// others returns the numbers below n that are not in sorted.
func others(sorted []uint32, n int) []uint32 {
	var out []uint32
	for v := range uint32(n) {
		if _, ok := slices.BinarySearch(sorted, v); !ok {
			out = append(out, v)
		}
	}
	return out
}

// count returns how many rows a query accepts.
func (p *partition) count(q *query) int {
	b := p.matches(q)
	return int(b.GetCardinality()) - below(b, q.from)
}

// below counts the ordinals in b that are less than n.
func below(b *roaring.Bitmap, n int) int {
	if n == 0 {
		return 0
	}
	return int(b.Rank(uint32(n - 1)))
}

// selection returns the ordinals at skip to skip+size of the query's list,
// which is newest first.
func (p *partition) selection(q *query, skip, size int) []uint32 {
	if size <= 0 {
		return nil
	}
	if out, ok := p.scan(q, skip, size, p.scanBound(q)); ok {
		return out
	}
	return p.ranked(q, skip, size)
}

// ranked finds any page, however deep, by its rank in the bitmaps.
func (p *partition) ranked(q *query, skip, size int) []uint32 {
	b := p.matches(q)
	end := int(b.GetCardinality()) - skip
	start := max(end-size, below(b, q.from))
	if start >= end {
		return nil
	}
	first, err := b.Select(uint32(start))
	if err != nil {
		return nil // start is below the cardinality, so there is such an ordinal
	}
	out := make([]uint32, end-start)
	it := b.Iterator()
	it.AdvanceIfNeeded(first)
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = it.Next()
	}
	return out
}

// scanBound is how many rows may be looked at before bitmaps are the better
// way: bitmaps take in a row a hundred times faster, but take in all rows, and
// have a price of their own each. It is 0 when they have the answer ready.
func (p *partition) scanBound(q *query) int {
	values := 0
	for _, c := range q.clauses {
		values += len(c.values)
	}
	if q.ids != nil || len(q.with)+len(q.without) > 0 || values <= 1 {
		return 0
	}
	return min(len(p.rows)/64+32*values, len(p.rows))
}

// scan looks through the newest rows, at most bound, for an early page. ok is
// false when that did not settle it.
func (p *partition) scan(q *query, skip, size, bound int) (out []uint32, ok bool) {
	if skip+size > bound {
		return nil, false
	}
	m := p.matcher(q)
	out = make([]uint32, 0, size)
	for ordinal := len(p.rows) - 1; ordinal >= len(p.rows)-bound; ordinal-- {
		if ordinal < q.from {
			return out, true
		}
		if !m.accepts(uint32(ordinal), &p.rows[ordinal]) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if out = append(out, uint32(ordinal)); len(out) == size {
			return out, true
		}
	}
	return out, bound == len(p.rows)
}

// matcher accepts rows one by one.
type matcher struct {
	listed *roaring.Bitmap
	fields []field
	sets   [][]uint64 // bit sets of the values accepted
}

func (p *partition) matcher(q *query) *matcher {
	m := &matcher{listed: p.listed}
	for _, c := range q.clauses {
		set := make([]uint64, slices.Max(append(slices.Clip(c.values), 0))/64+1)
		for _, v := range c.values {
			set[v/64] |= 1 << (v % 64)
		}
		m.fields, m.sets = append(m.fields, c.field), append(m.sets, set)
	}
	return m
}

func (m *matcher) accepts(ordinal uint32, r *row) bool {
	for i, f := range m.fields {
		v := r.value(f)
		if int(v/64) >= len(m.sets[i]) || m.sets[i][v/64]>>(v%64)&1 == 0 {
			return false
		}
	}
	return m.listed.Contains(ordinal)
}
