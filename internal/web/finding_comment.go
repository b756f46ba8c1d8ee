package web

import (
	"context"
	"net/url"
	"strconv"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

// commentForm is a comment on its way, and why it was not taken.
type commentForm struct{ Text, Fault string }

// textPart is a stretch of a comment, which may name somebody.
type textPart struct {
	Text    string
	Mention bool
}

// commentParts cut a comment where it names those whom it mentions.
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

// commentMoments tell what was said, or that it was withdrawn.
func commentMoments(req *request, c model.FindingComment) []moment {
	m := moment{At: c.WrittenAt, Kind: "comment", What: "Comment", By: who(c.WrittenBy), Comment: c.ID}
	if c.Withdrawn() {
		m.What, m.Did = "Comment, withdrawn since", "withdrawn-since"
		return []moment{
			m, {At: c.WithdrawnAt, Kind: "triage", What: "Comment withdrawn", Did: "withdrawn", By: who(c.WithdrawnBy)},
		}
	}
	m.Said = commentParts(c)
	m.MayWithdraw = req.viewer.Role >= model.RoleAdmin || c.AuthorID != 0 && c.AuthorID == req.viewer.UserID
	return []moment{m}
}

// addComment writes what a form says about a finding, and leads back to where it was written.
func addComment(req *request, form url.Values) error {
	return changeComments(req, form.Get("back"), commentForm{
		Text: form.Get("text"),
	}, func(ctx context.Context, tx *store.Tx, o store.Occurrence) error {
		if model.StatusOf(o.State, o.Lineage.Triage.State) == 0 { // it was removed: nobody would look
			return model.ErrNotFound
		}
		return sendOnce(ctx, tx, form.Get("once"), func() error {
			_, err := triage.Comment(ctx, tx, o.Finding, form.Get("text"), req.viewer.UserID)
			return err
		})
	})
}

// withdrawComment takes a comment back.
func withdrawComment(req *request, form url.Values) error {
	id, err := strconv.ParseInt(req.r.PathValue("comment"), 10, 64)
	if err != nil {
		return model.ErrNotFound
	}
	// of one that was removed too
	return changeComments(req, form.Get("back"), commentForm{}, func(
		ctx context.Context, tx *store.Tx, o store.Occurrence,
	) error {
		_, err := triage.WithdrawComment(ctx, tx, o.Finding, id, req.viewer.UserID, req.viewer.Role >= model.RoleAdmin)
		return err
	})
}

// changeComments does something to the comments on the finding that the path names. What will
// not do is shown with the finding, with what was typed.
func changeComments(
	req *request, back string, typed commentForm, change func(context.Context, *store.Tx, store.Occurrence) error,
) error {
	err := req.update(func(ctx context.Context, tx *store.Tx) error {
		o, err := tx.Finding(ctx, req.pathID)
		if err != nil {
			return err
		}
		return change(ctx, tx, o)
	})
	if status, why, is := refusal(err); is {
		typed.Fault = why
		return findingAgain(req, status, req.pathID, back, func(d *findingDetail) { d.Comment = typed })
	}
	if err != nil {
		return err
	}
	if !req.local(back) {
		back = req.to("/findings/" + decimal(req.pathID))
	}
	req.redirect(back + "#comments")
	return nil
}

// mentionsOfMine is how many comments that mention the viewer their page lists.
const mentionsOfMine = 5

// mention is a comment that mentions the viewer.
type mention struct {
	model.FindingComment
	Title, Address string
	Said           []textPart
}

// myMentions reads the newest comments that mention the viewer.
func myMentions(req *request, view *index.View) (rows []mention, err error) {
	if req.viewer.UserID == 0 {
		return nil, nil
	}
	var shown map[int64]int64
	err = req.view(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.CommentsMentioning(ctx, req.viewer.UserID, mentionsOfMine)
		var lineages []int64
		for _, c := range list {
			rows = append(rows, mention{FindingComment: c, Title: "A finding that is gone", Said: commentParts(c)})
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
		rows[i].Address = req.to("/findings/" + decimal(ids[i]) + "#comments")
	}
	found, err := findingsByID(req, view, ids)
	for _, f := range found {
		for i := range rows {
			if ids[i] == f.ID {
				rows[i].Title = f.Title()
			}
		}
	}
	return rows, err
}
