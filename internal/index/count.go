package index

import (
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// CountBy returns how many findings the filter selects, and how many of them have
// each value of the facets, all of one state. A facet's own filter counts too, as
// in the list. What a finding has several of, as categories, it counts for each;
// what it has none of, for none. An unknown facet has no values.
func (v *View) CountBy(f model.FindingFilter, facets ...Facet) (total int, by map[Facet]map[string]int) {
	by = map[Facet]map[string]int{}
	v.read(f.IssueType, func(s *state, p *partition) {
		a := s.newFacetCounter(p, &ListQuery{Filter: f, Now: v.now})
		total = int(a.rows.GetCardinality())
		for _, facet := range facets {
			if kind, ok := facetKinds[facet]; ok {
				by[facet] = a.countByValue(facet, kind, a.rows)
			}
		}
	})
	return total, by
}

// Facets lists what findings can be counted by, by name.
func Facets() []Facet { return slices.Sorted(maps.Keys(facetKinds)) }
