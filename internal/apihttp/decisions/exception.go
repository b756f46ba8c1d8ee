package decisions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// exceptionsOf converts exceptions, with the number of ignored findings and the findings they list.
func exceptionsOf(ctx context.Context, c *core.Call, list []model.Exception) ([]api.Exception, error) {
	projects := make([]int64, 0, len(list))
	for _, e := range list {
		if e.ProjectID != 0 {
			projects = append(projects, e.ProjectID)
		}
	}
	ignored, err := c.Tx.CountByException(ctx, list...)
	if err != nil {
		return nil, err
	}
	shown, err := c.Tx.FindingsOfExceptions(ctx, list)
	if err != nil {
		return nil, err
	}
	names, err := c.Tx.ProjectNames(ctx, projects)
	out := make([]api.Exception, len(list))
	for i, e := range list {
		out[i] = api.Exception{
			ID: e.ID, State: e.StateAt(c.Server.Clock()).String(), Kind: e.Kind().String(), Target: e.Target,
			Document: vexDocumentOf(e), Paths: core.OrEmpty(e.Paths), Projects: core.OrEmpty(e.Projects), Reason: e.Reason,
			ProjectID: api.Int(e.ProjectID), Project: names[e.ProjectID],
			TriageReason: e.TriageReason.String(), Until: core.TimeOrNull(e.Until), Ignores: int64(ignored[e.ID]),
			CreatedAt: api.Time{Time: e.CreatedAt}, CreatedBy: e.CreatedBy.String(),
			DecidedAt: core.TimeOrNull(e.DecidedAt), DecidedBy: e.DecidedBy.String(), Answer: e.Answer,
		}
		if e.Document != nil {
			out[i].Target = "" // the name is part of the document
		}
		for _, lineage := range e.Lineages {
			if id := shown[lineage]; id != 0 {
				out[i].IssueIDs = append(out[i].IssueIDs, id)
			}
		}
	}
	return out, err
}

func exceptionOf(ctx context.Context, c *core.Call, e model.Exception) (api.Exception, error) {
	list, err := exceptionsOf(ctx, c, []model.Exception{e})
	if err != nil {
		return api.Exception{}, err
	}
	return list[0], nil
}

// effectOf returns the response with an exception and the number of changed findings.
func effectOf(
	ctx context.Context, c *core.Call, e model.Exception, changed exceptions.Effect,
) (*api.ExceptionChangeResponse, error) {
	shown, err := exceptionOf(ctx, c, e)
	return &api.ExceptionChangeResponse{Exception: shown, Changed: int64(len(changed))}, err
}

// defaultExceptions is the default number of exceptions in a response.
const defaultExceptions = 100

// exceptionsInput is the query for a page of exceptions.
type exceptionsInput struct {
	api.ExceptionsQuery
	core.IDPosition
}

// Resolve decodes the cursor.
func (in *exceptionsInput) Resolve(ctx huma.Context) []error {
	caller := core.CallOf(ctx.Context()).Caller
	filter := struct {
		Globs model.ProjectGlobs
		State string
		Kind  string
		User  int64
	}{caller.Globs(), in.State, in.Kind, 0}
	if in.Mine {
		filter.User = caller.Token.UserID
	}
	return in.Find(ctx, "exceptions", filter, in.Cursor)
}

func listExceptions(ctx context.Context, c *core.Call, in *exceptionsInput) (*api.ListExceptionsResponse, error) {
	q := store.ExceptionQuery{Globs: c.Caller.Globs(), Before: in.After, Limit: cmp.Or(int(in.Limit), defaultExceptions)}
	q.State, _ = model.ParseExceptionState(in.State)
	q.Kind, _ = model.ParseExceptionKind(in.Kind)
	out := &api.ListExceptionsResponse{Exceptions: []api.Exception{}}
	if in.Mine {
		if q.CreatorID = c.Caller.Token.UserID; q.CreatorID == 0 {
			return out, nil
		}
	}
	list, more, err := c.Tx.ExceptionPage(ctx, q)
	if err != nil {
		return nil, err
	}
	if out.Exceptions, err = exceptionsOf(ctx, c, list); err == nil {
		err = review(ctx, c, list, out.Exceptions)
	}
	if err == nil && more {
		out.Cursor, err = c.Server.Cursors().Encode(in.List, list[len(list)-1].ID)
	}
	return out, err
}

