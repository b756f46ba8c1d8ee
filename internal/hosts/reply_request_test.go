package hosts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// exceptionRequests lists the requests for exceptions.
func (w *conversation) exceptionRequests() string {
	w.t.Helper()
	var out []string
	w.view(func(ctx context.Context, tx *store.Tx) error {
		list, _, err := tx.ExceptionPage(ctx, store.ExceptionQuery{Limit: 10})
		for _, r := range list {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %v %s %s %v %s", r.State, r.Lineages[0] == w.on.LineageID, r.CreatedBy, model.LastDay(r.Until), r.CreatorID != 0, r.Reason)))
		}
		return err
	})
	return strings.Join(out, "\n")
}

// TestRepliesRequestExceptions checks that replies request exceptions like the pages do, also for
// users who may only view. A request decides nothing.
func TestRepliesRequestExceptions(t *testing.T) {
	const command = "/redoubt exception until 2999-01-31: only <b>tests</b>"
	for _, c := range []struct {
		name, author, body string
		of                 model.ReplyPolicy
		want               string // the requests
		answer             string // a part of it; empty: none
	}{
		{"linked to a viewer", "vic", command, 0, "requested true user:vic 2999-01-31 true only <b>tests</b>", hosts.AnswerRequested},
		{"linked to a triager", "octocat", command, 0, "requested true user:ada 2999-01-31 true only <b>tests</b>", "2999-01-31"},
		{"without an end", "vic", "/redoubt exception tests", 0, "requested true user:vic  true tests", hosts.AnswerRequested},
		{"not linked", "bob", command, 0, "", hosts.AnswerNotDone + hosts.ErrNotLinked.Error()},
		{"not linked, but let", "bob", command, model.RepliesCollaborators, "requested true collaborator:bob at git.example 2999-01-31 false only <b>tests</b>", hosts.AnswerRequested},
		{"may read alone", "eve", command, model.RepliesCollaborators, "", hosts.ErrOutsider.Error()},
		{"off", "vic", command, model.RepliesOff, "", ""},
		{"no reason", "vic", "/redoubt exception until 2999-01-31:", 0, "", hosts.AnswerNotDone},
		{"a day that is over", "vic", "/redoubt exception until 2001-01-31: x", 0, "", hosts.AnswerNotDone},
		{"too long", "vic", "/redoubt exception " + strings.Repeat("é", model.MaxNote+1), 0, "", hosts.AnswerNotDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newConversation(t, storetest.New(t, "sqlite"))
			if c.of != 0 {
				w.setReplyPolicy(c.of)
			}
			w.addComment(scm.Comment{Author: c.author, Thread: "t1", Path: "a.go", Body: c.body})
			same(t, "the requests", w.exceptionRequests(), c.want)
			same(t, "the decision", w.decision(w.on), "untriaged")
			if got := w.last(); (got != "") != (c.answer != "") || !strings.Contains(got, c.answer) {
				t.Errorf("answered %q, want %q", got, c.answer)
			}
			if c.want == "" {
				return
			}
			if got := w.last(); !strings.Contains(got, "/exceptions/") || strings.Contains(got, "<b>") {
				t.Errorf("the answer lacks the link to the request, or contains text of the comment: %q", got)
			}
			w.addComment(scm.Comment{Author: c.author, Thread: "t1", Path: "a.go", Body: c.body})
			same(t, "asked twice, the requests", w.exceptionRequests(), c.want)
			if got := w.last(); !strings.Contains(got, hosts.AnswerNotDone) {
				t.Errorf("asked twice, answered %q", got)
			}
		})
	}
}
