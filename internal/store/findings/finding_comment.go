package findings

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const findingCommentColumns = `id, lineage_id, body, written_at, written_by_json, author_id, withdrawn_at, ` +
	`withdrawn_by_json`

func scanFindingComment(r sqldb.Row) (c model.FindingComment, err error) {
	return c, r.Scan(&c.ID, &c.LineageID, &c.Text, sqldb.Instant(&c.WrittenAt), sqldb.Decoded(&c.WrittenBy), &c.AuthorID,
		sqldb.Instant(&c.WithdrawnAt), sqldb.Decoded(&c.WithdrawnBy))
}

// findingCommentImage is the content of audit events about a comment. It omits the text, which a
// withdrawal deletes.
type findingCommentImage struct {
	Lineage  int64    `json:"lineage"`
	Mentions []string `json:"mentions,omitempty"`
}

func imageOfFindingComment(c model.FindingComment) findingCommentImage {
	image := findingCommentImage{Lineage: c.LineageID}
	for _, m := range c.Mentions {
		image.Mentions = append(image.Mentions, m.Name)
	}
	return image
}

// AddFindingComment stores a comment and returns it with id, author and time. Mentioned users are
// notified.
func (tx *Tx) AddFindingComment(ctx context.Context, c model.FindingComment) (model.FindingComment, error) {
	var err error
	if c.ID, err = tx.NewID(ctx, sqldb.SeqConnection); err != nil {
		return c, err
	}
	c.WrittenAt, c.WrittenBy = tx.Now(), tx.Actor()
	err = tx.Insert(ctx, `finding_comment (deployment_id, `+findingCommentColumns+`)`, [][]any{{
		c.ID, c.LineageID, c.Text, c.WrittenAt, sqldb.Encoded(c.WrittenBy),
		c.AuthorID, c.WithdrawnAt, sqldb.Encoded(c.WithdrawnBy),
	}}, "")
	if err != nil {
		return c, err
	}
	rows := model.Map(c.Mentions, func(m model.Mentioned) []any { return []any{c.ID, m.UserID, m.Name} })
	if err := tx.Insert(ctx, `finding_comment_mention (deployment_id, comment_id, user_id, name)`, rows, ""); err != nil {
		return c, err
	}
	tx.Audit("finding_comment.create", sqldb.Subject("finding_comment", c.ID), nil, imageOfFindingComment(c))
	return c, tx.NotifyComment(ctx, c)
}

// WithdrawFindingComment deletes the text and mentions of a comment. The comment itself and the
// withdrawing actor stay.
func (tx *Tx) WithdrawFindingComment(ctx context.Context, c model.FindingComment) (model.FindingComment, error) {
	before := c
	c.Text, c.Mentions, c.WithdrawnAt, c.WithdrawnBy = "", nil, tx.Now(), tx.Actor()
	err := tx.Write(ctx, `UPDATE finding_comment SET body = '', withdrawn_at = $3, withdrawn_by_json = $4 WHERE `+
		`deployment_id = $1 AND id = $2`, c.ID, c.WithdrawnAt, sqldb.Encoded(c.WithdrawnBy))
	if err != nil {
		return c, err
	}
	if err := tx.Write(
		ctx, `DELETE FROM finding_comment_mention WHERE deployment_id = $1 AND comment_id = $2`, c.ID,
	); err != nil {
		return c, err
	}
	tx.Audit("finding_comment.withdraw", sqldb.Subject("finding_comment", c.ID), imageOfFindingComment(before), nil)
	return c, nil
}

// FindingComment returns a comment by id, or model.ErrNotFound.
func (tx *Tx) FindingComment(ctx context.Context, id int64) (model.FindingComment, error) {
	c, err := sqldb.One(ctx, tx, scanFindingComment,
		`SELECT `+findingCommentColumns+` FROM finding_comment WHERE deployment_id = $1 AND id = $2`, id)
	if err != nil {
		return c, fmt.Errorf("comment %d: %w", id, err)
	}
	list := []model.FindingComment{c}
	err = tx.readMentions(ctx, list)
	return list[0], err
}

