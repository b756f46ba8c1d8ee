package triage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/redact"
)

// CommentStore is what comments on findings need of one transaction.
type CommentStore interface {
	Actor() redoubt.Actor
	// CommentCounts counts the comments on a lineage, and those of a user in the last day.
	CommentCounts(ctx context.Context, lineageID, authorID int64) (ofFinding, ofAuthor int, err error)
	// MembersNamed finds those of some names that users have who may see the deployment.
	MembersNamed(ctx context.Context, names []string) ([]redoubt.Member, error)
	// FindingComment finds one by its id; an unknown one is redoubt.ErrNotFound.
	FindingComment(ctx context.Context, id int64) (redoubt.FindingComment, error)
	AddFindingComment(ctx context.Context, c redoubt.FindingComment) (redoubt.FindingComment, error)
	WithdrawFindingComment(ctx context.Context, c redoubt.FindingComment) (redoubt.FindingComment, error)
}

// Comment writes what a user says about a finding; 0 is no user. A text that will not do is a
// *redoubt.InvalidError, one comment too many redoubt.ErrConflict. A name that no user of
// the deployment has is text.
func Comment(ctx context.Context, s CommentStore, f redoubt.Finding, said string, authorID int64) (c redoubt.FindingComment, err error) {
	c.LineageID, c.AuthorID = f.LineageID, authorID
	if c.Text, err = redoubt.CommentText(redact.Text(said)); err != nil {
		return c, err
	}
	switch of, own, err := s.CommentCounts(ctx, c.LineageID, authorID); {
	case err != nil:
		return c, err
	case of >= redoubt.MaxCommentsOf:
		return c, fmt.Errorf("the finding has %d comments, as many as one may: %w", of, redoubt.ErrConflict)
	case own >= redoubt.MaxCommentsOfOne:
		return c, fmt.Errorf("you wrote %d comments in 24 hours, as many as one may: %w", own, redoubt.ErrConflict)
	}
	people, err := s.MembersNamed(ctx, redoubt.MentionedNames(c.Text))
	if err != nil {
		return c, err
	}
	ids := map[string]int64{}
	for _, p := range people {
		ids[p.Name] = p.ID
	}
	for _, m := range redoubt.Mentions(c.Text, func(name string) bool { return ids[name] != 0 }) {
		one := redoubt.Mentioned{UserID: ids[m.Name], Name: m.Name}
		if len(c.Mentions) < redoubt.MaxMentions && !slices.Contains(c.Mentions, one) {
			c.Mentions = append(c.Mentions, one)
		}
	}
	slices.SortFunc(c.Mentions, func(a, b redoubt.Mentioned) int { return cmp.Compare(a.Name, b.Name) })
	return s.AddFindingComment(ctx, c)
}

// WithdrawComment takes a comment on a finding back: who wrote it may, and an administrator.
// That of somebody else is a *redoubt.InvalidError, one of another finding
// redoubt.ErrNotFound, and one that was withdrawn already redoubt.ErrConflict.
func WithdrawComment(ctx context.Context, s CommentStore, f redoubt.Finding, id, userID int64, admin bool) (redoubt.FindingComment, error) {
	c, err := s.FindingComment(ctx, id)
	if err == nil && c.LineageID != f.LineageID {
		err = redoubt.ErrNotFound
	}
	if err != nil {
		return c, err
	}
	by, actor := c.WrittenBy, s.Actor()
	own := c.AuthorID == userID && (userID != 0 || by.Kind == actor.Kind && by.ID == actor.ID && by.Name == actor.Name)
	switch {
	case !own && !admin:
		return c, redoubt.Invalid("comment", "only who wrote a comment, or an administrator, withdraws it: %s did", cmp.Or(by.Label(), by.ID))
	case c.Withdrawn():
		return c, fmt.Errorf("comment %d was withdrawn already: %w", id, redoubt.ErrConflict)
	}
	return s.WithdrawFindingComment(ctx, c)
}
