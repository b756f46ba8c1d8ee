package index

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt"
)

// Facet is a member of the filter whose values can be counted.
type Facet string

// Facets, named as the contract names their filters.
const (
	FacetSeverity       Facet = "severities"
	FacetStatus         Facet = "status"
	FacetReason         Facet = "triage_reasons"
	FacetConfidence     Facet = "confidence"
	FacetProject        Facet = "repos"
	FacetProjectTag     Facet = "project_tags"
	FacetVisibility     Facet = "repository_visibility"
	FacetRef            Facet = "ref"
	FacetRule           Facet = "rules"
	FacetRuleset        Facet = "ruleset"
	FacetCategory       Facet = "categories"
	FacetMode           Facet = "policy_mode"
	FacetVerdict        Facet = "autotriage_verdict"
	FacetComponent      Facet = "component_tags"
	FacetPR             Facet = "click_to_fix_pr_state"
	FacetReachability   Facet = "exposures"
	FacetTransitivity   Facet = "transitivities"
	FacetMalicious      Facet = "is_malicious"
	FacetPackage        Facet = "dependencies"
	FacetEPSS           Facet = "epss_probability"
	FacetExploited      Facet = "known_exploited" // the pages' own
	FacetProOnly        Facet = "pro_only"
	FacetSecretType     Facet = "secret_types"
	FacetValidation     Facet = "validation_state"
	FacetIncludeHistory Facet = "include_historical"

	// Beyond the contract: names of users and redoubt.AssigneeNobody; decisions
	// that end within 7 or 30 days, or ever (any).
	FacetAssignee Facet = "assignees"
	FacetEnds     Facet = "ends"
)

// FacetAsked is a facet to count.
type FacetAsked struct {
	Facet Facet
	Keep  []string // values to tell in any case
}

// FacetCounts are the values of a facet.
type FacetCounts struct {
	Values []FacetCount // the most frequent first, then by value; those kept follow
	More   int          // further values that have findings
}

// FacetCount says how many findings have a value.
type FacetCount struct {
	Value string
	Count int
}

// facetKind says how a facet is counted.
type facetKind struct {
	// forget clears the facet's own member, because each facet is counted under
	// the filters of the others.
	forget func(*redoubt.FindingFilter)
	field  field                                  // fields: no field of a row tells
	values func(s *state, number uint32) []string // of a value of the field
}

// facet counts a facet's values among the rows that the question selects but
// for the facet's own filter. b is what it selects with it.
func (s *state) facet(p *partition, b *roaring.Bitmap, q *Question, asked FacetAsked) FacetCounts {
	kind, ok := facetKinds[asked.Facet]
	if !ok {
		return FacetCounts{}
	}
	counts := map[string]int{}
	rows := s.without(p, b, &q.Filter, kind.forget)
	if asked.Facet == FacetRef && q.Filter.Dedup {
		rows = s.perRef(p, &q.Filter, kind.forget)
	}
	switch {
	case kind.field == fields:
		return cut(s.modes(p, rows), q.Values, asked.Keep)
	case asked.Facet == FacetEnds:
		return cut(s.ending(p, rows, q.Now), q.Values, asked.Keep)
	case asked.Facet == FacetAssignee:
		if n := s.assignedTo(p, []string{redoubt.AssigneeNobody}).AndCardinality(rows); n > 0 {
			counts[redoubt.AssigneeNobody] = int(n)
		}
	}
	for number, n := range p.tally(rows, kind.field) {
		if n > 0 {
			for _, value := range kind.values(s, uint32(number)) {
				counts[value] += n
			}
		}
	}
	delete(counts, "")
	return cut(counts, q.Values, asked.Keep)
}

// modes counts the rows by what policies want of their rule.
func (s *state) modes(p *partition, rows *roaring.Bitmap) map[string]int {
	counts := map[string]int{}
	for _, mode := range []redoubt.PolicyMode{redoubt.ModeMonitor, redoubt.ModeComment, redoubt.ModeBlock} {
		if n := s.inModes(p, []redoubt.PolicyMode{mode}).AndCardinality(rows); n > 0 {
			counts[mode.String()] = int(n)
		}
	}
	return counts
}

// without returns the rows that a filter selects when one facet is forgotten.
func (s *state) without(p *partition, b *roaring.Bitmap, f *redoubt.FindingFilter, forget func(*redoubt.FindingFilter)) *roaring.Bitmap {
	other := forgotten(f, forget)
	if reflect.DeepEqual(&other, f) {
		return b
	}
	return s.selected(p, &other)
}

// perRef returns what dedup keeps on each ref alone, which is what choosing one
// ref would show.
func (s *state) perRef(p *partition, f *redoubt.FindingFilter, forget func(*redoubt.FindingFilter)) *roaring.Bitmap {
	other := forgotten(f, forget)
	other.Dedup = false
	return roaring.And(s.selected(p, &other), p.having(byRepresentativeRef, 1))
}

// forgotten is a filter without one of its members, as exception too.
func forgotten(f *redoubt.FindingFilter, forget func(*redoubt.FindingFilter)) redoubt.FindingFilter {
	other := *f
	forget(&other)
	if f.Except != nil {
		except := *f.Except
		forget(&except)
		other.Except = &except
	}
	return other
}

// cut keeps the most frequent values, and those that are to be kept.
func cut(counts map[string]int, limit int, keep []string) FacetCounts {
	all := make([]FacetCount, 0, len(counts))
	for value, n := range counts {
		all = append(all, FacetCount{value, n})
	}
	slices.SortFunc(all, func(a, b FacetCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	out := FacetCounts{Values: all[:min(limit, len(all))]}
	shown := map[string]bool{}
	for _, v := range out.Values {
		shown[v.Value] = true
	}
	for _, value := range keep {
		if !shown[value] {
			shown[value] = true
			out.Values = append(slices.Clip(out.Values), FacetCount{value, counts[value]})
		}
	}
	for _, v := range all[min(limit, len(all)):] {
		if !shown[v.Value] {
			out.More++
		}
	}
	return out
}
