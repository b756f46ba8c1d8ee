package index

import (
	"cmp"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// Overdue lists the lineages of an issue type that are overdue as of the view, on any ref,
// by their ids: with the first of their due dates that is over.
func (v *View) Overdue(t model.IssueType) []model.OverdueLineage {
	first := map[uint32]int{}
	var out []model.OverdueLineage
	v.read(t, func(s *state, p *partition) {
		for ordinal := range roaring.Values(roaring.And(s.duesOf(p).between(p, firstDueDay, v.Today()), p.listed)) {
			r := &p.rows[ordinal]
			day := s.dueDay(t, r)
			if had, known := first[r.lineage]; !known || day < had {
				first[r.lineage] = day
			}
		}
		out = make([]model.OverdueLineage, 0, len(first))
		for number, day := range first {
			out = append(out, model.OverdueLineage{ID: s.lineages.ids[number], Day: day})
		}
	})
	slices.SortFunc(out, func(a, b model.OverdueLineage) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