// exception returns the exception of the path. It returns model.ErrNotFound if the exception covers
// projects that are not visible to the token.
func exception(ctx context.Context, c *core.Call) (e model.Exception, err error) {
	id, err := c.ID("exceptionId")
	if err != nil {
		return e, err
	}
	e, err = c.Tx.Exception(ctx, id)
	switch {
	case err != nil:
	case e.ProjectID != 0:
		_, err = c.VisibleProject(c.Tx.Project(ctx, e.ProjectID))
	case !e.Within(c.Caller.Globs()):
		err = model.ErrNotFound
	}
	return e, err
}

// exceptionQueryInput is the query for one exception.
type exceptionQueryInput struct {
	api.ExceptionQuery
	core.IDPosition // position of a statement
}

// Resolve decodes the cursor of the statements.
func (in *exceptionQueryInput) Resolve(ctx huma.Context) []error {
	return in.Find(ctx, "exception "+ctx.Param("exceptionId"), nil, in.Cursor)
}

func getException(ctx context.Context, c *core.Call, in *exceptionQueryInput) (*api.ExceptionResponse, error) {
	e, err := exception(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &api.ExceptionResponse{}
	if out.Exception, err = exceptionOf(ctx, c, e); err != nil {
		return nil, err
	}
	if err := statements(ctx, c, e, in, out); err != nil || !in.Ending {
		return out, err
	}
	effect, err := exceptions.PreviewRemoving(ctx, c.Tx, e)
	if err != nil {
		return nil, err
	}
	out.Ending = &api.ExceptionEffect{Changed: int64(len(effect)), Selection: effect.Selection()}
	out.Ending.FirstFindings, err = firstChanged(ctx, c, effect)
	return out, err
}

// maxListedChanges is the number of changed findings in a response.
const maxListedChanges = 10

// firstChanged returns the ids of the first changed findings, each by its first occurrence.
func firstChanged(ctx context.Context, c *core.Call, effect exceptions.Effect) ([]int64, error) {
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]int64, 0, maxListedChanges)
	for _, event := range effect[:min(len(effect), maxListedChanges)] {
		for _, t := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
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

// exceptionInput is a request for creating an exception.
type exceptionInput struct {
	Body      api.CreateExceptionRequest
	exception model.Exception
}

// Resolve checks what the schema cannot.
func (in *exceptionInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	if core.Undecoded(ctx, &in.Body) {
		return bad
	}
	b := &in.Body
	in.exception = model.Exception{Target: b.Target, Paths: b.Paths, Projects: b.Projects, Reason: b.Reason}
	in.exception.TriageReason, _ = model.ParseTriageReason(cmp.Or(b.TriageReason, model.AcceptableRisk.String()))
	switch {
	case b.Forever == (b.Until != ""):
		bad.Add("body.until", nil, "send either until or forever")
	case b.Until != "":
		var err error
		if in.exception.Until, err = model.ParseUntil(b.Until); err != nil {
			bad.Add("body.until", b.Until, err.Error())
		}
	}
	bad.AddInvalid(core.InBody(in.exception.Check(core.CallOf(ctx.Context()).Server.Clock())))
	return bad
}

// errTried rolls back the transaction of a dry run.
var errTried = errors.New("dry run")

// createException creates an exception, or previews its effect. A dry run creates it too, so that
// all numbers are exact, and is rolled back.
func createException(
	ctx context.Context, c *core.Call, in *exceptionInput,
) (out *api.ExceptionChangeResponse, err error) {
	if !in.Body.DryRun {
		return core.RunIdempotent(ctx, c, func(ctx context.Context) (*api.ExceptionChangeResponse, error) {
			return addException(ctx, c, in)
		})
	}
	err = c.Update(ctx, func(ctx context.Context) (err error) {
		if out, err = addException(ctx, c, in); err != nil {
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

func addException(ctx context.Context, c *core.Call, in *exceptionInput) (*api.ExceptionChangeResponse, error) {
	if !in.exception.Within(c.Caller.Globs()) {
		return nil, model.ErrNotFound
	}
	e, changed, err := exceptions.Add(ctx, c.Tx, in.exception)
	if err != nil {
		return nil, err
	}
	if err := checkSelection(in.Body.Selection, changed); err != nil {
		return nil, err
	}
	out, err := effectOf(ctx, c, e, changed)
	if err == nil && in.Body.DryRun {
		out.Selection = changed.Selection()
		out.FirstFindings, err = firstChanged(ctx, c, changed)
	}
	return out, err
}

// checkSelection returns a conflict if the changed findings or their decisions differ from selection. The
// caller must roll back the transaction.
func checkSelection(selection string, changed exceptions.Effect) error {
	if selection == "" || selection == changed.Selection() {
		return nil
	}
	return fmt.Errorf("the affected findings or the decisions about them have changed since the dry run: %w",
		model.ErrConflict)
}

func deleteException(
	ctx context.Context, c *core.Call, in *api.DeleteExceptionQuery,
) (*api.ExceptionChangeResponse, error) {
	e, err := exception(ctx, c)
	if err != nil {
		return nil, err
	}
	e, changed, err := exceptions.Remove(ctx, c.Tx, e.ID)
	if err == nil {
		err = checkSelection(in.Selection, changed)
	}
	if err != nil {
		return nil, err
	}
	return effectOf(ctx, c, e, changed)
}

func requestException(
	ctx context.Context, c *core.Call, in *core.Request[api.RequestExceptionRequest],
) (*api.ExceptionChangeResponse, error) {
	b := &in.Body
	e := model.Exception{Reason: b.Reason, CreatorID: c.Caller.Token.UserID}
	e.TriageReason, _ = model.ParseTriageReason(cmp.Or(b.TriageReason, model.AcceptableRisk.String()))
	var err error
	if e.Until, err = model.ExceptionEnd(b.Until); err != nil {
		return nil, core.InBody(err)
	}
	findings, err := core.AllFindings(ctx, c, b.IssueIDs)
	if err != nil {
		return nil, err
	}
	if e, err = exceptions.Request(ctx, c.Tx, e, findings); err != nil {
		return nil, core.InBody(err)
	}
	return effectOf(ctx, c, e, nil)
}

func approveException(
	ctx context.Context, c *core.Call, in *core.Request[api.ApproveExceptionRequest],
) (*api.ExceptionChangeResponse, error) {
	e, err := exception(ctx, c)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	switch {
	case e.Document != nil && b.Until != "":
		return nil, model.Invalid("body.until", "exception %d is a VEX document, which has no last day", e.ID)
	case e.Document != nil:
		return approveDocument(ctx, c, e, b.Statements)
	case len(b.Statements) > 0:
		return nil, model.Invalid("body.statements", "exception %d has no statements, unlike VEX documents", e.ID)
	}
	until, err := model.ExceptionEnd(b.Until)
	switch {
	case err != nil:
		return nil, core.InBody(err)
	case b.Forever && b.Until != "":
		return nil, model.Invalid("body.until", "send either until or forever")
	case !b.Forever && b.Until == "":
		if until = e.Until; until.IsZero() {
			return nil, model.Invalid("body.until", "send until or forever: the request has no last day")
		}
	}
	e, changed, err := exceptions.Approve(ctx, c.Tx, e.ID, until, b.Answer)
	if err != nil {
		return nil, core.InBody(err)
	}
	return effectOf(ctx, c, e, changed)
}

func refuseException(
	ctx context.Context, c *core.Call, in *core.Request[api.RefuseExceptionRequest],
) (*api.ExceptionChangeResponse, error) {
	e, err := exception(ctx, c)
	if err == nil && e.Document != nil {
		return refuseDocument(ctx, c, e, in.Body)
	}
	if err == nil {
		e, err = exceptions.Refuse(ctx, c.Tx, e.ID, in.Body.Answer)
	}
	if err != nil {
		return nil, core.InBody(err)
	}
	return effectOf(ctx, c, e, nil)
}

func withdrawException(ctx context.Context, c *core.Call, _ *core.None) (*api.ExceptionChangeResponse, error) {
	e, err := exception(ctx, c)
	if err == nil {
		e, err = exceptions.Withdraw(ctx, c.Tx, e.ID, c.Caller.Token.UserID)
	}
	if err != nil {
		return nil, err
	}
	return effectOf(ctx, c, e, nil)
}
