package index

import (
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

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

	FacetRef:        {func(f *filter) { f.Ref = "" }, byRef, func(s *state, n uint32) []string { return []string{s.refs.Text(n)} }},
	FacetComponent:  {func(f *filter) { f.ComponentTags = nil }, byTag, func(s *state, n uint32) []string { return []string{s.tags.Text(n)} }},
	FacetPackage:    {func(f *filter) { f.Packages = nil }, byPackage, func(s *state, n uint32) []string { return []string{s.packages.Text(n)} }},
	FacetSecretType: {func(f *filter) { f.SecretTypes = nil }, bySecretType, func(s *state, n uint32) []string { return []string{s.secrets.Text(n)} }},
	FacetAssignee:   {func(f *filter) { f.Assignees = nil }, byAssignee, func(s *state, n uint32) []string { return []string{s.assignees.Text(n)} }},
	FacetEnds:       {func(f *filter) { f.EndsBy = time.Time{} }, byUntil, nil}, // as seen from now: see ending

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