// FindingComments returns comments on a lineage after an id, oldest first and including withdrawn
// ones. It reports whether there are newer ones.
func (tx *Tx) FindingComments(
	ctx context.Context, lineageID, after int64, limit int,
) (list []model.FindingComment, more bool, err error) {
	list, err = sqldb.Many(ctx, tx, scanFindingComment, `SELECT `+findingCommentColumns+
		` FROM finding_comment WHERE deployment_id = $1 AND lineage_id = $2 AND id > $3 ORDER BY id LIMIT $4`,
		lineageID, after, limit+1)
	if err != nil {
		return nil, false, err
	}
	if more = len(list) > limit; more {
		list = list[:limit]
	}
	return list, more, tx.readMentions(ctx, list)
}

// NewestFindingComments returns the newest model.MaxCommentsOf comments on a lineage, oldest first.
func (tx *Tx) NewestFindingComments(ctx context.Context, lineageID int64) ([]model.FindingComment, error) {
	list, err := sqldb.Many(ctx, tx, scanFindingComment, `SELECT `+findingCommentColumns+
		` FROM finding_comment WHERE deployment_id = $1 AND lineage_id = $2 ORDER BY id DESC LIMIT $3`,
		lineageID, model.MaxCommentsOf)
	if err != nil {
		return nil, err
	}
	slices.Reverse(list)
	return list, tx.readMentions(ctx, list)
}

// CommentsMentioning returns the newest comments that mention a user, newest first.
func (tx *Tx) CommentsMentioning(ctx context.Context, userID int64, limit int) ([]model.FindingComment, error) {
	list, err := sqldb.Many(ctx, tx, scanFindingComment,
		`SELECT `+findingCommentColumns+` FROM finding_comment WHERE deployment_id = $1 AND id IN
		(SELECT comment_id FROM finding_comment_mention WHERE deployment_id = $1 AND user_id = $2 ORDER BY comment_id DESC
		LIMIT $3) ORDER BY id DESC`,
		userID, limit)
	if err != nil {
		return nil, err
	}
	return list, tx.readMentions(ctx, list)
}

// readMentions reads the users that comments mention, by name.
func (tx *Tx) readMentions(ctx context.Context, list []model.FindingComment) error {
	if len(list) == 0 {
		return nil
	}
	ids, at := make([]int64, len(list)), make(map[int64]int, len(list))
	for i, c := range list {
		ids[i], at[c.ID] = c.ID, i
	}
	in, arg := tx.In("comment_id", 2, ids)
	return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var m model.Mentioned
		err := r.Scan(&id, &m.UserID, &m.Name)
		of := &list[at[id]]
		of.Mentions = append(of.Mentions, m)
		return err
	}, `SELECT comment_id, user_id, name FROM finding_comment_mention WHERE deployment_id = $1 AND `+in+
		` ORDER BY comment_id, name`+tx.ByBytes(), arg)
}

// CommentCounts counts the comments on a lineage, including withdrawn ones, and an author's
// comments within the last day. The author 0 is the actor.
func (tx *Tx) CommentCounts(ctx context.Context, lineageID, authorID int64) (ofFinding, ofAuthor int, err error) {
	_, err = sqldb.One(ctx, tx, func(r sqldb.Row) (struct{}, error) { return struct{}{}, r.Scan(&ofFinding, &ofAuthor) },
		`SELECT (SELECT COUNT(*) FROM finding_comment WHERE deployment_id = $1 AND lineage_id = $2),
			(SELECT COUNT(*) FROM finding_comment WHERE deployment_id = $1 AND author_id = $3 AND written_at > $4
			AND (author_id > 0 OR written_by_json = $5))`,
		lineageID, authorID, tx.Now().AddDate(0, 0, -1), sqldb.Encoded(tx.Actor()))
	return ofFinding, ofAuthor, err
}
