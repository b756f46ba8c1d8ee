package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
)

func (a *assistant) exceptionTools(s *sdk.Server) {
	writer(s, tool{
		"plan_exception", "Plan an exception",
		"Previews an exception for a rule or a vulnerability in some projects without changing anything. Returns a " +
			"confirmation id for confirm_change.",
	}, false, a.planException)
	writer(s, tool{
		"plan_end_of_exception", "Plan the end of an exception",
		"Previews the end of an exception, which reopens its findings, without changing anything. Returns a " +
			"confirmation id for confirm_change.",
	}, false, a.planEnd)
}

type exceptionsInput struct {
	State  string `json:"state,omitempty" jsonschema:"requested, active, refused, withdrawn or ended; all when absent"`
	Kind   string `json:"kind,omitempty" jsonschema:"target (a rule or a vulnerability), findings, or document (VEX); all when absent"`
	Cursor string `json:"cursor,omitempty" jsonschema:"cursor returned with the previous page"`
}

func (a *assistant) listExceptions(ctx context.Context, in exceptionsInput) (*sdk.CallToolResult, error) {
	list, err := a.Client.ListExceptions(ctx, a.Deployment, api.ExceptionsQuery{
		State:  in.State,
		Kind:   in.Kind,
		Cursor: in.Cursor,
		Limit:  pageSize,
	})
	if err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf("%d exceptions.%s", len(list.Exceptions), next(list.Cursor)), list.Exceptions)
}

type exceptionInput struct {
	Target   string   `json:"target" jsonschema:"a rule by its name, or a vulnerability by any of its ids"`
	Reason   string   `json:"reason" jsonschema:"justification of the exception"`
	Projects []string `json:"projects,omitempty" jsonschema:"globs of project names; all projects when absent"`
	Paths    []string `json:"paths,omitempty" jsonschema:"globs of paths as in .gitignore; all paths when absent"`
	Kind     string   `json:"triage_reason,omitempty" jsonschema:"acceptable_risk, false_positive, no_time or no_triage_reason; acceptable_risk when absent"`
	Until    string   `json:"until,omitempty" jsonschema:"last day, such as 2027-01-31; required unless forever is set"`
	Forever  bool     `json:"forever,omitempty" jsonschema:"whether it never expires"`
}

func (a *assistant) planException(ctx context.Context, in exceptionInput) (*sdk.CallToolResult, error) {
	r := api.CreateExceptionRequest{
		Target: in.Target, Reason: in.Reason, Projects: in.Projects, Paths: in.Paths,
		TriageReason: in.Kind, Until: in.Until, Forever: in.Forever, DryRun: true,
	}
	dry, err := a.Client.CreateException(ctx, a.Deployment, r)
	if err != nil {
		return nil, err
	}
	r.DryRun, r.Selection = false, dry.Selection
	effect := api.ExceptionEffect{Changed: dry.Changed, Selection: dry.Selection, FirstFindings: dry.FirstFindings}
	return planOf(ctx, a, dry.Exception, effect, r, (*assistant).sendException)
}

func (a *assistant) sendException(ctx context.Context, r api.CreateExceptionRequest, key string) (any, error) {
	return a.Client.CreateException(ctx, a.Deployment, r, api.WithKey(key))
}

type endInput struct {
	ID int64 `json:"id" jsonschema:"id of the exception"`
}

// plannedEnd is the end of an exception, limited to the findings of its preview.
type plannedEnd struct {
	ID        int64
	Selection string
}

func (a *assistant) planEnd(ctx context.Context, in endInput) (*sdk.CallToolResult, error) {
	e, err := a.Client.GetException(ctx, a.Deployment, in.ID, api.ExceptionQuery{Ending: true})
	if err != nil {
		return nil, err
	}
	if e.Ending == nil {
		return nil, errOldServer
	}
	return planOf(ctx, a, e.Exception, *e.Ending, plannedEnd{in.ID, e.Ending.Selection}, (*assistant).sendEnd)
}

func (a *assistant) sendEnd(ctx context.Context, p plannedEnd, key string) (any, error) {
	return a.Client.DeleteException(ctx, a.Deployment, p.ID, api.DeleteExceptionQuery{
		Selection: p.Selection,
	}, api.WithKey(key))
}

// planOf stores a change of an exception and returns its effect.
func planOf[T any](
	ctx context.Context, a *assistant, e api.Exception, effect api.ExceptionEffect, request T,
	send func(*assistant, context.Context, T, string) (any, error),
) (*sdk.CallToolResult, error) {
	if effect.Selection == "" {
		return nil, errOldServer
	}
	first, err := a.firstOf(ctx, effect.FirstFindings)
	if err != nil {
		return nil, err
	}
	id, err := planRequest(a, request, send)
	if err != nil {
		return nil, err
	}
	return a.planResult(planned{e, effect.Changed, first, id})
}
