package decisions

import (
	"cmp"
	"context"
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/apihttp/files"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
)

// defaultVEXStatements is the default number of statements of a document in a response.
const defaultVEXStatements = 100

func vexDocumentOf(e model.Exception) *api.VEXDocument {
	d := e.Document
	if d == nil {
		return nil
	}
	return &api.VEXDocument{
		Name: d.Name, Format: d.Format, Author: d.Author, File: d.File, Version: d.Version,
		IssuedAt: core.TimeOrNull(d.IssuedAt), Ref: d.Ref, Statements: int64(e.Statements),
	}
}

// review adds the effect of each requested document in the list.
func review(ctx context.Context, c *core.Call, list []model.Exception, out []api.Exception) error {
	reviews, err := exceptions.ReviewProposals(ctx, c.Tx, list)
	for i := range out {
		if r, requested := reviews[out[i].ID]; requested {
			out[i].Document.Changes, out[i].Document.Ends = new(int64(r.Changes)), new(int64(r.Withdraws))
		}
	}
	return err
}

// statements adds one page of a document's statements. Those of a requested document include the
// effect of each statement alone.
func statements(
	ctx context.Context, c *core.Call, e model.Exception, in *exceptionQueryInput, out *api.ExceptionResponse,
) error {
	if e.Document == nil || e.State > model.ExceptionActive { // its statements no longer apply
		return nil
	}
	d, err := c.Tx.VEXDocument(ctx, e.ID)
	if err != nil {
		return err
	}
	limit := cmp.Or(int(in.Limit), defaultVEXStatements)
	shown := d.Statements[min(int(in.After), len(d.Statements)):]
	more := len(shown) > limit
	shown = shown[:min(len(shown), limit)]
	var review exceptions.Review
	if d.Proposed {
		if review, err = exceptions.ReviewVEX(ctx, c.Tx, d, shown); err != nil {
			return err
		}
		out.Exception.Document.Changes, out.Exception.Document.Ends = new(int64(review.Changes)), new(int64(review.Withdraws))
	}
	for i := range shown {
		out.Statements = append(out.Statements, vexStatementOf(&shown[i], d.Proposed, review))
	}
	if more {
		out.Cursor, err = c.Server.Cursors().Encode(in.List, in.After+int64(len(shown)))
	}
	return err
}

func vexStatementOf(s *model.VEXStatement, proposed bool, r exceptions.Review) api.VEXStatement {
	id, made := s.ID(), s.Triage()
	out := api.VEXStatement{
		ID: id, Vulnerabilities: core.OrEmpty(s.Names), About: s.About(),
		Status: s.Status.String(), Justification: s.Justification, Detail: s.Detail,
		TriageState: made.State.String(), TriageReason: made.Reason.String(), Counts: !proposed || r.Counts[id],
	}
	if !out.Counts {
		out.Changes = new(int64(r.Alone[id]))
	}
	return out
}

// approveDocument activates a requested document, or some of its statements.
func approveDocument(
	ctx context.Context, c *core.Call, e model.Exception, statements []string,
) (*api.ExceptionChangeResponse, error) {
	receipt, err := exceptions.AcceptVEX(ctx, c.Tx, e.ID, statements...)
	if err != nil {
		return nil, err
	}
	stored, err := c.Tx.Exception(ctx, receipt.Document.ID)
	if err != nil {
		return nil, err
	}
	return documentDecided(ctx, c, e, stored, &api.ExceptionChangeResponse{Changed: int64(receipt.Changed)})
}

// refuseDocument refuses a requested document, or some of its statements.
func refuseDocument(
	ctx context.Context, c *core.Call, e model.Exception, in api.RefuseExceptionRequest,
) (*api.ExceptionChangeResponse, error) {
	n, err := exceptions.RefuseVEX(ctx, c.Tx, e.ID, in.Answer, in.Statements...)
	if err != nil {
		return nil, err
	}
	now, err := c.Tx.Exception(ctx, e.ID)
	if errors.Is(err, model.ErrNotFound) { // all its statements apply already
		now, err = e, nil
	}
	if err != nil {
		return nil, err
	}
	return documentDecided(ctx, c, e, now, &api.ExceptionChangeResponse{Refused: int64(n)})
}

// documentDecided returns the exception, and whether undecided statements remain.
func documentDecided(
	ctx context.Context, c *core.Call, asked, shown model.Exception, out *api.ExceptionChangeResponse,
) (*api.ExceptionChangeResponse, error) {
	left, err := c.Tx.Exception(ctx, asked.ID)
	if out.Waits = err == nil && left.State == model.ExceptionRequested; err != nil && !errors.Is(err, model.ErrNotFound) {
		return nil, err
	}
	out.Exception, err = exceptionOf(ctx, c, shown)
	return out, err
}

// importDocuments reads VEX documents from the body and stores all of them for many projects.
func importDocuments(
	ctx context.Context, c *core.Call, in *api.ImportDocumentsQuery,
) (*api.ImportDocumentsResponse, error) {
	if err := model.ProjectGlobs(in.Projects).Check("query.projects"); err != nil {
		return nil, err
	}
	reservation := c.Server.Intake.Reserve()
	defer reservation.Release()
	reader := &files.Reader{
		Call: c,
		In:   &api.ImportQuery{Filename: in.Filename},
		May:  reservation.May,
		Free: reservation.Free,
		O: report.Options{
			Key: c.Server.SecretKey, Limits: report.Limits{Input: c.Server.Limits.Upload},
			OnRead: reservation.Add, Built: reservation.Build,
		},
	}
	err := errors.Join(reader.ReadBody(ctx), c.Idempotent.Members(in))
	if err == nil {
		err = reader.ReadToEnd()
	}
	if err != nil {
		return nil, err
	}
	reports := reader.Reading.Reports(reader.Secret)
	for _, r := range reports {
		if !r.OnlyVEX() {
			return nil, model.Invalid(
				"body", "is a report of %s, not a VEX document: import it as a report of a project", r.Tool,
			)
		}
		if why := r.AllRefused(); why != "" {
			return nil, model.Invalid("body", "%s", why)
		}
	}
	return core.RunIdempotent(files.Storing(ctx, reservation), c,
		func(ctx context.Context) (*api.ImportDocumentsResponse, error) {
			out := &api.ImportDocumentsResponse{Documents: []api.ImportVEX{}, Refused: []api.RefusedItem{}}
			for _, r := range reports {
				for _, item := range r.Refused {
					out.Refused = append(out.Refused, api.RefusedItem{Item: item.Item, Reason: item.Reason})
				}
				out.MoreCount += r.MoreRefused
				for _, d := range r.VEX {
					d.Projects = in.Projects
					receipt, err := exceptions.PutVEX(ctx, c.Tx, d)
					if err != nil {
						return nil, err
					}
					out.Documents = append(out.Documents, gate.VEXAnswer(receipt))
				}
			}
			return out, nil
		})
}

// documentsBody documents the body of importDocuments.
func documentsBody() *huma.RequestBody {
	binary := &huma.Schema{Type: huma.TypeString, Format: "binary"}
	fields := map[string]*huma.Schema{"file": {Type: huma.TypeArray, Items: binary, Description: "VEX documents."}}
	return &huma.RequestBody{
		Required: true, Description: "VEX documents.",
		Content: map[string]*huma.MediaType{
			"multipart/form-data": {
				Schema: &huma.Schema{Type: huma.TypeObject, Properties: fields, Required: []string{"file"}},
			},
			"application/octet-stream": {Schema: binary},
			"application/json":         {Schema: &huma.Schema{Type: huma.TypeObject, Description: "A VEX document as JSON."}},
		},
	}
}
