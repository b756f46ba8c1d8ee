package index

import (
	"cmp"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
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
	FacetExploited      Facet = "known_exploited"  // the pages' own
	FacetUnrated        Facet = "severity_unrated" // the pages' own
	FacetProOnly        Facet = "pro_only"
	FacetSecretType     Facet = "secret_types"
	FacetValidation     Facet = "validation_state"
	FacetIncludeHistory Facet = "include_historical"

	// FacetAssignee and FacetEnds are beyond the contract: names of users and
	// model.AssigneeNobody; decisions that end within 7 or 30 days, or ever (any).
	FacetAssignee Facet = "assignees"
	FacetEnds     Facet = "ends"

	// FacetDue is beyond it too: the windows of model.DueWindows, of which a
	// finding may be in two.
	FacetDue Facet = "due"
)

// FacetRequest is a facet to count.
type FacetRequest struct {
	Facet  Facet
	Keep   []string // values to tell in any case
	Values int      // how many to tell; 0 is as many as of the others
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
	forget func(*model.FindingFilter)
	field  field                                  // fields: no field of a row tells
	values func(s *state, number uint32) []string // of a value of the field
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
