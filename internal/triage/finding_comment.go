package triage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
)

// CommentStore contains the operations on comments within a transaction.
type CommentStore interface {
	Actor() model.Actor
	// CommentCounts returns the number of comments on a lineage, and of those by a user in the last
	// day.
	CommentCounts(ctx context.Context, lineageID, authorID int64) (ofFinding, ofAuthor int, err error)
	// MembersNamed returns the members of the deployment with the given names.
	MembersNamed(ctx context.Context, names []string) ([]model.Member, error)
	// FindingComment returns a comment by ID, or model.ErrNotFound.
	FindingComment(ctx context.Context, id int64) (model.FindingComment, error)
	AddFindingComment(ctx context.Context, c model.FindingComment) (model.FindingComment, error)
	WithdrawFindingComment(ctx context.Context, c model.FindingComment) (model.FindingComment, error)
}

// Comment adds a comment of a user to a finding; authorID 0 means no user. It returns a
// *model.InvalidError for an invalid text and model.ErrConflict if a limit is exceeded. Mentions of
// unknown users have no effect.
func Comment(
	ctx context.Context, s CommentStore, f model.Finding, said string, authorID int64,
) (c model.FindingComment, err error) {
	c.LineageID, c.AuthorID = f.LineageID, authorID
	if c.Text, err = model.CommentText(redact.Text(said)); err != nil {
		return c, err
	}
	switch of, own, err := s.CommentCounts(ctx, c.LineageID, authorID); {
	case err != nil:
		return c, err
	case of >= model.MaxCommentsOf:
		return c, fmt.Errorf("the finding has %d comments, which is the limit: %w", of, model.ErrConflict)
	case own >= model.MaxCommentsOfOne:
		return c, fmt.Errorf("you wrote %d comments in 24 hours, which is the limit: %w", own, model.ErrConflict)
	}
	people, err := s.MembersNamed(ctx, model.MentionedNames(c.Text))
	if err != nil {
		return c, err
	}
	ids := map[string]int64{}
	for _, p := range people {
		ids[p.Name] = p.ID
	}
	for _, m := range model.Mentions(c.Text, func(name string) bool { return ids[name] != 0 }) {
		one := model.Mentioned{UserID: ids[m.Name], Name: m.Name}
		if len(c.Mentions) < model.MaxMentions && !slices.Contains(c.Mentions, one) {
			c.Mentions = append(c.Mentions, one)
		}
	}
	slices.SortFunc(c.Mentions, func(a, b model.Mentioned) int { return cmp.Compare(a.Name, b.Name) })
	return s.AddFindingComment(ctx, c)
}

// WithdrawComment withdraws a comment on a finding. Only its author and administrators may do so;
// for others it returns a *model.InvalidError. It returns model.ErrNotFound for a comment on
// another finding, and model.ErrConflict if the comment was already withdrawn.
func WithdrawComment(
	ctx context.Context, s CommentStore, f model.Finding, id, userID int64, admin bool,
) (model.FindingComment, error) {
	c, err := s.FindingComment(ctx, id)
	if err == nil && c.LineageID != f.LineageID {
		err = model.ErrNotFound
	}
	if err != nil {
		return c, err
	}
	by, actor := c.WrittenBy, s.Actor()
	own := c.AuthorID == userID && (userID != 0 || by.Kind == actor.Kind && by.ID == actor.ID && by.Name == actor.Name)
	switch {
	case !own && !admin:
		return c, model.Invalid("comment", "only the author, %s, or an administrator can withdraw the comment",
			cmp.Or(by.Label(), by.ID))
	case c.Withdrawn():
		return c, fmt.Errorf("comment %d was already withdrawn: %w", id, model.ErrConflict)
	}
	return s.WithdrawFindingComment(ctx, c)
}
