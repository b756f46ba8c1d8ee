package hosts_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestCommentAdoption checks which comments at the host are adopted. A comment is adopted if
// its mark names this server, deployment and connection, and a lineage of the project. Comments
// equal to the text about to be written are adopted too. Comments that another server wrote with
// the same account stay unchanged.
func TestCommentAdoption(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		second, err := w.keeper.Add(t.Context(), w.d.ID, storetest.Actor, model.Connection{Kind: model.HostGitea, Name: "theirs", BaseURL: "https://git.example"}, credential)
		w.must(err)
		ours, foreign := w.find("rule-a", 4), w.findIn("acme/web", "rule-b", 5)
		r := w.repository(c)
		me := fmt.Sprintf("%s/%d/", w.keeper.Instance, w.d.ID)
		mine := me + fmt.Sprint(c.ID)
		begun := func(mark string) func(tx *store.Tx, ctx context.Context) error {
			return func(tx *store.Tx, ctx context.Context) error {
				return tx.PutChangeComment(ctx, store.ChangeComment{RepositoryID: r.ID, Number: 3, LineageID: ours.LineageID, Path: "a.go", Body: mark})
			}
		}
		line := func(lineage int64, of string) string {
			return fmt.Sprintf("<!-- redoubt:lineage:%d%s -->", lineage, of)
		}
		for what, c := range map[string]struct {
			body    string
			summary bool
			before  func(tx *store.Tx, ctx context.Context) error
			adopted bool
		}{
			"ours":                          {body: line(ours.LineageID, " of "+mine), adopted: true},
			"ours, settled":                 {body: line(ours.LineageID, " settled of "+mine), adopted: true},
			"of a connection that is gone":  {body: line(ours.LineageID, " of "+me+"99999"), adopted: true},
			"of another project":            {body: line(foreign.LineageID, " of "+mine)},
			"of nothing here":               {body: line(999999, " of "+mine)},
			"of another connection":         {body: line(ours.LineageID, fmt.Sprint(" of ", me, second.ID))},
			"of another deployment":         {body: line(ours.LineageID, fmt.Sprintf(" of %s/%d/%d", w.keeper.Instance, w.d.ID+1, c.ID))},
			"of another server":             {body: line(ours.LineageID, fmt.Sprintf(" of aaaaaaaaaaaaaaaa/%d/%d", w.d.ID, c.ID))},
			"of an unknown origin":          {body: line(ours.LineageID, "")},
			"it was about to be written":    {body: line(ours.LineageID, ""), before: begun(line(ours.LineageID, "")), adopted: true},
			"another was about to be":       {body: line(ours.LineageID, ""), before: begun("other" + line(ours.LineageID, ""))},
			"our summary":                   {body: "<!-- redoubt:summary of " + mine + " -->", summary: true, adopted: true},
			"the summary of another server": {body: fmt.Sprintf("<!-- redoubt:summary of aaaaaaaaaaaaaaaa/%d/%d -->", w.d.ID, c.ID), summary: true},
			"the summary of unknown origin": {body: "<!-- redoubt:summary -->", summary: true},
		} {
			t.Run(what, func(t *testing.T) {
				w.t = t
				w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix"}}
				n := scm.Comment{ID: "1", Author: "bot", Body: c.body}
				if !c.summary {
					n.Path, n.Line = "a.go", 4
				}
				w.host.comments = []scm.Comment{n}
				if c.before != nil {
					w.update(func(ctx context.Context, tx *store.Tx) error { return c.before(tx, ctx) })
				}
				w.must(w.runStatusJob(w.scan(first, ours)))
				want := 3 // the comment on the line and the summary
				if c.adopted {
					want = 2
				}
				same(t, "comments", len(w.host.comments), want)
				if !c.adopted {
					same(t, "what it says", w.host.comments[0].Body, c.body)
				}
				w.update(func(ctx context.Context, tx *store.Tx) error {
					known, err := tx.ChangeComments(ctx, r.ID, 3)
					for _, n := range known {
						if n.HostID == "1" != (c.adopted && (n.LineageID == 0) == c.summary) {
							t.Errorf("kept is %+v", n)
						}
						w.must(tx.DropChangeComment(ctx, r.ID, 3, n.LineageID))
					}
					return err
				})
			})
		}
	})
}

// repository returns the repository acme/payments.
func (w *world) repository(c model.Connection) (r model.Repository) {
	w.t.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = tx.RepositoryByHostID(ctx, c.ID, "1")
		return err
	})
	return r
}
