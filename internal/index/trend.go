package index

import (
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// TrendPoint counts changes between the previous point and At, and open findings at At. Decided
// counts findings that were triaged or muted.
type TrendPoint struct {
	At                  time.Time
	New, Fixed, Decided int
	Open                int
}

// Trend returns a point for each of ends except the first, where counting starts. Ends must be
// ascending. A finding is open from its last appearance until it was fixed, muted or triaged,
// according to its current state. So the last point has as many open findings as Count returns. The
// filter should not contain statuses.
func (v *View) Trend(f model.FindingFilter, ends []time.Time) []TrendPoint {
	if len(ends) < 2 {
		return nil
	}
	at := model.Map(ends, func(t time.Time) int64 { return t.UnixMicro() })
	began := make([]int, len(ends)) // cumulative, by end
	fixed, decided := make([]int, len(ends)), make([]int, len(ends))
	out := make([]TrendPoint, len(ends)-1)
	v.read(f.IssueType, func(s *state, p *partition) {
		b := s.selected(p, &f)
		for i, t := range ends { // rows are sorted by relevant_since
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

// FixTime contains statistics of the time to fix findings of one severity.
type FixTime struct {
	Severity model.Severity
	Fixed    int
	Median   time.Duration // rounded down to hours
	Slowest  time.Duration // 90th percentile, rounded down to hours
}

// fixHours is the maximum fix time in hours. Longer times are counted as this.
const fixHours = 5 * 366 * 24

// FixTimes returns statistics of findings fixed since a time, worst severity first. The filters
// must have different issue types. Severities without fixed findings are omitted.
func (v *View) FixTimes(since time.Time, filters ...model.FindingFilter) []FixTime {
	hours := make([][]int, model.SeverityCritical+1) // number of findings by severity and hours
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
		// The closing day is the day of the fix or a later one.
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

// fixTime computes the statistics from a histogram of hours.
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

// Rows that ceased to be open have a bitmap by day. A trend reads the bitmaps of its days, and
// single rows only on the days that contain an end. So its cost depends on the changes, not on the
// number of findings.

// closedAt returns the time at which a finding ceased to be open, in microseconds. A triage
// decision may be older than the finding, so the result is at least relevant.
func (r *row) closedAt() int64 {
	if model.Status(r.status) == model.StatusFixed || model.State(r.state) == model.Muted {
		return max(r.stateAt, r.relevant)
	}
	return max(r.triagedAt, r.relevant)
}

// closedDay returns the value of byClosedDay: the day, or 0 while the finding is open.
func (r *row) closedDay() uint32 {
	if model.Status(r.status) == model.StatusOpen {
		return 0
	}
	return dayOf(r.closedAt())
}

// lastDay is the last distinct day, in 2079. Later times count as this day, and times before 1970
// as the first one.
const lastDay = 40_000

// dayOf returns the day number of a time in microseconds, starting at 1.
func dayOf(at int64) uint32 { return uint32(min(max(at/dayMicros, 0), lastDay-1) + 1) }

// closedSince returns the rows that ceased to be open on a day or later.
func (p *partition) closedSince(day uint32) *roaring.Bitmap {
	from := min(int(day), len(p.values[byClosedDay]))
	days := slices.DeleteFunc(slices.Clone(p.values[byClosedDay][from:]), func(b *roaring.Bitmap) bool { return b == nil })
	return roaring.FastOr(append(days, emptyBitmap)...)
}

// countClosures counts closed rows by the end of the interval in which they ceased to be open. Ends
// must be ascending. The first count includes everything up to the first end.
func (p *partition) countClosures(b *roaring.Bitmap, ends []int64) []int {
	counts := make([]int, len(ends)+1)
	past := 0 // ends on earlier days
	for day := dayOf(ends[0]); int(day) < len(p.values[byClosedDay]); day++ {
		on := past // ends up to this day
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

// countClosuresWithin counts the rows of a day that contains ends.
func (p *partition) countClosuresWithin(counts []int, rows *roaring.Bitmap, ends []int64) {
	for ordinal := range roaring.Values(rows) {
		at, past := p.rows[ordinal].closedAt(), 0
		for past < len(ends) && at > ends[past] {
			past++
		}
		counts[past]++
	}
}
