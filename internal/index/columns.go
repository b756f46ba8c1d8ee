package index

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
)

// columns repeat, apart from the rows, what is looked at of every row that is
// counted: a row takes a hundred bytes, of which counting needs four. They cost
// 16 to 32 bytes a finding.
//
// Bitmaps remain the way to select and to count by few values. A field of many
// values (projects, rules, refs) is counted by its column: its bitmaps would
// touch all rows, however few are selected.
//
// What searches look at has columns too, beyond those of fields, and what lists are
// sorted by.
type columns [columned][]uint32 // by field, then ordinal; nil while no row has a value

const (
	namedPath = numbered + iota
	namedVuln
	saidItself
	clockBegan
	scored
	columned
)

// column returns what the row has in a column.
func (r *row) column(c field) uint32 {
	switch c {
	case namedPath:
		return r.path
	case namedVuln:
		return r.vuln
	case saidItself:
		return r.says
	case clockBegan:
		return r.began
	case scored:
		return r.score
	}
	return r.value(c)
}

// put stores what one of the rows has.
func (c *columns) put(rows []row, ordinal uint32) {
	for f := range columned {
		if v := rows[ordinal].column(f); v != 0 || c[f] != nil {
			c[f] = stored(c[f], rows, ordinal, v)
		}
	}
}

// stored is a column with a value in it, as long as the rows are by now.
func stored(column []uint32, rows []row, ordinal, v uint32) []uint32 {
	if column == nil {
		column = make([]uint32, len(rows), cap(rows))
	}
	for len(column) < len(rows) {
		column = append(column, 0)
	}
	column[ordinal] = v
	return column
}

// size is how many bytes the columns take.
func (c *columns) size() (total int64) {
	for _, column := range c {
		total += int64(cap(column)) * 4
	}
	return total
}

// batches yields the members of a set, ascending, many at a time. A batch is
// valid until the next one.
func batches(b *roaring.Bitmap) iter.Seq[[]uint32] {
	return func(yield func([]uint32) bool) {
		buf := make([]uint32, 2048)
		for it := b.ManyIterator(); ; {
			n := it.NextMany(buf)
			if n == 0 || !yield(buf[:n]) {
				return
			}
		}
	}
}

// tally counts the rows of a set by their values of each of some fields. Few
// values are counted by their bitmaps, of which a container costs as much as
// looking at some hundred rows; many by looking at each row of the set.
func (p *partition) tally(b *roaring.Bitmap, by ...field) [][]int {
	counts := make([][]int, len(by))
	var apart []int // which are counted row by row
	size, containers := int(b.GetCardinality()), len(p.rows)>>16+1
	for i, f := range by {
		counts[i] = make([]int, len(p.values[f]))
		if f < numbered && size < 128*containers*len(counts[i]) {
			apart = append(apart, i)
			continue
		}
		for v, having := range p.values[f] {
			if having != nil {
				counts[i][v] = int(having.AndCardinality(b))
			}
		}
	}
	if len(apart) == 0 {
		return counts
	}
	for batch := range batches(b) {
		for _, i := range apart {
			count(counts[i], p.columns[by[i]], batch)
		}
	}
	return counts
}

// count adds up the values that some rows have in a column. Value 0 is none.
func count(counts []int, column, ordinals []uint32) {
	if column == nil {
		return
	}
	for _, ordinal := range ordinals {
		counts[column[ordinal]]++
	}
	counts[0] = 0
}
