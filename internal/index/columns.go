package index

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
)

// columns duplicates row values that are read for every counted row. A row has about a hundred
// bytes, of which counting needs four. Columns take 16 to 32 bytes per finding.
//
// Bitmaps are used to select, and to count fields with few values. Fields with many values
// (projects, rules, refs) are counted by column, because their bitmaps would cover all rows even
// for a small selection.
//
// Searches and sorting use additional columns that are not fields.
type columns [columned][]uint32 // by field, then ordinal; nil until a row has a value

const (
	namedPath = numbered + iota
	namedVuln
	messageText
	clockBegan
	scored
	columned
)

// column returns the row's value in a column.
func (r *row) column(c field) uint32 {
	switch c {
	case namedPath:
		return r.path
	case namedVuln:
		return r.vuln
	case messageText:
		return r.says
	case clockBegan:
		return r.began
	case scored:
		return r.score
	}
	return r.value(c)
}

// put stores the values of one row in all columns.
func (c *columns) put(rows []row, ordinal uint32) {
	for f := range columned {
		if v := rows[ordinal].column(f); v != 0 || c[f] != nil {
			c[f] = stored(c[f], rows, ordinal, v)
		}
	}
}

// stored returns a column with a value stored in it, extended to the number of rows.
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

// size returns the size of the columns in bytes.
func (c *columns) size() (total int64) {
	for _, column := range c {
		total += int64(cap(column)) * 4
	}
	return total
}

// batches yields the members of a set in ascending order, up to 2048 at a time. A batch is valid
// until the next one.
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

// tally counts the rows of a set by the values of each field. Fields with few values are counted
// with bitmaps, where a container costs as much as reading some hundred rows. Others are counted by
// reading the column for each row of the set.
func (p *partition) tally(b *roaring.Bitmap, by ...field) [][]int {
	counts := make([][]int, len(by))
	var rowwise []int // fields to count row by row
	size, containers := int(b.GetCardinality()), len(p.rows)>>16+1
	for i, f := range by {
		counts[i] = make([]int, len(p.values[f]))
		if f < numbered && size < 128*containers*len(counts[i]) {
			rowwise = append(rowwise, i)
			continue
		}
		for v, having := range p.values[f] {
			if having != nil {
				counts[i][v] = int(having.AndCardinality(b))
			}
		}
	}
	if len(rowwise) == 0 {
		return counts
	}
	for batch := range batches(b) {
		for _, i := range rowwise {
			count(counts[i], p.columns[by[i]], batch)
		}
	}
	return counts
}

// count adds the column values of rows to counts. It ignores value 0, which means none.
func count(counts []int, column, ordinals []uint32) {
	if column == nil {
		return
	}
	for _, ordinal := range ordinals {
		counts[column[ordinal]]++
	}
	counts[0] = 0
}
