package mcp

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// firstShown limits the listed findings of a change.
const firstShown = 10

func (a *assistant) triageTools(s *sdk.Server) {
	writer(s, tool{
		"plan_triage", "Plan a triage",
		"Previews a triage decision without changing anything. Returns the number of findings, the first of them, " +
			"and a confirmation id for confirm_change. Select findings by ids or by a filter, and set a state, a note or " +
			"an assignee.",
	}, false, a.planTriage)
	writer(s, tool{
		"confirm_change", "Confirm a planned change",
		"Applies exactly the change that a plan_… tool previewed, once, or nothing if the findings have changed " +
			"since. Call it only after the user has agreed.",
	}, true, a.confirm)
}

type triageInput struct {
	IssueType  string   `json:"issue_type" jsonschema:"sast, sca or secrets"`
	IDs        []int64  `json:"ids,omitempty" jsonschema:"ids of the findings; combined with a filter, findings must match both"`
	Projects   []string `json:"projects,omitempty" jsonschema:"findings of these projects"`
	Rules      []string `json:"rules,omitempty" jsonschema:"findings of these rules"`
	Severities []string `json:"severities,omitempty" jsonschema:"findings of these severities"`
	Status     []string `json:"status,omitempty" jsonschema:"findings with these statuses"`
	Packages   []string `json:"packages,omitempty" jsonschema:"findings in these packages; sca only"`
	Limit      int64    `json:"limit,omitempty" jsonschema:"maximum number of findings, newest first; 3000 when absent"`

	State    string  `json:"state,omitempty" jsonschema:"ignored, reviewing, fixing or reopened"`
	Reason   string  `json:"reason,omitempty" jsonschema:"acceptable_risk, false_positive, no_time or no_triage_reason; only with ignored"`
	Note     string  `json:"note,omitempty" jsonschema:"justification, shown to users"`
	Until    string  `json:"until,omitempty" jsonschema:"last day of the decision, such as 2027-01-31; the findings are reopened afterwards"`
	Assignee *string `json:"assignee,omitempty" jsonschema:"name of the new assignee; empty to unassign"`
}

func (in triageInput) request() api.TriageRequest {
	r := api.TriageRequest{
		IssueType: in.IssueType, Limit: in.Limit, NewTriageState: in.State, NewTriageReason: in.Reason,
		NewNote: in.Note, NewTriageUntil: in.Until, NewAssignee: in.Assignee,
		TriageFilter: api.TriageFilter{
			Repos: in.Projects, Rules: in.Rules, Severities: in.Severities, Dependencies: in.Packages,
		},
	}
	for _, id := range in.IDs {
		r.IssueIDs = append(r.IssueIDs, api.Int(id))
	}
	for _, s := range in.Status {
		r.Status = append(r.Status, api.Status(s))
	}
	return r
}

// emptyList returns an error if the input has an empty list. It selects nothing, but a request
// would omit it and select everything.
func (in triageInput) emptyList() error {
	var bad model.InvalidError
	check := func(name string, present bool, items int) {
		if present && items == 0 {
			bad.Fields = append(bad.Fields, model.FieldError{
				Location: name,
				Message:  "is empty: list at least one item, or omit it",
			})
		}
	}
	check("ids", in.IDs != nil, len(in.IDs))
	check("projects", in.Projects != nil, len(in.Projects))
	check("rules", in.Rules != nil, len(in.Rules))
	check("severities", in.Severities != nil, len(in.Severities))
	check("status", in.Status != nil, len(in.Status))
	check("packages", in.Packages != nil, len(in.Packages))
	if len(bad.Fields) > 0 {
		return &bad
	}
	return nil
}

// planned is the result of a plan.
type planned struct {
	Change  any           `json:"change"`
	Count   int64         `json:"findings"`
	First   []findingLine `json:"first,omitempty"`
	Confirm string        `json:"confirmation_id"`
}

// errOldServer is the error of a server that does not support plans.
var errOldServer = errors.New(
	"the server is older than this program and cannot confirm previewed changes: update it",
)

func (a *assistant) planTriage(ctx context.Context, in triageInput) (*sdk.CallToolResult, error) {
	if err := in.emptyList(); err != nil {
		return nil, err
	}
	r := in.request()
	r.DryRun = true
	dry, err := a.Client.TriageFindings(ctx, a.Deployment, r)
	if err != nil {
		return nil, err
	}
	if dry.NumTriaged == 0 {
		return answer("No findings match: there is nothing to plan.", in)
	}
	r.DryRun, r.Selection = false, dry.Selection
	if r.Selection == "" {
		return nil, errOldServer
	}
	first, err := a.firstOf(ctx, dry.TriagedIssues)
	if err != nil {
		return nil, err
	}
	id, err := planRequest(a, r, (*assistant).sendTriage)
	if err != nil {
		return nil, err
	}
	return a.planResult(planned{in, dry.NumTriaged, first, id})
}

func (a *assistant) sendTriage(ctx context.Context, r api.TriageRequest, key string) (any, error) {
	return a.Client.TriageFindings(ctx, a.Deployment, r, api.WithKey(key))
}

// planResult returns the result of a plan, with the effect of its confirmation.
func (a *assistant) planResult(p planned) (*sdk.CallToolResult, error) {
	text := fmt.Sprintf("Nothing has changed yet. %d findings would change, on all their branches. Show this to the "+
		"user. If the user agrees, call confirm_change with confirmation_id %s within 10 minutes. It applies exactly "+
		"this change, or nothing if the findings have changed by then.", p.Count, p.Confirm)
	return answer(text, p)
}

// firstOf returns the first of some findings. Deleted findings are omitted; the confirmation
// detects them.
func (a *assistant) firstOf(ctx context.Context, ids []int64) (out []findingLine, err error) {
	for _, id := range ids[:min(len(ids), firstShown)] {
		found, err := a.Client.GetFinding(ctx, a.Deployment, id)
		var p *api.Problem
		if errors.As(err, &p) && p.Code == api.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, lineOf(found.Finding.FindingCore))
	}
	return out, nil
}

type confirmInput struct {
	ID string `json:"confirmation_id" jsonschema:"confirmation id returned by a plan_… tool"`
}

func (a *assistant) confirm(ctx context.Context, in confirmInput) (*sdk.CallToolResult, error) {
	p, err := a.Changes.remove(a, in.ID)
	if err != nil {
		return nil, err
	}
	data, err := p.send(ctx, a, p.request, in.ID)
	if err != nil {
		return nil, err
	}
	return answer("Done.", data)
}
