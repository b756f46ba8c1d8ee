package index

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// What ceased to be open has a bitmap for the day on which it did. A trend looks
// at the days that it spans, and at rows only on the few days that one of its
// ends cuts in two: its cost is that of what happened, not of what there is.

// closedAt is when a finding ceased to be open: by a scan, or by a decision, which
// may be older than the finding.
func (r *row) closedAt() int64 {
	if model.Status(r.status) == model.StatusFixed || model.State(r.state) == model.Muted {
		return max(r.stateAt, r.relevant)
	}
	return max(r.triagedAt, r.relevant)
}

// closedDay is the value of byClosedDay: the day, or 0 while the finding is open.
func (r *row) closedDay() uint32 {
	if model.Status(r.status) == model.StatusOpen {
		return 0
	}
	return dayOf(r.closedAt())
}

// lastDay bounds the days that are told apart, in 2079. Later times are on it,
// as those before 1970 are on the first.
const lastDay = 40_000

// dayOf numbers the day of a time in microseconds, from 1 on.
func dayOf(at int64) uint32 { return uint32(min(max(at/dayMicros, 0), lastDay-1) + 1) }

// closedSince returns the rows that ceased to be open on a day or later.
func (p *partition) closedSince(day uint32) *roaring.Bitmap {
	from := min(int(day), len(p.values[byClosedDay]))
	days := slices.DeleteFunc(slices.Clone(p.values[byClosedDay][from:]), func(b *roaring.Bitmap) bool { return b == nil })
	return roaring.FastOr(append(days, emptyBitmap)...)
}

// countClosures counts the rows of a set, none of which is open, by when they ceased
// to be: up to each of a few ascending ends, and after the one before it.
func (p *partition) countClosures(b *roaring.Bitmap, ends []int64) []int {
	counts := make([]int, len(ends)+1)
	past := 0 // ends on the days before
	for day := dayOf(ends[0]); int(day) < len(p.values[byClosedDay]); day++ {
		on := past // and up to this one
		for on < len(ends) && dayOf(ends[on]) == day {
			on++
		}
		if rows := p.readBitmap(byClosedDay, day); on == past {
			counts[past] += int(rows.AndCardinality(b))
		} else {
			p.countClosuresWithin(counts[past:], roaring.And(rows, b), ends[past:on])
		}
		past = on
	}
	total := int(b.GetCardinality())
	counts[0] = total
	for _, n := range counts[1:] {
		counts[0] -= n
	}
	return counts[:len(ends)]
}

// countClosuresWithin counts rows of a day on which there are ends.
func (p *partition) countClosuresWithin(counts []int, rows *roaring.Bitmap, ends []int64) {
	for ordinal := range roaring.Values(rows) {
		at, past := p.rows[ordinal].closedAt(), 0
		for past < len(ends) && at > ends[past] {
			past++
		}
		counts[past]++
	}
}
