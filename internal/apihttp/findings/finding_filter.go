package findings

import (
	"math"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
)

// selectedBy converts the filters of lists, counts, exports and bulk triage, which accept different
// subsets. prefix is the start of error locations.
func selectedBy(q *api.FindingsSelection, prefix string, now time.Time, bad *core.Faults) model.FindingFilter {
	return model.FindingFilter{
		Since: epoch(q.Since, prefix+"since", bad),
		Ref:   core.RefFilter(q.Ref),
		Dedup: q.Dedup,

		Projects:     q.Repos,
		ProjectIDs:   q.RepositoryIDs,
		ProjectTags:  q.ProjectTags,
		Visibilities: core.Parsed(q.RepositoryVisibility, model.ParseVisibility),

		Statuses:      core.Parsed(q.Status, model.ParseStatus),
		TriageReasons: core.Parsed(q.TriageReasons, model.ParseTriageReason),
		Severities:    core.Parsed(q.Severities, model.ParseSeverity),
		Confidences:   core.Parsed(q.Confidence, model.ParseConfidence),
		Modes:         modes(q, prefix, bad),
		Rules:         q.Rules,
		Rulesets:      q.Ruleset,
		Categories:    q.Categories,
		Verdicts:      core.Parsed(core.Single(q.AutotriageVerdict), model.ParseVerdict),
		ComponentTags: q.ComponentTags,
		PRStates:      q.ClickToFixPRStates,
		Assignees:     q.Assignees,
		Due:           dueFilter(q.Due, now),
		DueBefore:     dueBefore(q.DueBefore, bad),

		Reachabilities: core.Parsed(q.Exposures, model.ParseReachability),
		Transitivities: core.Parsed(q.Transitivities, model.ParseTransitivity),
		Malicious:      q.IsMalicious.Pointer(),
		Packages:       q.Dependencies,
		EPSS:           core.Parsed(q.EPSSProbability, model.ParseEPSSBand),
		Exploited:      q.KnownExploited.Pointer(),
		Unrated:        q.SeverityUnrated.Pointer(),

		ProOnly:          q.ProOnly.Pointer(),
		ExcludeHistoric:  q.IncludeHistorical.Set && !q.IncludeHistorical.Value,
		SecretTypes:      q.SecretTypes,
		ValidationStates: core.Parsed(q.ValidationState, model.ParseValidationState),
	}
}

// modes returns the modes that match both spellings of the filter. Spellings without a common mode
// would select nothing and are an error.
func modes(q *api.FindingsSelection, prefix string, bad *core.Faults) []model.PolicyMode {
	boards, named := core.Parsed(q.Policies, model.ParseRuleBoard), core.Parsed(q.PolicyMode, model.ParsePolicyMode)
	if len(boards) == 0 || len(named) == 0 {
		return append(boards, named...)
	}
	var both []model.PolicyMode
	for _, mode := range boards {
		for _, other := range named {
			if mode == other {
				both = append(both, mode)
			}
		}
	}
	if len(both) == 0 {
		bad.Add(prefix+"policy_mode", nil, "has no mode in common with policies")
	}
	return both
}

// selectionFilters returns the filters of a query, one per issue type.
func selectionFilters(q *api.FindingsSelection, now time.Time, bad *core.Faults) []model.FindingFilter {
	types := q.IssueType
	if len(types) == 0 {
		types = []string{model.SAST.String(), model.SCA.String(), model.Secrets.String()}
	}
	f := selectedBy(q, "query.", now, bad)
	var out []model.FindingFilter
	seen := map[string]bool{}
	for _, t := range types {
		if seen[t] {
			continue
		}
		seen[t] = true
		refuseTied("query.", t, selectionTies(q), bad)
		f.IssueType, _ = model.ParseIssueType(t)
		out = append(out, f)
	}
	return out
}

// selectionTies returns the filters of counts and exports that apply to one issue type only. The
// contract has more of them for lists.
func selectionTies(q *api.FindingsSelection) []tied {
	return []tied{
		{"sast", []member{{"pro_only", q.ProOnly.Set}}},
		supplyChainTie(q),
		{"secrets", []member{
			{"secret_types", len(q.SecretTypes) > 0},
			{"validation_state", len(q.ValidationState) > 0},
			{"include_historical", q.IncludeHistorical.Set && !q.IncludeHistorical.Value}, // true is the default
		}},
	}
}

// listingTies returns the filters of lists that apply to one issue type only.
func listingTies(q *api.FindingsSelection) []tied {
	return []tied{
		{"sast", []member{
			{"policies", len(q.Policies) > 0},
			{"rules", len(q.Rules) > 0},
			{"categories", len(q.Categories) > 0},
			{"confidence", len(q.Confidence) > 0},
			{"autotriage_verdict", q.AutotriageVerdict != ""},
			{"pro_only", q.ProOnly.Set},
		}},
		supplyChainTie(q),
	}
}

// supplyChainTie returns the filters that apply to supply-chain findings only, in all operations.
func supplyChainTie(q *api.FindingsSelection) tied {
	return tied{"sca", []member{
		{"exposures", len(q.Exposures) > 0},
		{"transitivities", len(q.Transitivities) > 0},
		{"is_malicious", q.IsMalicious.Set},
		{"dependencies", len(q.Dependencies) > 0},
		{"epss_probability", len(q.EPSSProbability) > 0},
		{"known_exploited", q.KnownExploited.Set},
		{"severity_unrated", q.SeverityUnrated.Set},
	}}
}

// tied is a set of filters that apply to one issue type only.
type tied struct {
	issueType string
	members   []member
}

// member is a filter, and whether the request contains it.
type member struct {
	name string
	set  bool
}

// refuseTied adds an error for every filter that is set and applies to another issue type.
func refuseTied(prefix, issueType string, all []tied, bad *core.Faults) {
	for _, t := range all {
		for _, m := range t.members {
			if m.set && t.issueType != issueType {
				bad.Add(prefix+m.name, nil, "filters only issue_type "+t.issueType+", but issue_type is "+issueType)
			}
		}
	}
}

// dueFilter converts windows of due dates to a filter.
func dueFilter(windows []string, now time.Time) *model.DueFilter {
	named := model.Map(windows, func(w string) model.DueWindow { return model.DueWindow(w) })
	return model.DueWithin(named, now)
}

// dueBefore parses a date; the empty text is the zero time.
func dueBefore(day string, bad *core.Faults) time.Time {
	if day == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.DateOnly, day)
	if err != nil || t.IsZero() { // the zero time would be no bound
		bad.Add("query.due_before", day, "invalid date: use YYYY-MM-DD")
	}
	return t
}

// maxEpoch limits epoch seconds to years of four digits.
const maxEpoch = 253402300800

// epoch converts epoch seconds to a time. Zero and negative numbers set no bound.
func epoch(seconds float64, location string, bad *core.Faults) time.Time {
	switch {
	case math.IsNaN(seconds) || math.Abs(seconds) >= maxEpoch:
		bad.Add(location, nil, "expected epoch seconds, as 1716878334")
		return time.Time{}
	case seconds <= 0:
		return time.Time{}
	}
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}
