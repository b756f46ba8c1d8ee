package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/exemption"
	"github.com/redoubt/redoubt/internal/store"
)

func (c *call) exceptionOf(e redoubt.Exception, ignores int) api.Exception {
	return api.Exception{
		ID: e.ID, Target: e.Target, Paths: orEmpty(e.Paths), Projects: orEmpty(e.Projects), Reason: e.Reason, TriageReason: e.TriageReason.String(),
		Until: timeOrNull(e.Until), Active: e.Active(c.server.Clock()), Ignores: int64(ignores), CreatedAt: api.Time{Time: e.CreatedAt}, CreatedBy: e.CreatedBy,
	}
}

// defaultExceptions is how many exceptions an answer holds when 0 are asked for.
const defaultExceptions = 100

// exceptionsInput is a page of exceptions that is asked for.
type exceptionsInput struct {
	api.ExceptionsQuery
	idPosition
}

// Resolve finds the position in the list.
func (in *exceptionsInput) Resolve(ctx huma.Context) []error {
	return in.find(ctx, "exceptions", callOf(ctx.Context()).caller.Globs(), in.Cursor)
}

func (c *call) listExceptions(ctx context.Context, in *exceptionsInput) (*api.ListExceptionsResponse, error) {
	list, more, err := c.tx.ExceptionPage(ctx, store.ExceptionQuery{Globs: c.caller.Globs(), After: in.after, Limit: cmp.Or(int(in.Limit), defaultExceptions)})
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	ignored, err := c.tx.CountByException(ctx, ids...)
	if err != nil {
		return nil, err
	}
	out := &api.ListExceptionsResponse{Exceptions: make([]api.Exception, len(list))}
	for i, e := range list {
		out.Exceptions[i] = c.exceptionOf(e, ignored[e.ID])
	}
	if more {
		out.Cursor, err = c.server.cursors().encode(in.list, ids[len(ids)-1])
	}
	return out, err
}

// exception finds the one that the path names; one that is not of the token's
// projects alone does not exist for it.
func (c *call) exception(ctx context.Context) (e redoubt.Exception, err error) {
	id, err := c.id("exceptionId")
	if err != nil {
		return e, err
	}
	e, err = c.tx.Exception(ctx, id)
	if err == nil && !e.Within(c.caller.Globs()) {
		err = redoubt.ErrNotFound
	}
	return e, err
}

func (c *call) getException(ctx context.Context, in *api.ExceptionQuery) (*api.ExceptionResponse, error) {
	e, err := c.exception(ctx)
	if err != nil {
		return nil, err
	}
	ignored, err := c.tx.CountByException(ctx, e.ID)
	out := &api.ExceptionResponse{Exception: c.exceptionOf(e, ignored[e.ID])}
	if err != nil || !in.Ending {
		return out, err
	}
	effect, err := exemption.PreviewRemoving(ctx, c.tx, e)
	if err != nil {
		return nil, err
	}
	out.Ending = &api.ExceptionEffect{Changed: int64(len(effect)), Selection: effect.Selection()}
	out.Ending.FirstFindings, err = c.firstChanged(ctx, effect)
	return out, err
}

// firstTold is how many of the findings that change are named.
const firstTold = 10

// firstChanged names the first findings of what changes, each by its first
// occurrence.
func (c *call) firstChanged(ctx context.Context, effect exemption.Effect) ([]int64, error) {
	view, err := c.findings(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]int64, 0, firstTold)
	for _, event := range effect[:min(len(effect), firstTold)] {
		for _, t := range []redoubt.IssueType{redoubt.SAST, redoubt.SCA, redoubt.Secrets} {
			ids, err := view.Occurrences(ctx, t, []int64{event.LineageID})
			if err != nil {
				return nil, err
			}
			out = append(out, ids[:min(len(ids), 1)]...)
		}
	}
	slices.Sort(out)
	return out, nil
}

// exceptionInput is a new exception.
type exceptionInput struct {
	Body      api.CreateExceptionRequest
	exception redoubt.Exception
}

// Resolve checks what the schema cannot.
func (in *exceptionInput) Resolve(ctx huma.Context) []error {
	bad := faults(copies(ctx, &in.Body))
	if undecoded(ctx, &in.Body) {
		return bad
	}
	b := &in.Body
	in.exception = redoubt.Exception{Target: b.Target, Paths: b.Paths, Projects: b.Projects, Reason: b.Reason}
	in.exception.TriageReason, _ = redoubt.ParseTriageReason(cmp.Or(b.TriageReason, redoubt.AcceptableRisk.String()))
	switch {
	case b.Forever == (b.Until != ""):
		bad.add("body.until", nil, "say until when, or forever, and not both")
	case b.Until != "":
		var err error
		if in.exception.Until, err = redoubt.ParseUntil(b.Until); err != nil {
			bad.add("body.until", b.Until, err.Error())
		}
	}
	bad.addInvalid(inBody(in.exception.Check(callOf(ctx.Context()).server.Clock())))
	return bad
}

// errTried ends a transaction of which nothing is to be kept.
var errTried = errors.New("it was only tried")

// createException makes an exception, or tells what one would change: that is
// made too, so that all counts as it would, and rolled back.
func (c *call) createException(ctx context.Context, in *exceptionInput) (out *api.ExceptionChangeResponse, err error) {
	if !in.Body.DryRun {
		return runIdempotent(ctx, c, func(ctx context.Context) (*api.ExceptionChangeResponse, error) { return c.addException(ctx, in) })
	}
	err = c.update(ctx, func(ctx context.Context) (err error) {
		if out, err = c.addException(ctx, in); err != nil {
			return err
		}
		return errTried
	})
	if !errors.Is(err, errTried) {
		return nil, err
	}
	out.Exception.ID = 0
	return out, nil
}

func (c *call) addException(ctx context.Context, in *exceptionInput) (*api.ExceptionChangeResponse, error) {
	if !in.exception.Within(c.caller.Globs()) {
		return nil, redoubt.ErrNotFound
	}
	e, changed, err := exemption.AddException(ctx, c.tx, in.exception)
	if err != nil {
		return nil, err
	}
	if err := asTold(in.Body.Selection, changed); err != nil {
		return nil, err
	}
	ignored, err := c.tx.CountByException(ctx, e.ID)
	out := &api.ExceptionChangeResponse{Exception: c.exceptionOf(e, ignored[e.ID]), Changed: int64(len(changed))}
	if err == nil && in.Body.DryRun {
		out.Selection = changed.Selection()
		out.FirstFindings, err = c.firstChanged(ctx, changed)
	}
	return out, err
}

// asTold refuses what changes other findings than somebody was told, or what was
// decided about otherwise. The transaction is lost with it.
func asTold(selection string, changed exemption.Effect) error {
	if selection == "" || selection == changed.Selection() {
		return nil
	}
	return fmt.Errorf("other findings would change by now than it was said, or something was decided about them since: %w", redoubt.ErrConflict)
}

func (c *call) deleteException(ctx context.Context, in *api.DeleteExceptionQuery) (*api.ExceptionChangeResponse, error) {
	e, err := c.exception(ctx)
	if err != nil {
		return nil, err
	}
	e, changed, err := exemption.RemoveException(ctx, c.tx, e.ID)
	if err == nil {
		err = asTold(in.Selection, changed)
	}
	return &api.ExceptionChangeResponse{Exception: c.exceptionOf(e, 0), Changed: int64(len(changed))}, err
}
