package server

import (
	"cmp"
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

// defaultExceptionRequests is how many requests an answer holds when 0 are asked for.
const defaultExceptionRequests = 100

// exceptionRequestsInput is a page of requests that is asked for.
type exceptionRequestsInput struct {
	api.ExceptionRequestsQuery
	idPosition
}

// Resolve finds the position in the list.
func (in *exceptionRequestsInput) Resolve(ctx huma.Context) []error {
	caller := callOf(ctx.Context()).caller
	filter := struct {
		Globs redoubt.ProjectGlobs
		State string
		User  int64
	}{caller.Globs(), in.State, 0}
	if in.Mine {
		filter.User = caller.Token.UserID
	}
	return in.find(ctx, "exception-requests", filter, in.Cursor)
}

func (c *call) listExceptionRequests(ctx context.Context, in *exceptionRequestsInput) (*api.ListExceptionRequestsResponse, error) {
	q := store.ExceptionRequestQuery{Globs: c.caller.Globs(), Before: in.after, Limit: cmp.Or(int(in.Limit), defaultExceptionRequests)}
	q.State, _ = redoubt.ParseExceptionRequestState(in.State)
	out := &api.ListExceptionRequestsResponse{Requests: []api.ExceptionRequest{}}
	if in.Mine {
		if q.AskerID = c.caller.Token.UserID; q.AskerID == 0 {
			return out, nil
		}
	}
	list, more, err := c.tx.ExceptionRequests(ctx, q)
	if err != nil {
		return nil, err
	}
	if out.Requests, err = c.exceptionRequestsOf(ctx, list); err == nil && more {
		out.Cursor, err = c.server.cursors().encode(in.list, list[len(list)-1].ID)
	}
	return out, err
}

func (c *call) exceptionRequestsOf(ctx context.Context, list []redoubt.ExceptionRequest) ([]api.ExceptionRequest, error) {
	shown, err := c.tx.FindingsOfRequests(ctx, list)
	if err != nil {
		return nil, err
	}
	projects := make([]int64, len(list))
	for i, r := range list {
		projects[i] = r.ProjectID
	}
	names, err := c.tx.ProjectNames(ctx, projects)
	out := make([]api.ExceptionRequest, len(list))
	for i, r := range list {
		out[i] = api.ExceptionRequest{
			ID: r.ID, State: r.State.String(), ProjectID: api.Int(r.ProjectID), Project: names[r.ProjectID], IssueIDs: []int64{}, Reason: r.Reason, TriageReason: r.TriageReason.String(),
			Until: timeOrNull(r.Until), AskedAt: api.Time{Time: r.AskedAt}, AskedBy: r.AskedBy.String(), DecidedAt: timeOrNull(r.DecidedAt), DecidedBy: r.DecidedBy.String(),
			Answer: r.Answer, GrantedUntil: timeOrNull(r.Granted),
		}
		for _, lineage := range r.Lineages {
			if id := shown[lineage]; id != 0 {
				out[i].IssueIDs = append(out[i].IssueIDs, id)
			}
		}
	}
	return out, err
}

// exceptionRequest finds the one that the path names; one about a project that the token's
// globs leave out does not exist for it.
func (c *call) exceptionRequest(ctx context.Context) (r redoubt.ExceptionRequest, err error) {
	id, err := c.id("exceptionRequestId")
	if err != nil {
		return r, err
	}
	if r, err = c.tx.ExceptionRequest(ctx, id); err != nil {
		return r, err
	}
	_, err = c.seen(c.tx.Project(ctx, r.ProjectID))
	return r, err
}

func (c *call) exceptionRequestResponse(ctx context.Context, r redoubt.ExceptionRequest, changed int) (*api.ExceptionRequestResponse, error) {
	list, err := c.exceptionRequestsOf(ctx, []redoubt.ExceptionRequest{r})
	if err != nil {
		return nil, err
	}
	return &api.ExceptionRequestResponse{Request: list[0], Changed: int64(changed)}, nil
}

func (c *call) getExceptionRequest(ctx context.Context, _ *none) (*api.ExceptionRequestResponse, error) {
	r, err := c.exceptionRequest(ctx)
	if err != nil {
		return nil, err
	}
	return c.exceptionRequestResponse(ctx, r, 0)
}

func (c *call) askException(ctx context.Context, in *request[api.AskExceptionRequest]) (*api.ExceptionRequestResponse, error) {
	b := &in.Body
	r := redoubt.ExceptionRequest{Reason: b.Reason, AskerID: c.caller.Token.UserID}
	r.TriageReason, _ = redoubt.ParseTriageReason(cmp.Or(b.TriageReason, redoubt.AcceptableRisk.String()))
	var err error
	if r.Until, err = redoubt.RequestEnd(b.Until); err != nil {
		return nil, inBody(err)
	}
	findings, err := c.allFindings(ctx, b.IssueIDs)
	if err != nil {
		return nil, err
	}
	if r, err = triage.Ask(ctx, c.tx, r, findings); err != nil {
		return nil, inBody(err)
	}
	return c.exceptionRequestResponse(ctx, r, 0)
}

func (c *call) approveException(ctx context.Context, in *request[api.ApproveExceptionRequest]) (*api.ExceptionRequestResponse, error) {
	r, err := c.exceptionRequest(ctx)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	until, err := redoubt.RequestEnd(b.Until)
	switch {
	case err != nil:
		return nil, inBody(err)
	case b.Forever && b.Until != "":
		return nil, redoubt.Invalid("body.until", "say until when, or forever, and not both")
	case !b.Forever && b.Until == "":
		if until = r.Until; until.IsZero() {
			return nil, redoubt.Invalid("body.until", "say until when, or forever: the request wishes no end")
		}
	}
	r, changed, err := triage.Approve(ctx, c.tx, r.ID, until, b.Answer)
	if err != nil {
		return nil, inBody(err)
	}
	return c.exceptionRequestResponse(ctx, r, changed)
}

func (c *call) refuseException(ctx context.Context, in *request[api.RefuseExceptionRequest]) (*api.ExceptionRequestResponse, error) {
	r, err := c.exceptionRequest(ctx)
	if err == nil {
		r, err = triage.Refuse(ctx, c.tx, r.ID, in.Body.Answer)
	}
	if err != nil {
		return nil, inBody(err)
	}
	return c.exceptionRequestResponse(ctx, r, 0)
}

func (c *call) withdrawException(ctx context.Context, _ *none) (*api.ExceptionRequestResponse, error) {
	r, err := c.exceptionRequest(ctx)
	if err == nil {
		r, err = triage.Withdraw(ctx, c.tx, r.ID, c.caller.Token.UserID)
	}
	if err != nil {
		return nil, err
	}
	return c.exceptionRequestResponse(ctx, r, 0)
}
