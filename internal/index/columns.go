package index

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt"
)

// columns repeat, apart from the rows, what is looked at of every row that is
// counted: a row takes a hundred bytes, of which counting needs four. They cost
// 12 to 20 bytes a finding, and 8 for its end.
//
// Bitmaps remain the way to select and to count by few values. A field of many
// values (projects, rules, refs) is counted by its column: its bitmaps would
// touch all rows, however few are selected.
type columns struct {
	numbers [numbered][]uint32 // by field, then ordinal; nil while no row has a value
	ended   []int64            // by ordinal: row.ended
}

// put stores what one of the rows has.
func (c *columns) put(rows []row, ordinal uint32) {
	r := &rows[ordinal]
	for f := range numbered {
		if v := r.value(f); v != 0 || c.numbers[f] != nil {
			c.numbers[f] = stored(c.numbers[f], rows, ordinal, v)
		}
	}
	c.ended = stored(c.ended, rows, ordinal, r.ended())
}

// stored is a column with a value in it, as long as the rows are by now.
func stored[T any](column []T, rows []row, ordinal uint32, v T) []T {
	if column == nil {
		column = make([]T, len(rows), cap(rows))
	}
	for len(column) < len(rows) {
		column = append(column, *new(T))
	}
	column[ordinal] = v
	return column
}

// size is how many bytes the columns take.
func (c *columns) size() int64 {
	total := int64(cap(c.ended)) * 8
	for _, column := range c.numbers {
		total += int64(cap(column)) * 4
	}
	return total
}

// ended is when a finding ceased to be open: by a scan, or by a decision, which
// may be older than the finding. It is 0 while the finding is open.
func (r *row) ended() int64 {
	switch {
	case redoubt.Status(r.status) == redoubt.StatusOpen:
		return 0
	case redoubt.Status(r.status) == redoubt.StatusFixed, redoubt.State(r.state) == redoubt.Muted:
		return max(r.stateAt, r.relevant)
	}
	return max(r.triagedAt, r.relevant)
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

// tally counts the rows of a set by their value of a field. Few values are
// counted by their bitmaps, of which a container costs as much as looking at
// some hundred rows; many by looking at each row of the set.
func (p *partition) tally(b *roaring.Bitmap, f field) []int {
	counts := make([]int, len(p.values[f]))
	containers := len(p.rows)>>16 + 1
	if int(b.GetCardinality()) > 128*containers*len(counts) || f >= numbered {
		for v, having := range p.values[f] {
			if having != nil {
				counts[v] = int(having.AndCardinality(b))
			}
		}
		return counts
	}
	if column := p.columns.numbers[f]; column != nil {
		for batch := range batches(b) {
			for _, ordinal := range batch {
				counts[column[ordinal]]++
			}
		}
		counts[0] = 0
	}
	return counts
}
