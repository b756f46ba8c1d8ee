package hosts_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestLinkFollowsAccountID checks that a link follows the id of the person, not the login.
func TestLinkFollowsAccountID(t *testing.T) {
	took := func(w *conversation) { w.host.ids = map[string]string{"octocat": "id of mallory"} }
	for name, c := range map[string]struct {
		policy model.ReplyPolicy
		before func(w *conversation)
		by     scm.Comment
		want   string // the decision
		answer string
	}{
		"another took the name":                   {model.RepliesLinked, took, scm.Comment{Author: "octocat", AuthorID: "id of mallory"}, "untriaged", hosts.ErrNotLinked.Error()},
		"another took it, and all may":            {model.RepliesCollaborators, took, scm.Comment{Author: "octocat", AuthorID: "id of mallory"}, "fixing collaborator:octocat at", hosts.AnswerDone},
		"who was linked has another name":         {model.RepliesLinked, nil, scm.Comment{Author: "cat", AuthorID: "id of octocat"}, "fixing user:", hosts.AnswerDone},
		"a viewer is one under another name, too": {model.RepliesCollaborators, nil, scm.Comment{Author: "vixen", AuthorID: "id of vic"}, "untriaged", hosts.ErrMayNotDecide.Error()},
		"linked before ids were kept":             {model.RepliesLinked, func(w *conversation) { w.linkedOnce() }, scm.Comment{Author: "octocat"}, "untriaged", hosts.ErrLinkedLongAgo.Error()},
		"linked before, and all may":              {model.RepliesCollaborators, func(w *conversation) { w.linkedOnce() }, scm.Comment{Author: "octocat"}, "untriaged", hosts.ErrLinkedLongAgo.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				w := newConversation(t, s)
				w.setReplyPolicy(c.policy)
				w.host.may["cat"], w.host.may["vixen"] = scm.MayWrite, scm.MayWrite
				w.host.ids = map[string]string{"cat": "id of octocat", "vixen": "id of vic"}
				if c.before != nil {
					c.before(w)
				}
				c.by.Thread, c.by.Path, c.by.Body = "t1", "a.go", "/redoubt fixing"
				w.addComment(c.by)
				if got := w.decision(w.on); !strings.HasPrefix(strings.Join(strings.Fields(got), " "), c.want) {
					t.Errorf("decided %q, want %q", got, c.want)
				}
				if !strings.Contains(w.last(), c.answer) {
					t.Errorf("answered %q, want %q", w.last(), c.answer)
				}
			})
		})
	}
}

// linkedOnce stores a link without an id, as older rows have it.
func (w *conversation) linkedOnce() {
	w.t.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.Connection(ctx, w.connection.ID)
		if err == nil {
			c.People = model.HostPeople{"octocat": {User: "ada"}}
			_, err = tx.UpdateConnection(ctx, c, store.Sealed{})
		}
		return err
	})
}

// TestOnlyChangedLinksQueryHost checks that saving unchanged links does not query the host and
// adds no id to older links.
func TestOnlyChangedLinksQueryHost(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	change := func(lines ...string) error {
		people, err := model.ParseHostPeople(lines)
		w.must(err)
		save, err := w.keeper.PrepareUpdate(t.Context(), w.d.ID, w.connection.ID, model.ConnectionChange{People: &people})
		if err != nil {
			return err
		}
		w.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := save(ctx, tx)
			return err
		})
		return nil
	}
	linked := func() string { return fmt.Sprint(w.connected().People) }
	same(t, "linked", linked(), "map[octocat:{ada id of octocat} vic:{vic id of vic}]")
	w.host.ids = map[string]string{"octocat": "id of mallory"}
	w.must(change("octocat=ada"))
	same(t, "saved again", linked(), "map[octocat:{ada id of octocat}]")
	w.must(change("octocat=vic"))
	same(t, "another user", linked(), "map[octocat:{vic id of mallory}]")
	if err := change("octocat=vic", "unknown=ada"); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("an unknown login is linked: %v", err)
	}
	w.host.down = model.ErrUnavailable
	if err := change("octocat=vic", "bob=ada"); err == nil || !strings.Contains(err.Error(), "bob") {
		t.Errorf("a login is linked without a lookup at the host: %v", err)
	}
	many := make([]string, model.MaxNewHostPeople+1)
	for i := range many {
		many[i] = fmt.Sprintf("p%d=ada", i)
	}
	if err := change(many...); err == nil || !strings.Contains(err.Error(), strconv.Itoa(model.MaxNewHostPeople)) {
		t.Errorf("too many are linked at a time: %v", err)
	}
	same(t, "users after refused links", linked(), "map[octocat:{vic id of mallory}]")
	w.linkedOnce()
	w.must(change("octocat=ada"))
	same(t, "an older link", linked(), "map[octocat:{ada }]")
	w.must(change())
	w.host.down = nil
	w.must(change("octocat=ada"))
	same(t, "linked again", linked(), "map[octocat:{ada id of mallory}]")
}

// TestNewConnectionQueriesLinkedUsers checks that the people of a new connection are queried with its
// credential.
func TestNewConnectionQueriesLinkedUsers(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	c, err := w.keeper.Add(t.Context(), w.d.ID, storetest.Actor, model.Connection{
		Kind: model.HostGitLab, Name: "theirs", BaseURL: "https://git.example", People: model.HostPeople{"cat": {User: "ada"}},
	}, credential)
	w.must(err)
	same(t, "linked", fmt.Sprint(c.People), "map[cat:{ada id of cat}]")
}
