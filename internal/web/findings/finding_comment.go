package findings

import (
	"context"
	"net/url"
	"strconv"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// commentForm is the text of a comment and the error that rejected it.
type commentForm struct{ Text, Fault string }

// textPart is a part of a comment, either text or a mention.
type textPart struct {
	Text    string
	Mention bool
}

// commentParts splits a comment at its mentions.
func commentParts(c model.FindingComment) (parts []textPart) {
	known := map[string]bool{}
	for _, m := range c.Mentions {
		known[m.Name] = true
	}
	from := 0
	for _, m := range model.Mentions(c.Text, func(name string) bool { return known[name] }) {
		parts = append(parts, textPart{c.Text[from:m.Start], false}, textPart{c.Text[m.Start:m.End], true})
		from = m.End
	}
	return append(parts, textPart{c.Text[from:], false})
}

// commentMoments returns the history entries of a comment: its text and its withdrawal.
func commentMoments(req *ui.Request, c model.FindingComment) []moment {
	m := moment{At: c.WrittenAt, Kind: "comment", What: "Comment", By: ui.ActorName(c.WrittenBy), Comment: c.ID}
	if c.Withdrawn() {
		m.What, m.Did = "Comment (withdrawn)", "withdrawn-since"
		return []moment{
			m, {At: c.WithdrawnAt, Kind: "triage", What: "Comment withdrawn", Did: "withdrawn", By: ui.ActorName(c.WithdrawnBy)},
		}
	}
	m.Parts = commentParts(c)
	m.MayWithdraw = req.Viewer.Role >= model.RoleAdmin || c.AuthorID != 0 && c.AuthorID == req.Viewer.UserID
	return []moment{m}
}

// addComment adds a comment to a finding and redirects to the page of the form.
func addComment(req *ui.Request, form url.Values) error {
	return changeComments(req, form.Get("back"), commentForm{
		Text: form.Get("text"),
	}, func(ctx context.Context, tx *store.Tx, o store.Occurrence) error {
		if model.StatusOf(o.State, o.Lineage.Triage.State) == 0 { // removed: the comment would be invisible
			return model.ErrNotFound
		}
		return ui.SendOnce(ctx, tx, form.Get("once"), func() error {
			_, err := triage.Comment(ctx, tx, o.Finding, form.Get("text"), req.Viewer.UserID)
			return err
		})
	})
}

// withdrawComment withdraws a comment.
func withdrawComment(req *ui.Request, form url.Values) error {
	id, err := strconv.ParseInt(req.HTTP.PathValue("comment"), 10, 64)
	if err != nil {
		return model.ErrNotFound
	}
	// Comments on removed findings can be withdrawn, too.
	return changeComments(req, form.Get("back"), commentForm{}, func(
		ctx context.Context, tx *store.Tx, o store.Occurrence,
	) error {
		_, err := triage.WithdrawComment(ctx, tx, o.Finding, id, req.Viewer.UserID, req.Viewer.Role >= model.RoleAdmin)
		return err
	})
}

// changeComments changes the comments on the finding in the path. Rejected input is shown with the
// finding.
func changeComments(
	req *ui.Request, back string, typed commentForm, change func(context.Context, *store.Tx, store.Occurrence) error,
) error {
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		o, err := tx.Finding(ctx, req.PathID)
		if err != nil {
			return err
		}
		return change(ctx, tx, o)
	})
	if status, why, is := ui.Refusal(err); is {
		typed.Fault = why
		return redisplayFinding(req, status, req.PathID, back, func(d *findingDetail) { d.Comment = typed })
	}
	if err != nil {
		return err
	}
	if !req.IsLocal(back) {
		back = req.To("/findings/" + ui.Decimal(req.PathID))
	}
	req.Redirect(back + "#comments")
	return nil
}

// mentionsOfMine is the maximum number of mentions on the viewer's page.
const mentionsOfMine = 5

// mention is a comment that mentions the viewer.
type mention struct {
	model.FindingComment
	Title, Address string
	Parts          []textPart
}

// myMentions reads the newest comments that mention the viewer.
func myMentions(req *ui.Request, view *index.View) (rows []mention, err error) {
	if req.Viewer.UserID == 0 {
		return nil, nil
	}
	var shown map[int64]int64
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.CommentsMentioning(ctx, req.Viewer.UserID, mentionsOfMine)
		var lineages []int64
		for _, c := range list {
			rows = append(rows, mention{FindingComment: c, Title: "Deleted finding", Parts: commentParts(c)})
			lineages = append(lineages, c.LineageID)
		}
		if err == nil {
			shown, err = tx.FindingsOfLineages(ctx, lineages)
		}
		return err
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids := make([]int64, len(rows))
	for i, m := range rows {
		ids[i] = shown[m.LineageID]
		rows[i].Address = req.To("/findings/" + ui.Decimal(ids[i]) + "#comments")
	}
	found, err := component.FindingsByID(req, view, ids)
	for _, f := range found {
		for i := range rows {
			if ids[i] == f.ID {
				rows[i].Title = f.Title()
			}
		}
	}
	return rows, err
}
