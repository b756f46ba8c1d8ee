package findings

import (
	"cmp"
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/triage"
)

// defaultFindingComments is the default number of comments in a response.
const defaultFindingComments = 100

// findingCommentsInput is the query for a page of comments.
type findingCommentsInput struct {
	api.FindingCommentsQuery
	core.IDPosition
}

// Resolve decodes the cursor.
func (in *findingCommentsInput) Resolve(ctx huma.Context) []error {
	return in.Find(ctx, "finding-comments", core.CallOf(ctx.Context()).R.PathValue("findingId"), in.Cursor)
}

func listFindingComments(
	ctx context.Context, c *core.Call, in *findingCommentsInput,
) (*api.ListFindingCommentsResponse, error) {
	found, _, _, err := findingOfHistory(ctx, c) // also for a removed finding
	if err != nil {
		return nil, err
	}
	list, more, err := c.Tx.FindingComments(ctx, found.LineageID, in.After, cmp.Or(int(in.Limit), defaultFindingComments))
	if err != nil {
		return nil, err
	}
	out := &api.ListFindingCommentsResponse{Comments: make([]api.FindingComment, len(list))}
	for i, n := range list {
		out.Comments[i] = findingCommentOf(n)
	}
	if more {
		out.Cursor, err = c.Server.Cursors().Encode(in.List, list[len(list)-1].ID)
	}
	return out, err
}

func findingCommentOf(n model.FindingComment) api.FindingComment {
	out := api.FindingComment{
		ID: n.ID, Text: n.Text, WrittenAt: api.Time{Time: n.WrittenAt},
		WrittenBy: n.WrittenBy.String(), Mentions: make([]string, len(n.Mentions)),
		WithdrawnAt: core.TimeOrNull(n.WithdrawnAt), WithdrawnBy: n.WithdrawnBy.String(),
	}
	for i, m := range n.Mentions {
		out.Mentions[i] = m.Name
	}
	return out
}

// storedByID returns a handler that changes a comment. Under an Idempotency-Key only the id of the
// comment is stored, since its text may be withdrawn.
func storedByID[In any](fn func(context.Context, *core.Call, *In) (*api.FindingCommentResponse, error)) core.Handler {
	return core.Keyed(core.Plain(func(ctx context.Context, c *core.Call, in *In) (*api.FindingCommentResponse, error) {
		c.Idempotent.Store(idOnly, func(ctx context.Context, out any) error {
			return readComment(ctx, c, out.(*api.FindingCommentResponse))
		})
		return core.RunIdempotent(ctx, c, func(ctx context.Context) (*api.FindingCommentResponse, error) {
			return fn(ctx, c, in)
		})
	}))
}

func addFindingComment(
	ctx context.Context, c *core.Call, in *core.Request[api.AddFindingCommentRequest],
) (*api.FindingCommentResponse, error) {
	found, err := pathFinding(ctx, c)
	if err != nil {
		return nil, err
	}
	made, err := triage.Comment(ctx, c.Tx, found.Finding, in.Body.Text, c.Caller.Token.UserID)
	if err != nil {
		return nil, core.InBody(err)
	}
	return &api.FindingCommentResponse{Comment: findingCommentOf(made)}, nil
}

func withdrawFindingComment(ctx context.Context, c *core.Call, _ *core.None) (*api.FindingCommentResponse, error) {
	found, _, _, err := findingOfHistory(ctx, c) // also for a removed finding
	if err != nil {
		return nil, err
	}
	id := c.PathID("commentId")
	gone, err := triage.WithdrawComment(ctx, c.Tx, found.Finding, id, c.Caller.Token.UserID, c.Caller.Has(model.RoleAdmin))
	if err != nil {
		return nil, err
	}
	return &api.FindingCommentResponse{Comment: findingCommentOf(gone)}, nil
}

// idOnly returns the part of a response that is stored: the id of the comment without its text,
// which may be withdrawn.
func idOnly(out any) any {
	of := out.(*api.FindingCommentResponse)
	return &api.FindingCommentResponse{Comment: api.FindingComment{ID: of.Comment.ID}}
}

// readComment completes the stored id with the current comment. It returns model.ErrNotFound if the
// comment was deleted with its project.
func readComment(ctx context.Context, c *core.Call, of *api.FindingCommentResponse) error {
	now, err := c.Tx.FindingComment(ctx, of.Comment.ID)
	of.Comment = findingCommentOf(now)
	return err
}
