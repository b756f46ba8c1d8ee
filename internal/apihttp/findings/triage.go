package findings

import (
	"context"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/triage"
)

// triageInput is a bulk triage, with the request for package triage.
type triageInput struct {
	Body    api.TriageRequest
	request triage.Request
}

// Resolve converts the body to a request. Package triage validates it, except for filters of
// another issue type, which only this package can detect.
func (in *triageInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	if core.Undecoded(ctx, &in.Body) {
		return bad
	}
	b := &in.Body
	f := &b.TriageFilter
	if b.IssueType != "" {
		refuseTied("body.", b.IssueType, tiedFilters(f), &bad)
	}
	selection := selectionOf(f, &bad)
	in.request = triage.Request{
		Limit: int(b.Limit), Note: b.NewNote, HasFilter: hasFilter(f),
		Filter: selectedBy(&selection, "body.", core.CallOf(ctx.Context()).Server.Clock(), &bad),
	}
	in.request.State, _ = model.ParseTriageState(b.NewTriageState)
	in.request.Reason, _ = model.ParseTriageReason(b.NewTriageReason)
	in.request.Assign, in.request.DryRun, in.request.Selection = b.NewAssignee, b.DryRun, b.Selection
	if b.NewTriageUntil != "" {
		var ok bool
		in.request.Until, ok = model.EndOfDay(b.NewTriageUntil)
		if !ok {
			bad.Add("body.new_triage_until", b.NewTriageUntil, "invalid date: use 0001-01-01 to 9999-12-30")
		}
	}
	in.request.Filter.IssueType, _ = model.ParseIssueType(b.IssueType)
	in.request.Filter.Visible = core.CallOf(ctx.Context()).Caller.Globs()
	in.request.Filter.HasIDs = b.IssueIDs != nil
	for _, id := range b.IssueIDs {
		in.request.Filter.IDs = append(in.request.Filter.IDs, int64(id))
	}
	bad.AddInvalid(in.request.Check())
	return bad
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
			{"include_historical", f.IncludeHistorical != nil && !*f.IncludeHistorical}, // true is the default
			{"repository_visibility", len(f.RepositoryVisibility) > 0},
			{"secret_types", len(f.SecretTypes) > 0},
			{"validation_state", len(f.ValidationState) > 0},
		}},
	}
}

// hasFilter reports whether the filter restricts the selection. Empty members and defaults do not.
// Any time does, even 0 (docs/reference/triage.md).
func hasFilter(f *api.TriageFilter) bool {
	lists := [][]string{
		f.Assignees, f.Categories, f.ComponentTags, f.Dependencies, f.Due,
		f.EPSSProbability, f.Exposures, f.Policies, f.PolicyMode, f.ProjectTags,
		f.Repos, f.RepositoryVisibility, f.Rules, f.Ruleset, f.SecretTypes,
		f.Severities, f.Transitivities, f.TriageReasons, f.ValidationState,
	}
	for _, list := range lists {
		if len(list) > 0 {
			return true
		}
	}
	return f.AutotriageVerdict != "" || len(f.Confidence) > 0 || len(f.Status) > 0 || core.RefFilter(f.Ref) != "" ||
		f.ProOnly != nil || f.IncludeHistorical != nil && !*f.IncludeHistorical || f.Since != ""
}

// selectionOf converts the filters of a bulk triage to those of the other operations.
func selectionOf(f *api.TriageFilter, bad *core.Faults) api.FindingsSelection {
	out := api.FindingsSelection{
		Ref: f.Ref, Repos: f.Repos, Status: texts(f.Status), TriageReasons: f.TriageReasons,
		Severities: f.Severities, Confidence: texts(f.Confidence),
		Policies: f.Policies, Rules: f.Rules, Categories: f.Categories,
		AutotriageVerdict: f.AutotriageVerdict, ComponentTags: f.ComponentTags,
		Exposures: f.Exposures, Transitivities: f.Transitivities, Assignees: f.Assignees, Due: f.Due,
		SecretTypes: f.SecretTypes, ValidationState: f.ValidationState, IncludeHistorical: optional(f.IncludeHistorical),
		FurtherFilters: api.FurtherFilters{
			ProjectTags: f.ProjectTags, RepositoryVisibility: f.RepositoryVisibility,
			PolicyMode: f.PolicyMode, Ruleset: f.Ruleset,
			ProOnly: optional(f.ProOnly), Dependencies: f.Dependencies, EPSSProbability: f.EPSSProbability,
		},
	}
	if f.Since != "" {
		var err error
		if out.Since, err = strconv.ParseFloat(string(f.Since), 64); err != nil {
			bad.Add("body.since", string(f.Since), "expected epoch seconds, as 1716878334")
			out.Since = 0
		}
	}
	return out
}

func texts[T ~string](words []T) []string {
	var out []string
	for _, word := range words {
		out = append(out, string(word))
	}
	return out
}

func optional(value *bool) api.Optional[bool] {
	if value == nil {
		return api.Optional[bool]{}
	}
	return api.Optional[bool]{Set: true, Value: *value}
}

// triageFindings triages findings in one transaction. The index is as new as the newest commit, and
// the transaction locks the deployment, so the selection matches the stored state.
func triageFindings(ctx context.Context, c *core.Call, in *triageInput) (*api.TriageResponse, error) {
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	result, err := triage.Apply(ctx, c.Tx, view, in.request)
	if err != nil {
		return nil, err
	}
	out := &api.TriageResponse{NumTriaged: int64(len(result.IDs)), TriagedIssues: result.IDs}
	if in.request.DryRun {
		out.Selection = result.Selection
	}
	return out, nil
}
