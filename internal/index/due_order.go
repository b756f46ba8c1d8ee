package index

import (
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
)

// dueGroup contains the rows of a set with the same number of due days.
type dueGroup struct {
	dueClass
	before []int // by day: number of moved rows whose clock started before it
}

// soonest sorts rows by due date, nearest first. On one day, rows with the fewest due days come
// first, then the newest. Rows without a due date come last.
func (s *state) soonest(p *partition, b *roaring.Bitmap, skip, size int) []uint32 {
	d := s.duesOf(p)
	groups := d.groups(p, b)
	out := p.soonestDated(groups, skip, size)
	if total := p.dueThrough(groups, lastDueDay); len(out) < size {
		out = append(out, descending(roaring.AndNot(b, d.dated), max(skip-total, 0), size-len(out))...)
	}
	return out
}

// latest reverses the order of soonest. Rows without a due date still come last.
func (s *state) latest(p *partition, b *roaring.Bitmap, skip, size int) []uint32 {
	d := s.duesOf(p)
	groups := d.groups(p, b)
	total := p.dueThrough(groups, lastDueDay)
	end := max(total-skip, 0)
	begin := max(end-max(size, 0), 0)
	out := p.soonestDated(groups, begin, end-begin)
	slices.Reverse(out)
	if len(out) < size {
		out = append(out, descending(roaring.AndNot(b, d.dated), max(skip-total, 0), size-len(out))...)
	}
	return out
}

// soonestDated returns the rows with a due date in the order of soonest.
func (p *partition) soonestDated(groups []dueGroup, skip, size int) []uint32 {
	out := make([]uint32, 0, max(size, 0))
	total := p.dueThrough(groups, lastDueDay)
	day := sort.Search(lastDueDay, func(day int) bool { return p.dueThrough(groups, day) > skip })
	left := skip - p.dueThrough(groups, day-1)
	for ; len(out) < size && skip+len(out) < total; day = p.nextDue(groups, day) {
		for _, l := range groups {
			out, left = p.appendPlain(out, &l, day, left, size)
			out, left = p.appendMoved(out, &l, day, left, size)
		}
	}
	return out
}

// groups returns the rows of a set by class.
func (d *dues) groups(p *partition, b *roaring.Bitmap) []dueGroup {
	out := make([]dueGroup, 0, len(d.classes))
	for _, c := range d.classes {
		l := dueGroup{dueClass: dueClass{days: c.days, plain: roaring.And(c.plain, b), moved: roaring.And(c.moved, b)}}
		if !l.moved.IsEmpty() {
			l.before = make([]int, len(p.values[byClockDay])+1)
			for batch := range batches(l.moved) {
				for _, ordinal := range batch {
					l.before[p.columns[clockBegan][ordinal]+1]++
				}
			}
			for day := 1; day < len(l.before); day++ {
				l.before[day] += l.before[day-1]
			}
		}
		out = append(out, l)
	}
	return out
}

// movedBefore returns the number of moved rows whose clock started before a day.
func (l *dueGroup) movedBefore(day int) int {
	if len(l.before) == 0 {
		return 0
	}
	return l.before[min(max(day, 0), len(l.before)-1)]
}

// dueThrough returns the number of rows that are due on or before a day.
func (p *partition) dueThrough(groups []dueGroup, day int) (n int) {
	for i := range groups {
		l := &groups[i]
		n += below(l.plain, p.dayBound(day-l.days+1)) + l.movedBefore(day-l.days+1)
	}
	return n
}

// nextDue returns the next day with due rows after a day, or lastDueDay if there is none.
func (p *partition) nextDue(groups []dueGroup, day int) int {
	next := lastDueDay
	for i := range groups {
		l := &groups[i]
		it := l.plain.Iterator()
		it.AdvanceIfNeeded(uint32(p.dayBound(day - l.days + 1)))
		if it.HasNext() {
			next = min(next, int(dayOf(p.rows[it.PeekNext()].relevant))+l.days)
		}
		passed := l.movedBefore(day - l.days + 1)
		if began := sort.Search(len(l.before), func(d int) bool { return l.before[d] > passed }); began < len(l.before) {
			next = min(next, began-1+l.days)
		}
	}
	return next
}

// appendPlain appends the plain rows of a class that are due on a day, newest first. It skips left of
// them and appends until out has size elements. It returns the number that remains to be skipped.
func (p *partition) appendPlain(out []uint32, l *dueGroup, day, left, size int) ([]uint32, int) {
	start, end := below(l.plain, p.dayBound(day-l.days)), below(l.plain, p.dayBound(day-l.days+1))
	n := end - start
	if left >= n {
		return out, left - n
	}
	end -= left
	added := min(end-start, size-len(out))
	newest := ascending(l.plain, end-added, added)
	slices.Reverse(newest)
	return append(out, newest...), 0
}

// appendMoved is like appendPlain for moved rows.
func (p *partition) appendMoved(out []uint32, l *dueGroup, day, left, size int) ([]uint32, int) {
	n := l.movedBefore(day-l.days+1) - l.movedBefore(day-l.days)
	if left >= n {
		return out, left - n
	}
	began := roaring.And(p.readBitmap(byClockDay, uint32(day-l.days)), l.moved)
	return append(out, descending(began, left, size-len(out))...), 0
}
