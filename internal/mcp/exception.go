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
		"Tells what accepting a rule or a vulnerability in some projects would change, and changes nothing. Answers a confirmation id for confirm_change.",
	}, false, a.planException)
	writer(s, tool{
		"plan_end_of_exception", "Plan the end of an exception",
		"Tells which exception would end, and changes nothing. What it ignores is reopened. Answers a confirmation id for confirm_change.",
	}, false, a.planEnd)
}

type exceptionsInput struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"cursor of the page before"`
}

func (a *assistant) listExceptions(ctx context.Context, in exceptionsInput) (*sdk.CallToolResult, error) {
	list, err := a.Client.ListExceptions(ctx, a.Deployment, api.ExceptionsQuery{Cursor: in.Cursor, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf("%d exceptions.%s", len(list.Exceptions), next(list.Cursor)), list.Exceptions)
}

type exceptionInput struct {
	Target   string   `json:"target" jsonschema:"a rule by its name, or a vulnerability by any of its ids"`
	Reason   string   `json:"reason" jsonschema:"why it is accepted, for people"`
	Projects []string `json:"projects,omitempty" jsonschema:"globs of project names; every project when absent"`
	Paths    []string `json:"paths,omitempty" jsonschema:"globs of paths as in .gitignore; every path when absent"`
	Kind     string   `json:"triage_reason,omitempty" jsonschema:"acceptable_risk, false_positive, no_time or no_triage_reason; acceptable_risk when absent"`
	Until    string   `json:"until,omitempty" jsonschema:"last day of it, as 2027-01-31; it or forever is needed"`
	Forever  bool     `json:"forever,omitempty" jsonschema:"without an end"`
}

func (a *assistant) planException(ctx context.Context, in exceptionInput) (*sdk.CallToolResult, error) {
	r := api.CreateExceptionRequest{
		Target: in.Target, Reason: in.Reason, Projects: in.Projects, Paths: in.Paths, TriageReason: in.Kind, Until: in.Until, Forever: in.Forever, DryRun: true,
	}
	dry, err := a.Client.CreateException(ctx, a.Deployment, r)
	if err != nil {
		return nil, err
	}
	r.DryRun, r.IfChanges = false, &dry.Changed
	id, err := a.Changes.plan(a.Caller, func(ctx context.Context, key string) (string, any, error) {
		made, err := a.Client.CreateException(ctx, a.Deployment, r, api.WithKey(key))
		return "Done.", made, err
	})
	if err != nil {
		return nil, err
	}
	return a.tellPlan(planned{Change: dry.Exception, Count: dry.Changed, Confirm: id})
}

type endInput struct {
	ID int64 `json:"id" jsonschema:"id of the exception"`
}

func (a *assistant) planEnd(ctx context.Context, in endInput) (*sdk.CallToolResult, error) {
	e, err := a.Client.GetException(ctx, a.Deployment, in.ID)
	if err != nil {
		return nil, err
	}
	ignores := e.Exception.Ignores
	id, err := a.Changes.plan(a.Caller, func(ctx context.Context, key string) (string, any, error) {
		now, err := a.Client.GetException(ctx, a.Deployment, in.ID)
		if err != nil {
			return "", nil, err
		}
		if now.Exception.Ignores != ignores {
			return "", nil, fmt.Errorf("the exception ignores %d findings by now, and not %d as it was said: plan it again", now.Exception.Ignores, ignores)
		}
		ended, err := a.Client.DeleteException(ctx, a.Deployment, in.ID, api.WithKey(key))
		return "Done.", ended, err
	})
	if err != nil {
		return nil, err
	}
	return a.tellPlan(planned{Change: e.Exception, Count: ignores, Confirm: id})
}
