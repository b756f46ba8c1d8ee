package index

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// Facet is a member of the filter whose values can be counted.
type Facet string

// Facets have the names of their filters in the API.
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
	FacetExploited      Facet = "known_exploited"  // used by pages only
	FacetUnrated        Facet = "severity_unrated" // used by pages only
	FacetProOnly        Facet = "pro_only"
	FacetSecretType     Facet = "secret_types"
	FacetValidation     Facet = "validation_state"
	FacetIncludeHistory Facet = "include_historical"

	// FacetAssignee and FacetEnds are extensions of the contract. FacetAssignee has names of users
	// and model.AssigneeNone. FacetEnds has decisions that end within 7 or 30 days, or at any
	// time ("any").
	FacetAssignee Facet = "assignees"
	FacetEnds     Facet = "ends"

	// FacetDue is an extension of the contract. Its values are model.DueWindows, of which a finding
	// may be in two.
	FacetDue Facet = "due"
)

// FacetRequest is a request to count the values of a facet.
type FacetRequest struct {
	Facet   Facet
	Include []string // values to include regardless of their count
	Values  int      // maximum number of values; 0 means ListQuery.Values
}

// FacetCounts contains the counted values of a facet.
type FacetCounts struct {
	Values []FacetCount // most frequent first, then by value, followed by the kept values
	More   int          // number of omitted values with findings
}

// FacetCount is a value and its number of findings.
type FacetCount struct {
	Value string
	Count int
}

// facetKind defines how a facet is counted.
type facetKind struct {
	// forget clears the facet's own filter, because a facet is counted under the other filters
	// only.
	forget func(*model.FindingFilter)
	field  field                                  // fields if the facet is not a field of rows
	values func(s *state, number uint32) []string // values for a number of the field
}

