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

type filter = model.FindingFilter

// facetKinds has every facet.
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
	FacetEnds: {func(f *filter) { f.EndsBy = time.Time{} }, byUntil, nil}, // as seen from now: see ending

	FacetDue: {func(f *filter) { f.Due = nil }, byClockDay, nil}, // as seen from now: see countByDue

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
	FacetMode: {func(f *filter) { f.Modes = nil }, fields, nil}, // of a rule in a project: see modes
}

// named spells a value of an enumeration.
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
