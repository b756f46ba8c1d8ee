package index

import (
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// TrendPoint counts what happened between the end of the point before and At,
// and what was open at At. Decided are those that people took on, ignored or
// silenced.
type TrendPoint struct {
	At                  time.Time
	New, Fixed, Decided int
	Open                int
}

// Trend follows the findings that a filter selects through time: a point for
// each of ends but the first, which is where counting starts. Ends ascend. A
// finding is open from its last appearance until it was fixed, silenced or
// decided about, as it stands now; so the last point is what Count says is open
// when it is now. The filter's statuses are for the caller to leave out.
func (v *View) Trend(f model.FindingFilter, ends []time.Time) []TrendPoint {
	if len(ends) < 2 {
		return nil
	}
	at := model.Map(ends, func(t time.Time) int64 { return t.UnixMicro() })
	began := make([]int, len(ends)) // up to each end
	fixed, decided := make([]int, len(ends)), make([]int, len(ends))
	out := make([]TrendPoint, len(ends)-1)
	v.read(f.IssueType, func(s *state, p *partition) {
		b := s.selected(p, &f)
		for i, t := range ends { // rows stand in the order of their beginnings
			began[i] = below(b, p.lowerBound(t.Truncate(time.Microsecond).Add(time.Microsecond)))
		}
		byScan := p.readBitmap(byStatus, uint32(model.StatusFixed))
		fixed = p.countClosures(roaring.And(b, byScan), at)
		open := p.readBitmap(byStatus, uint32(model.StatusOpen))
		decided = p.countClosures(roaring.AndNot(roaring.AndNot(b, byScan), open), at)
	})
	closed := fixed[0] + decided[0]
	for i := range out {
		closed += fixed[i+1] + decided[i+1]
		out[i] = TrendPoint{
			At:      ends[i+1],
			New:     began[i+1] - began[i],
			Fixed:   fixed[i+1],
			Decided: decided[i+1],
			Open:    began[i+1] - closed,
		}
	}
	return out
}

// FixTime is how long it took to fix findings of one severity.
type FixTime struct {
	Severity model.Severity
	Fixed    int
	Median   time.Duration // to the hour
	Slowest  time.Duration // nine of ten took less, to the hour
}

// fixHours bounds the hours that are told apart; longer ones count as this.
const fixHours = 5 * 366 * 24

// FixTimes measures the findings among those that any of the filters selects, one for each
// product, that were fixed since a time, worst severity first; severities without any are
// left out.
func (v *View) FixTimes(since time.Time, filters ...model.FindingFilter) []FixTime {
	hours := make([][]int, model.SeverityCritical+1) // how many took so many, by severity
	for _, f := range filters {
		v.addFixHours(hours, f, since)
	}
	var out []FixTime
	for severity := model.SeverityCritical; severity > 0; severity-- {
		if h := hours[severity]; h != nil {
			out = append(out, fixTime(severity, h))
		}
	}
	return out
}

func (v *View) addFixHours(hours [][]int, f model.FindingFilter, since time.Time) {
	f.Statuses = []model.Status{model.StatusFixed}
	v.read(f.IssueType, func(s *state, p *partition) {
		from := since.UnixMicro()
		// A finding ends when it is fixed, or later.
		for batch := range batches(roaring.And(s.selected(p, &f), p.closedSince(dayOf(from)))) {
			for _, ordinal := range batch {
				r := &p.rows[ordinal]
				if r.stateAt < from || r.severity == 0 {
					continue
				}
				took := time.Duration(r.stateAt-r.created) * time.Microsecond
				h := min(max(int(took/time.Hour), 0), fixHours)
				for len(hours[r.severity]) <= h {
					hours[r.severity] = append(hours[r.severity], 0)
				}
				hours[r.severity][h]++
			}
		}
	})
}

// fixTime reads ranks off a histogram of hours.
func fixTime(severity model.Severity, hours []int) FixTime {
	out := FixTime{Severity: severity}
	for _, n := range hours {
		out.Fixed += n
	}
	rank := func(share, of int) time.Duration {
		left := (out.Fixed*share + of - 1) / of
		for h, n := range hours {
			if left -= n; left <= 0 {
				return time.Duration(h) * time.Hour
			}
		}
		return 0
	}
	out.Median, out.Slowest = rank(1, 2), rank(9, 10)
	return out
}

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
