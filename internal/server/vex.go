package server

import (
	"cmp"
	"context"
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/store"
)

// How many documents, and statements of one, an answer holds when 0 are asked for.
const (
	defaultVEXDocuments  = 50
	defaultVEXStatements = 100
)

func vexDocumentOf(h redoubt.VEXHolding) api.VEXDocument {
	out := api.VEXDocument{
		ID: decimal(h.ID), Name: h.Name, Format: h.Format, Author: h.Author, File: h.File, Version: h.Version, IssuedAt: timeOrNull(h.IssuedAt),
		Project: h.Project, Ref: h.Ref, Projects: orEmpty(h.Projects), Status: string(redoubt.VEXHeld), Statements: int64(h.Count), Decides: int64(h.Decides),
		ReceivedAt: api.Time{Time: h.ReceivedAt}, ReceivedBy: h.ReceivedBy,
	}
	if h.Proposed {
		out.Status = string(redoubt.VEXProposed)
	}
	return out
}

// reviewedVEX is a document with some of its statements and, of a proposal, what it
// would change, as a whole and by each of these alone.
type reviewedVEX struct {
	document api.VEXDocument
	shown    []redoubt.VEXStatement
	more     bool
	review   exceptions.Review
}

func (c *call) reviewed(ctx context.Context, h redoubt.VEXHolding, from, limit int) (v reviewedVEX, err error) {
	d, err := c.tx.VEXDocument(ctx, h.ID)
	if err != nil {
		return v, err
	}
	v.shown = d.Statements[min(from, len(d.Statements)):]
	if v.more = len(v.shown) > limit; v.more {
		v.shown = v.shown[:limit]
	}
	v.document = vexDocumentOf(h)
	if h.Proposed {
		v.review, err = exceptions.ReviewVEX(ctx, c.tx, d, v.shown)
		tellReview(&v.document, v.review)
	}
	return v, err
}

func tellReview(d *api.VEXDocument, r exceptions.Review) {
	d.Changes, d.Ends = new(int64(r.Changes)), new(int64(r.Withdraws))
}

// vexDocumentsInput is a page of VEX documents that is asked for.
type vexDocumentsInput struct {
	api.VEXDocumentsQuery
	idPosition
}

// Resolve finds the position in the list.
func (in *vexDocumentsInput) Resolve(ctx huma.Context) []error {
	return in.find(ctx, "vex", []any{in.Status, callOf(ctx.Context()).caller.Globs()}, in.Cursor)
}

func (c *call) listVEXDocuments(ctx context.Context, in *vexDocumentsInput) (*api.ListVEXDocumentsResponse, error) {
	q := store.VEXQuery{Globs: c.caller.Globs(), After: in.after, Limit: cmp.Or(int(in.Limit), defaultVEXDocuments)}
	if in.Status != "" {
		q.Proposed = new(in.Status == string(redoubt.VEXProposed))
	}
	list, more, err := c.tx.VEXDocuments(ctx, q)
	if err != nil {
		return nil, err
	}
	reviews, err := exceptions.ReviewProposals(ctx, c.tx, list)
	if err != nil {
		return nil, err
	}
	out := &api.ListVEXDocumentsResponse{Documents: make([]api.VEXDocument, len(list))}
	for i, h := range list {
		out.Documents[i] = vexDocumentOf(h)
		if review, proposed := reviews[h.ID]; proposed {
			tellReview(&out.Documents[i], review)
		}
	}
	if more {
		out.Cursor, err = c.server.cursors().encode(in.list, list[len(list)-1].ID)
	}
	return out, err
}

// vexDocument finds the one that the path names; one that is not of the token's
// projects alone does not exist for it.
func (c *call) vexDocument(ctx context.Context) (redoubt.VEXHolding, error) {
	id, err := c.id("documentId")
	if err != nil {
		return redoubt.VEXHolding{}, err
	}
	return c.tx.VEXHolding(ctx, id, c.caller.Globs())
}

// vexStatementsInput is a page of a document's statements that is asked for.
type vexStatementsInput struct {
	api.VEXStatementsQuery
	idPosition // where the id is the place of a statement
}

// Resolve finds the position in the list.
func (in *vexStatementsInput) Resolve(ctx huma.Context) []error {
	return in.find(ctx, "vex "+ctx.Param("documentId"), nil, in.Cursor)
}

func (c *call) getVEXDocument(ctx context.Context, in *vexStatementsInput) (*api.VEXDocumentResponse, error) {
	h, err := c.vexDocument(ctx)
	if err != nil {
		return nil, err
	}
	v, err := c.reviewed(ctx, h, int(in.after), cmp.Or(int(in.Limit), defaultVEXStatements))
	if err != nil {
		return nil, err
	}
	out := &api.VEXDocumentResponse{Document: v.document, Statements: make([]api.VEXStatement, len(v.shown))}
	for i := range v.shown {
		out.Statements[i] = vexStatementOf(&v.shown[i], h.Proposed, v.review)
	}
	if v.more {
		out.Cursor, err = c.server.cursors().encode(in.list, in.after+int64(len(v.shown)))
	}
	return out, err
}

func vexStatementOf(s *redoubt.VEXStatement, proposed bool, r exceptions.Review) api.VEXStatement {
	id, made := s.ID(), s.Triage()
	out := api.VEXStatement{
		ID: id, Vulnerabilities: orEmpty(s.Names), About: s.About(), Status: s.Status.String(), Justification: s.Justification, Detail: s.Detail,
		TriageState: made.State.String(), TriageReason: made.Reason.String(), Counts: !proposed || r.Counts[id],
	}
	if !out.Counts {
		out.Changes = new(int64(r.Alone[id]))
	}
	return out
}

func (c *call) acceptVEXDocument(ctx context.Context, in *request[api.DecideVEXRequest]) (*api.VEXDecisionResponse, error) {
	h, err := c.vexDocument(ctx)
	if err != nil {
		return nil, err
	}
	receipt, err := exceptions.AcceptVEX(ctx, c.tx, h.ID, in.Body.Statements...)
	if err != nil {
		return nil, err
	}
	return c.vexDecision(ctx, h, &api.VEXDecisionResponse{ID: decimal(receipt.Document.ID), Changed: int64(receipt.Changed)})
}

func (c *call) refuseVEXDocument(ctx context.Context, in *request[api.DecideVEXRequest]) (*api.VEXDecisionResponse, error) {
	h, err := c.vexDocument(ctx)
	if err != nil {
		return nil, err
	}
	n, err := exceptions.RefuseVEX(ctx, c.tx, h.ID, in.Body.Statements...)
	if err != nil {
		return nil, err
	}
	return c.vexDecision(ctx, h, &api.VEXDecisionResponse{Refused: int64(n)})
}

// vexDecision says whether something is left of a proposal.
func (c *call) vexDecision(ctx context.Context, h redoubt.VEXHolding, out *api.VEXDecisionResponse) (*api.VEXDecisionResponse, error) {
	_, err := c.tx.VEXHolding(ctx, h.ID, nil)
	if out.Waits = err == nil; errors.Is(err, redoubt.ErrNotFound) {
		err = nil
	}
	return out, err
}

func (c *call) deleteVEXDocument(ctx context.Context, _ *none) (*api.VEXDecisionResponse, error) {
	h, err := c.vexDocument(ctx)
	if err != nil {
		return nil, err
	}
	_, changed, err := exceptions.RemoveVEX(ctx, c.tx, h.ID)
	return &api.VEXDecisionResponse{Changed: int64(changed)}, err
}
