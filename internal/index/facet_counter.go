package index

import (
	"cmp"
	"reflect"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// facetCounter answers one question. Facets that have no filter of their own count
// the same rows, and some of them by the same field, so what was counted is kept
// until the question is answered.
type facetCounter struct {
	s       *state
	p       *partition
	q       *ListQuery
	rows    *roaring.Bitmap // what the question selects
	counted map[tallyKey][]int
}

// tallyKey is a set of rows and what they are counted by.
type tallyKey struct {
	rows  *roaring.Bitmap
	field field
}

func (s *state) newFacetCounter(p *partition, q *ListQuery) *facetCounter {
	return &facetCounter{s, p, q, s.selected(p, &q.Filter), map[tallyKey][]int{}}
}

func (a *facetCounter) tally(rows *roaring.Bitmap, f field) []int {
	key := tallyKey{rows, f}
	if _, ok := a.counted[key]; !ok {
		a.counted[key] = a.p.tally(rows, f)[0]
	}
	return a.counted[key]
}

// facet counts a facet's values among the rows that the question selects but
// for the facet's own filter.
func (a *facetCounter) facet(asked FacetRequest) FacetCounts {
	kind, ok := facetKinds[asked.Facet]
	if !ok {
		return FacetCounts{}
	}
	rows := a.rowsWithout(kind.forget)
	if asked.Facet == FacetRef && a.q.Filter.Dedup {
		rows = a.dedupPerRef(kind.forget)
	}
	return cut(a.countByValue(asked.Facet, kind, rows), cmp.Or(asked.Values, a.q.Values), asked.Keep)
}

// countByValue counts rows by the values of a facet.
func (a *facetCounter) countByValue(facet Facet, kind facetKind, rows *roaring.Bitmap) map[string]int {
	switch {
	case kind.field == fields:
		return a.countByMode(rows)
	case facet == FacetEnds:
		return a.s.countByHorizon(a.p, rows, a.q.Now)
	case facet == FacetDue:
		return a.s.countByDue(a.p, rows, a.q.Now)
	}
	counts := map[string]int{}
	if facet == FacetAssignee {
		if n := a.s.assignedTo(a.p, []string{model.AssigneeNobody}).AndCardinality(rows); n > 0 {
			counts[model.AssigneeNobody] = int(n)
		}
	}
	for number, n := range a.tally(rows, kind.field) {
		if n > 0 {
			for _, value := range kind.values(a.s, uint32(number)) {
				counts[value] += n
			}
		}
	}
	delete(counts, "")
	return counts
}

// countByMode counts rows by their mode.
func (a *facetCounter) countByMode(rows *roaring.Bitmap) map[string]int {
	counts := map[string]int{}
	for mode, of := range a.s.rowsByMode(a.p) {
		if n := rows.AndCardinality(of); n > 0 {
			counts[model.PolicyMode(mode).String()] = int(n)
		}
	}
	return counts
}

// rowsWithout returns the rows that the question selects when one facet is
// forgotten.
func (a *facetCounter) rowsWithout(forget func(*model.FindingFilter)) *roaring.Bitmap {
	other := filterWithout(&a.q.Filter, forget)
	if reflect.DeepEqual(&other, &a.q.Filter) {
		return a.rows
	}
	return a.s.selected(a.p, &other)
}

// dedupPerRef returns what dedup keeps on each ref alone, which is what choosing one
// ref would show.
func (a *facetCounter) dedupPerRef(forget func(*model.FindingFilter)) *roaring.Bitmap {
	other := filterWithout(&a.q.Filter, forget)
	other.Dedup = false
	return roaring.And(a.s.selected(a.p, &other), a.p.readBitmap(byRepresentativeRef, 1))
}

// filterWithout is a filter without one of its members, as exception too.
func filterWithout(f *model.FindingFilter, forget func(*model.FindingFilter)) model.FindingFilter {
	other := *f
	forget(&other)
	if f.Except != nil {
		except := *f.Except
		forget(&except)
		other.Except = &except
	}
	return other
}
