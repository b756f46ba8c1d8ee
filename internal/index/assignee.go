package index

import (
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// inherited are the numbers of what rows have of their lineage, in the words of
// the state.
type inherited struct{ tag, assignee, until uint32 }

func (s *state) inheritedOf(l *lineage) inherited {
	return inherited{s.tags.Number(l.tag), s.assignees.Number(l.assignee), s.untils.number(l.until)}
}

// addAssignees asks for findings of some people. Nobody has no number, as most
// findings are nobody's: they are found as the others of all that are listed.
func (s *state) addAssignees(p *partition, q *query, names []string) {
	if slices.Contains(names, model.AssigneeNobody) {
		q.with = append(q.with, s.assignedTo(p, names))
		return
	}
	q.addWords(byAssignee, &s.assignees, names)
}

// assignedTo returns the rows of any of some people, nobody among them.
func (s *state) assignedTo(p *partition, names []string) *roaring.Bitmap {
	out := roaring.FastOr(append(p.bitmaps(byAssignee, s.assignees.Find(names)), emptyBitmap)...)
	if slices.Contains(names, model.AssigneeNobody) {
		out.Or(roaring.AndNot(p.listed, roaring.FastOr(append(p.bitmaps(byAssignee, s.assignees.All()), emptyBitmap)...)))
	}
	return out
}

// instants number times, in microseconds since 1970, from 1 on; 0 is none.
type instants struct {
	numbers map[int64]uint32
	at      []int64 // by number - 1
}

func (x *instants) number(at int64) uint32 {
	if at == 0 {
		return 0
	}
	n, ok := x.numbers[at]
	if !ok {
		if x.numbers == nil {
			x.numbers = map[int64]uint32{}
		}
		x.at = append(x.at, at)
		n = uint32(len(x.at))
		x.numbers[at] = n
	}
	return n
}

// through returns the numbers of the times up to one.
func (x *instants) through(end time.Time) []uint32 {
	var out []uint32
	for i, at := range x.at {
		if !time.UnixMicro(at).After(end) {
			out = append(out, uint32(i+1))
		}
	}
	return out
}

// endHorizons are the values of FacetEnds, in days; any is whenever.
var endHorizons = []struct {
	value string
	days  int
}{{"7", 7}, {"30", 30}, {"any", 0}}

// EndsBy is the bound of a value of FacetEnds, for model.FindingFilter.
func EndsBy(value string, now time.Time) (time.Time, bool) {
	for _, h := range endHorizons {
		switch {
		case h.value != value:
		case h.days == 0:
			return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), true
		default:
			return now.AddDate(0, 0, h.days), true
		}
	}
	return time.Time{}, false
}

// countByHorizon counts the rows by how soon their decision ends.
func (s *state) countByHorizon(p *partition, rows *roaring.Bitmap, now time.Time) map[string]int {
	counts := map[string]int{}
	for _, h := range endHorizons {
		end, _ := EndsBy(h.value, now)
		if n := roaring.FastOr(append(p.bitmaps(byUntil, s.untils.through(end)), emptyBitmap)...).AndCardinality(rows); n > 0 {
			counts[h.value] = int(n)
		}
	}
	return counts
}
