package index

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// matches returns the rows that match the query, ignoring its lower bound. The caller must not
// modify the result.
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

// allOf returns the intersection of the sets, or all listed rows if there are no sets.
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

// union returns the rows with one of the clause's values. If most projects or rules are accepted,
// it excludes the others instead, which is cheaper.
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

// count returns the number of rows that match a query.
func (p *partition) count(q *query) int {
	b := p.matches(q)
	return int(b.GetCardinality()) - below(b, q.from)
}

// below returns the number of ordinals in b that are less than n.
func below(b *roaring.Bitmap, n int) int {
	if n == 0 {
		return 0
	}
	return int(b.Rank(uint32(n - 1)))
}

// selection returns the ordinals at positions skip to skip+size of the query's list, newest first.
func (p *partition) selection(q *query, skip, size int) []uint32 {
	if size <= 0 {
		return nil
	}
	if out, ok := p.scan(q, skip, size, p.scanBound(q)); ok {
		return out
	}
	return p.ranked(q, skip, size)
}

// ranked returns a page at any depth by its rank in the bitmaps.
func (p *partition) ranked(q *query, skip, size int) []uint32 {
	b := p.matches(q)
	end := int(b.GetCardinality()) - skip
	start := max(end-size, below(b, q.from))
	if start >= end {
		return nil
	}
	first, err := b.Select(uint32(start))
	if err != nil {
		return nil // unreachable: start is below the cardinality
	}
	out := make([]uint32, end-start)
	it := b.Iterator()
	it.AdvanceIfNeeded(first)
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = it.Next()
	}
	return out
}

// scanBound returns the number of rows that may be scanned before bitmaps are cheaper. Bitmaps
// process a row about a hundred times faster, but process all rows and have a fixed cost each. It
// returns 0 if bitmaps provide the result directly.
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

// scan searches at most bound of the newest rows for a page. It returns ok = false if the page may
// be incomplete.
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

// matcher matches single rows.
type matcher struct {
	listed *roaring.Bitmap
	fields []field
	sets   [][]uint64 // bit sets of accepted values
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
