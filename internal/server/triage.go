package server

import (
	"context"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/triage"
)

// triageInput is a bulk triage, and the request that it means.
type triageInput struct {
	Body    api.TriageRequest
	request triage.Request
}

// Resolve turns the body into a request to package triage, whose rules it
// leaves to that, but for what the wire alone can tell: filters of another
// issue type.
func (in *triageInput) Resolve(ctx huma.Context) []error {
	bad := faults(copies(ctx, &in.Body))
	b := &in.Body
	f := &b.TriageFilter
	if b.IssueType != "" {
		refuseTied("body.", b.IssueType, tiedFilters(f), &bad)
	}
	in.request = triage.Request{Limit: int(b.Limit), Note: b.NewNote, HasFilter: hasFilter(f), Filter: triageFilter(f, callOf(ctx.Context()).server.Clock(), &bad)}
	in.request.State, _ = redoubt.ParseTriageState(b.NewTriageState)
	in.request.Reason, _ = redoubt.ParseTriageReason(b.NewTriageReason)
	in.request.Assign, in.request.DryRun, in.request.Selection = b.NewAssignee, b.DryRun, b.Selection
	if b.NewTriageUntil != "" { // what is no day the schema says
		in.request.Until, _ = redoubt.EndOfDay(b.NewTriageUntil)
	}
	in.request.Filter.IssueType, _ = redoubt.ParseIssueType(b.IssueType)
	in.request.Filter.Visible = callOf(ctx.Context()).caller.Globs()
	in.request.Filter.HasIDs = b.IssueIDs != nil
	for _, id := range b.IssueIDs {
		in.request.Filter.IDs = append(in.request.Filter.IDs, int64(id))
	}
	bad.addInvalid(in.request.Check(), in.saidBySchema)
	return bad
}

// saidBySchema reports whether a fault that package triage finds is one that
// the schema of the body finds too.
func (in *triageInput) saidBySchema(location string) bool {
	switch location {
	case "body.issue_type", "body.limit", "body.new_note":
		return true
	case "body.new_triage_state":
		return in.Body.NewTriageState != ""
	}
	return false
}

func tiedFilters(f *api.TriageFilter) []tied {
	return []tied{
		{"sast", []member{{"pro_only", f.ProOnly != nil}}},
		{"sca", []member{
			{"dependencies", len(f.Dependencies) > 0},
			{"epss_probability", len(f.EPSSProbability) > 0},
			{"exposures", len(f.Exposures) > 0},
			{"transitivities", len(f.Transitivities) > 0},
		}},
		{"secrets", []member{
			{"include_historical", f.IncludeHistorical != nil && !*f.IncludeHistorical}, // true is what holds anyway
			{"repository_visibility", len(f.RepositoryVisibility) > 0},
			{"secret_types", len(f.SecretTypes) > 0},
			{"validation_state", len(f.ValidationState) > 0},
		}},
	}
}

// hasFilter reports whether anything selects findings: what is empty, or asks
// for what is the case anyway, does not. A time does, whatever it is: who sends
// one has said since when (semantics §6).
func hasFilter(f *api.TriageFilter) bool {
	lists := [][]string{
		f.Assignees, f.Categories, f.ComponentTags, f.Dependencies, f.Due, f.EPSSProbability, f.Exposures, f.Policies, f.PolicyMode, f.ProjectTags,
		f.Repos, f.RepositoryVisibility, f.Rules, f.Ruleset, f.SecretTypes, f.Severities, f.Transitivities, f.TriageReasons, f.ValidationState,
	}
	for _, list := range lists {
		if len(list) > 0 {
			return true
		}
	}
	return f.AutotriageVerdict != "" || len(f.Confidence) > 0 || len(f.Status) > 0 || refFilter(f.Ref) != "" ||
		f.ProOnly != nil || f.IncludeHistorical != nil && !*f.IncludeHistorical || f.Since != ""
}

func triageFilter(f *api.TriageFilter, now time.Time, bad *faults) redoubt.FindingFilter {
	out := redoubt.FindingFilter{
		Ref:            refFilter(f.Ref),
		Projects:       f.Repos,
		ProjectTags:    f.ProjectTags,
		Visibilities:   parsed(f.RepositoryVisibility, redoubt.ParseVisibility),
		Statuses:       parsed(f.Status, redoubt.ParseStatus),
		TriageReasons:  parsed(f.TriageReasons, redoubt.ParseTriageReason),
		Severities:     parsed(f.Severities, redoubt.ParseSeverity),
		Confidences:    parsed(f.Confidence, redoubt.ParseConfidence),
		Modes:          modes(f, bad),
		Rules:          f.Rules,
		Rulesets:       f.Ruleset,
		Categories:     f.Categories,
		Verdicts:       parsed(single(f.AutotriageVerdict), redoubt.ParseVerdict),
		ComponentTags:  f.ComponentTags,
		Reachabilities: parsed(f.Exposures, redoubt.ParseReachability),
		Transitivities: parsed(f.Transitivities, redoubt.ParseTransitivity),
		Packages:       f.Dependencies,
		EPSS:           parsed(f.EPSSProbability, redoubt.ParseEPSSBand),
		ProOnly:        f.ProOnly,
		Assignees:      f.Assignees,
		Due:            dueFilter(f.Due, now),
		SecretTypes:    f.SecretTypes,

		ExcludeHistoric:  f.IncludeHistorical != nil && !*f.IncludeHistorical,
		ValidationStates: parsed(f.ValidationState, redoubt.ParseValidationState),
	}
	if f.Since != "" {
		seconds, err := strconv.ParseFloat(string(f.Since), 64)
		if err != nil {
			bad.add("body.since", string(f.Since), "expected epoch seconds, as 1716878334")
		} else {
			out.Since = epoch(seconds, "body.since", bad)
		}
	}
	return out
}

// modes are those that both spellings of the filter accept. Two that have none
// in common would select nothing, which nobody means.
func modes(f *api.TriageFilter, bad *faults) []redoubt.PolicyMode {
	boards, named := parsed(f.Policies, redoubt.ParseRuleBoard), parsed(f.PolicyMode, redoubt.ParsePolicyMode)
	if len(boards) == 0 || len(named) == 0 {
		return append(boards, named...)
	}
	var both []redoubt.PolicyMode
	for _, mode := range boards {
		for _, other := range named {
			if mode == other {
				both = append(both, mode)
			}
		}
	}
	if len(both) == 0 {
		bad.add("body.policy_mode", nil, "has no mode in common with policies, so nothing can match both")
	}
	return both
}

// triageFindings decides in one transaction. The index is as new as the newest
// commit, and the transaction holds the deployment, so what it selects is what
// is stored.
func (c *call) triageFindings(ctx context.Context, in *triageInput) (*api.TriageResponse, error) {
	view, err := c.findings(ctx)
	if err != nil {
		return nil, err
	}
	result, err := triage.Apply(ctx, c.tx, view, in.request)
	if err != nil {
		return nil, err
	}
	out := &api.TriageResponse{NumTriaged: int64(len(result.IDs)), TriagedIssues: result.IDs}
	if in.request.DryRun {
		out.Selection = result.Selection
	}
	return out, nil
}