// cut returns the limit most frequent values, followed by the values in include.
func cut(counts map[string]int, limit int, include []string) FacetCounts {
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
	for _, value := range include {
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

// CountBy returns the number of findings that match the filter, and their counts by value for each
// facet. All numbers are of one state. The facet's own filter applies too, as in the list. A
// finding is counted for each of its values. An unknown facet has no values.
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

type filter = model.FindingFilter

// facetKinds contains all facets.
var facetKinds = map[Facet]facetKind{
	FacetSeverity:       {func(f *filter) { f.Severities = nil }, bySeverity, named[model.Severity]},
	FacetStatus:         {func(f *filter) { f.Statuses = nil }, byStatus, named[model.Status]},
	FacetReason:         {func(f *filter) { f.TriageReasons = nil }, byReason, named[model.TriageReason]},
	FacetConfidence:     {func(f *filter) { f.Confidences = nil }, byConfidence, named[model.Confidence]},
	FacetVerdict:        {func(f *filter) { f.Verdicts = nil }, byVerdict, named[model.Verdict]},
	FacetReachability:   {func(f *filter) { f.Reachabilities = nil }, byReachability, named[model.Reachability]},
	FacetTransitivity:   {func(f *filter) { f.Transitivities = nil }, byTransitivity, named[model.Transitivity]},
	FacetEPSS:           {func(f *filter) { f.EPSS = nil }, byEPSS, named[model.EPSSBand]},
	FacetValidation:     {func(f *filter) { f.ValidationStates = nil }, byValidation, named[model.ValidationState]},
	FacetMalicious:      {func(f *filter) { f.Malicious = nil }, byMalicious, flagged},
	FacetExploited:      {func(f *filter) { f.Exploited = nil }, byExploited, flagged},
	FacetUnrated:        {func(f *filter) { f.Unrated = nil }, byUnrated, flagged},
	FacetProOnly:        {func(f *filter) { f.ProOnly = nil }, byProOnly, flagged},
	FacetIncludeHistory: {func(f *filter) { f.ExcludeHistoric = false }, byHistorical, flagged},
	FacetPR:             {func(f *filter) { f.PRStates = nil }, byPRs, prStates},

	FacetRef: {
		func(f *filter) { f.Ref = "" }, byRef,
		func(s *state, n uint32) []string { return []string{s.refs.Text(n)} },
	},
	FacetComponent: {
		func(f *filter) { f.ComponentTags = nil }, byTag,
		func(s *state, n uint32) []string { return []string{s.tags.Text(n)} },
	},
	FacetPackage: {
		func(f *filter) { f.Packages = nil }, byPackage,
		func(s *state, n uint32) []string { return []string{s.packages.Text(n)} },
	},
	FacetSecretType: {
		func(f *filter) { f.SecretTypes = nil }, bySecretType,
		func(s *state, n uint32) []string { return []string{s.secrets.Text(n)} },
	},
	FacetAssignee: {
		func(f *filter) { f.Assignees = nil }, byAssignee,
		func(s *state, n uint32) []string { return []string{s.assignees.Text(n)} },
	},
	FacetEnds: {func(f *filter) { f.EndsBy = time.Time{} }, byUntil, nil}, // see countByHorizon

	FacetDue: {func(f *filter) { f.Due = nil }, byClockDay, nil}, // see countByDue

	FacetProject: {func(f *filter) { f.Projects, f.ProjectIDs = nil, nil }, byProject, func(s *state, n uint32) []string {
		return []string{s.projects.entries[n].name}
	}},
	FacetProjectTag: {func(f *filter) { f.ProjectTags = nil }, byProject, func(s *state, n uint32) []string {
		return s.projects.entries[n].tags
	}},
	FacetVisibility: {func(f *filter) { f.Visibilities = nil }, byProject, func(s *state, n uint32) []string {
		return []string{s.projects.entries[n].visibility.String()}
	}},
	FacetRule: {func(f *filter) { f.Rules = nil }, byRule, func(s *state, n uint32) []string {
		return []string{s.rules.entries[n].name}
	}},
	FacetRuleset: {func(f *filter) { f.Rulesets = nil }, byRule, func(s *state, n uint32) []string {
		return s.rules.entries[n].rulesets
	}},
	FacetCategory: {func(f *filter) { f.Categories = nil }, byRule, func(s *state, n uint32) []string {
		return s.rules.entries[n].category
	}},
	FacetMode: {func(f *filter) { f.Modes = nil }, fields, nil}, // see countByMode
}

// named returns the name of an enumeration value.
func named[T interface {
	~uint8
	String() string
}](_ *state, n uint32) []string {
	return []string{T(n).String()}
}

func flagged(_ *state, n uint32) []string {
	if n == uint32(flagYes) {
		return []string{"true"}
	}
	return []string{"false"}
}

func prStates(_ *state, n uint32) []string {
	var out []string
	if n&prOpen != 0 {
		out = append(out, "open")
	}
	if n&prMerged != 0 {
		out = append(out, "merged")
	}
	return out
}

// facetCounter counts facets for one query. It caches counts, because facets without their own
// filter count the same rows, sometimes by the same field.
type facetCounter struct {
	s       *state
	p       *partition
	q       *ListQuery
	rows    *roaring.Bitmap // rows that match the query
	counted map[tallyKey][]int
}

// tallyKey identifies a count of rows by a field.
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

// facet counts the values of a facet among the rows that match the query without the facet's own
// filter.
func (a *facetCounter) facet(request FacetRequest) FacetCounts {
	kind, ok := facetKinds[request.Facet]
	if !ok {
		return FacetCounts{}
	}
	rows := a.rowsWithout(kind.forget)
	if request.Facet == FacetRef && a.q.Filter.Dedup {
		rows = a.dedupPerRef(kind.forget)
	}
	return cut(a.countByValue(request.Facet, kind, rows), cmp.Or(request.Values, a.q.Values), request.Include)
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
		if n := a.s.assignedTo(a.p, []string{model.AssigneeNone}).AndCardinality(rows); n > 0 {
			counts[model.AssigneeNone] = int(n)
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

// countByMode counts rows by policy mode.
func (a *facetCounter) countByMode(rows *roaring.Bitmap) map[string]int {
	counts := map[string]int{}
	for mode, of := range a.s.rowsByMode(a.p) {
		if n := rows.AndCardinality(of); n > 0 {
			counts[model.PolicyMode(mode).String()] = int(n)
		}
	}
	return counts
}

// rowsWithout returns the rows that match the query after forget is applied to its filter.
func (a *facetCounter) rowsWithout(forget func(*model.FindingFilter)) *roaring.Bitmap {
	other := filterWithout(&a.q.Filter, forget)
	if reflect.DeepEqual(&other, &a.q.Filter) {
		return a.rows
	}
	return a.s.selected(a.p, &other)
}

// dedupPerRef returns the rows that dedup retains within each ref. These are the rows shown if a
// single ref is selected.
func (a *facetCounter) dedupPerRef(forget func(*model.FindingFilter)) *roaring.Bitmap {
	other := filterWithout(&a.q.Filter, forget)
	other.Dedup = false
	return roaring.And(a.s.selected(a.p, &other), a.p.readBitmap(byRepresentativeRef, 1))
}

// filterWithout returns a copy of the filter with forget applied to it and to its exception.
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
