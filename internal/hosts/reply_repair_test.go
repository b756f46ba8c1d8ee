package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestReplyUsesCurrentPolicyAndRoles checks that changes of policies and roles during a request to
// the host are respected.
func TestReplyUsesCurrentPolicyAndRoles(t *testing.T) {
	for name, change := range map[string]func(w *conversation){
		"turned off": func(w *conversation) { w.setReplyPolicy(model.RepliesOff) },
		"linked no more": func(w *conversation) {
			_, err := w.keeper.ChangeReplies(w.t.Context(), w.d.ID, storetest.Actor, w.connection.ID, func(_ *model.ReplyPolicy, people model.HostPeople) { people.Remove("octocat") })
			w.must(err)
		},
		"a viewer by now": func(w *conversation) {
			w.update(func(ctx context.Context, tx *store.Tx) error {
				m, err := tx.Member(ctx, "ada")
				if err == nil {
					err = tx.SetRole(ctx, m.ID, model.RoleViewer)
				}
				return err
			})
		},
		"another has the login by now": func(w *conversation) { w.host.ids = map[string]string{"octocat": "id of mallory"} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newConversation(t, storetest.New(t, "sqlite"))
			w.host.meanwhile = func() {
				w.host.meanwhile = nil
				change(w)
			}
			w.host.comments = append(w.host.comments, scm.Comment{ID: "50", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt ignore"})
			if err := w.keeper.Poll(t.Context(), w.d.ID, w.connected()); err != nil { // a retry may be useful
				t.Log(err)
			}
			same(t, "the decision", w.triage(w.on).State, model.TriageUntriaged)
		})
	}
}

// TestFailedChangeRequestDoesNotBlockOthers checks that errors at one change request do not stop others.
func TestFailedChangeRequestDoesNotBlockOthers(t *testing.T) {
	for name, wrong := range map[string]error{"too many": model.ErrTooLarge, "forbidden": &scm.HostError{Status: 403}, "broken": model.ErrUnavailable} {
		t.Run(name, func(t *testing.T) {
			w := newConversation(t, storetest.New(t, "sqlite"))
			other := w.host.open[0]
			other.Number = 2
			w.host.open = append([]model.ChangeRequest{other}, w.host.open...)
			w.must(w.runStatusJob(w.scan(first, w.on, w.other)))
			w.host.broken = map[int64]error{2: wrong}
			w.host.comments = append(w.host.comments, scm.Comment{ID: "50", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt fixing"})
			if err := w.keeper.Poll(t.Context(), w.d.ID, w.connected()); err == nil {
				t.Error("it is not reported")
			}
			same(t, "the decision", w.triage(w.on).State, model.TriageFixing)
		})
	}
}

// TestLostAnswerDoesNotBlockNextReply checks that a lost answer does not stop the next reply.
func TestLostAnswerDoesNotBlockNextReply(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	w.host.cut = fmt.Errorf("the line is cut: %w", model.ErrUnavailable)
	w.host.comments = append(
		w.host.comments,
		scm.Comment{ID: "50", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt fixing"},
		scm.Comment{ID: "51", Author: "octocat", Thread: "t2", Path: "a.go", Body: "/redoubt reviewing"},
	)
	if err := w.keeper.Poll(t.Context(), w.d.ID, w.connected()); err == nil {
		t.Error("it is not reported")
	}
	same(t, "the first", w.triage(w.on).State, model.TriageFixing)
	same(t, "the second", w.triage(w.other).State, model.TriageReviewing)
}

// TestUnprivilegedCommentsDoNotBlockCommands checks that comments of people without write access never prevent
// commands of people with it.
func TestUnprivilegedCommentsDoNotBlockCommands(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	for i := range 250 {
		w.host.comments = append(w.host.comments, scm.Comment{ID: fmt.Sprint(1000 + i), Author: "eve", Body: "/redoubt help"})
	}
	for i := range 30 {
		w.host.comments = append(w.host.comments, scm.Comment{ID: fmt.Sprint(2000 + i), Author: fmt.Sprintf("sock%d", i), Body: "/redoubt help"})
	}
	w.addComment(scm.Comment{ID: "50", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt fixing"})
	same(t, "the decision", w.triage(w.on).State, model.TriageFixing)
	same(t, "answers", len(w.host.replies), 20+1)
	same(t, "rows", len(w.replied()), 20+1)
	w.host.may["eve"] = scm.MayWrite // earlier comments remain without effect
	w.hook()
	same(t, "answers", len(w.host.replies), 20+1)
}

// replied lists the stored replies.
func (w *conversation) replied() (list []store.ChangeReply) {
	w.t.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.RepositoryByHostID(ctx, w.connection.ID, "1")
		if err == nil {
			list, err = tx.ChangeReplies(ctx, r.ID, 3)
		}
		return err
	})
	return list
}

// TestLastCommandAnnouncesLimit checks that the last accepted command announces the limit. Further ones
// are ignored.
func TestLastCommandAnnouncesLimit(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	w.update(func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.RepositoryByHostID(ctx, w.connection.ID, "1")
		for i := range 198 {
			_, err2 := tx.ClaimChangeReply(ctx, store.ChangeReply{RepositoryID: r.ID, Number: 3, Comment: fmt.Sprint(1000 + i), Login: "octocat", At: w.now})
			err = errors.Join(err, err2)
		}
		return err
	})
	for i, c := range []struct {
		verb, answer string
		want         model.TriageState
	}{{"fixing", hosts.AnswerDone, model.TriageFixing}, {"reopen", hosts.ErrTooManyReplies.Error(), model.TriageFixing}, {"reopen", hosts.ErrTooManyReplies.Error(), model.TriageFixing}} {
		w.addComment(scm.Comment{Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt " + c.verb})
		same(t, "the decision", w.triage(w.on).State, c.want)
		if same(t, "answers", len(w.host.replies), min(i+1, 2)); !strings.Contains(w.last(), c.answer) {
			t.Errorf("answered %q", w.last())
		}
	}
}

// TestCommandsAreProcessedInTimeOrder checks that commands are processed in order of time. Those before our
// first comment are ignored, and those before another decision are refused.
func TestCommandsAreProcessedInTimeOrder(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	for i := range w.host.comments {
		w.host.comments[i].At = w.now
	}
	at := func(id string, after time.Duration, body string) scm.Comment {
		return scm.Comment{ID: id, Author: "octocat", At: w.now.Add(after), Body: fmt.Sprintf(body, w.on.ID)}
	}
	w.addComment(at("40", -time.Minute, "/redoubt ignore #%d"))
	same(t, "of before our comment", w.decision(w.on), "untriaged")
	w.host.comments = append(w.host.comments, at("42", 2*time.Minute, "/redoubt fixing #%d"))
	w.addComment(at("41", time.Minute, "/redoubt ignore #%d"))
	same(t, "the newest", w.triage(w.on).State, model.TriageFixing)
	same(t, "answers", len(w.host.replies), 2)
	w.update(func(ctx context.Context, tx *store.Tx) error {
		before := w.triage(w.on)
		return tx.UpdateTriage(ctx, []model.TriageEvent{{
			LineageID: w.on.LineageID, At: tx.Now(), By: tx.Actor(), Before: before,
			After: model.Triage{State: model.TriageReviewing, At: w.now.Add(4 * time.Minute), By: tx.Actor()},
		}})
	})
	w.addComment(at("43", 3*time.Minute, "/redoubt ignore #%d"))
	same(t, "of before another decision", w.triage(w.on).State, model.TriageReviewing)
	if !strings.Contains(w.last(), hosts.ErrDecidedSince.Error()) {
		t.Errorf("answered %q", w.last())
	}
}

// TestChangeRequestExcludesOtherProjects checks that findings of another project on a branch of the same name
// do not belong to the change request.
func TestChangeRequestExcludesOtherProjects(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	foreign := w.findIn("acme/web", "rule-c", 1)
	w.addComment(scm.Comment{Author: "octocat", Body: fmt.Sprintf("/redoubt ignore #%d", foreign.ID)})
	same(t, "the decision", w.triage(foreign).State, model.TriageUntriaged)
	if !strings.Contains(w.last(), hosts.ErrNotOfRequest.Error()) {
		t.Errorf("answered %q", w.last())
	}
}

// TestConnectionAccountRefusals checks refusals of the connection's account. If it may not query
// permissions, no command is processed until it may. If it may not answer, the answer is sent
// later.
func TestConnectionAccountRefusals(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	w.host.forbidden = &scm.HostError{Status: 403}
	w.addComment(scm.Comment{ID: "50", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt ignore no_time: later"})
	same(t, "answers", len(w.host.replies), 0)
	same(t, "rows", len(w.replied()), 0)
	w.view(func(ctx context.Context, tx *store.Tx) error {
		list, _, err := tx.Deliveries(ctx, store.DeliveryQuery{ConnectionID: w.connection.ID, Limit: 9})
		if !slices.ContainsFunc(list, func(d store.Delivery) bool { return strings.Contains(d.Outcome, "acme/payments") }) {
			t.Errorf("the reason is not reported: %+v", list)
		}
		return err
	})
	w.host.forbidden, w.host.refuses = nil, &scm.HostError{Status: 403}
	w.hook()
	same(t, "the decision", w.triage(w.on).State, model.TriageIgnored)
	before := w.triage(w.on)
	w.hook()
	w.host.refuses = nil
	w.hook()
	w.hook()
	same(t, "the decision", w.triage(w.on), before)
	same(t, "answers", len(w.host.replies), 1)
}

// TestCommentWithSeveralCommands checks that the answer mentions ignored further commands.
func TestCommentWithSeveralCommands(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	w.addComment(scm.Comment{Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt fixing\n/redoubt assign @me"})
	if !strings.Contains(w.last(), hosts.OnlyTheFirst) {
		t.Errorf("answered %q", w.last())
	}
}

// TestExpiredClaimDoesNotReleaseNewer checks that releasing an expired claim does not release a newer one.
func TestExpiredClaimDoesNotReleaseNewer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newConversation(t, s)
		w.update(func(ctx context.Context, tx *store.Tx) error {
			r, err := tx.RepositoryByHostID(ctx, w.connection.ID, "1")
			w.must(err)
			old, ok, err := tx.ClaimChange(ctx, r.ID, 3, 0)
			same(t, "the first", ok, true)
			w.must(err)
			until, ok, err := tx.ClaimChange(ctx, r.ID, 3, time.Minute)
			same(t, "the second", ok, true)
			w.must(errors.Join(err, tx.FreeChange(ctx, r.ID, 3, old)))
			_, ok, err = tx.ClaimChange(ctx, r.ID, 3, time.Minute)
			same(t, "the third", ok, false)
			w.must(errors.Join(err, tx.FreeChange(ctx, r.ID, 3, until)))
			_, ok, err = tx.ClaimChange(ctx, r.ID, 3, time.Minute)
			same(t, "the fourth", ok, true)
			return err
		})
	})
}

// TestLinkedUserWithoutRole checks that a link to a user without a role does not block changes of the
// connection. New links to that user are rejected.
func TestLinkedUserWithoutRole(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	w.update(func(ctx context.Context, tx *store.Tx) error {
		m, err := tx.Member(ctx, "ada")
		if err == nil {
			err = tx.SetRole(ctx, m.ID, model.RoleNone)
		}
		return err
	})
	off := model.RepliesOff
	save, err := w.keeper.PrepareUpdate(t.Context(), w.d.ID, w.connection.ID, model.ConnectionChange{Replies: &off, Credential: &credential})
	w.must(err)
	w.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := save(ctx, tx)
		return err
	})
	same(t, "replies", w.connected().Replies, off)
	if _, err := w.keeper.ChangeReplies(t.Context(), w.d.ID, storetest.Actor, w.connection.ID, func(_ *model.ReplyPolicy, people model.HostPeople) {
		w.must(people.Add("new", "ada"))
	}); err == nil {
		t.Error("a login is linked to a removed user")
	}
}

// TestCommentsBeforeReplyPolicyAreIgnored checks that comments written before the reply policy
// allowed them decide nothing. Later ones do.
func TestCommentsBeforeReplyPolicyAreIgnored(t *testing.T) {
	for _, c := range []struct {
		before, after model.ReplyPolicy
		author        string
		counts        bool
	}{
		{model.RepliesOff, model.RepliesLinked, "octocat", false},
		{model.RepliesOff, model.RepliesCollaborators, "bob", false},
		{model.RepliesLinked, model.RepliesCollaborators, "bob", false},
		{model.RepliesCollaborators, model.RepliesLinked, "octocat", true},
		{model.RepliesLinked, model.RepliesLinked, "octocat", true},
	} {
		for _, engine := range storetest.Engines {
			t.Run(fmt.Sprint(c.before, " to ", c.after, " ", engine), func(t *testing.T) {
				clock := storetest.NewClock()
				w := newConversation(t, storetest.Open(t, storetest.Database(t, engine, clock)))
				for i := range w.host.comments {
					w.host.comments[i].At = clock.Now()
				}
				w.setReplyPolicy(c.before)
				clock.Advance(time.Minute)
				w.host.comments = append(w.host.comments, scm.Comment{ID: "50", Author: c.author, Thread: "t1", Path: "a.go", Body: "/redoubt ignore no_time: early", At: clock.Now()})
				clock.Advance(time.Minute)
				w.setReplyPolicy(c.after)
				w.hook()
				want := model.TriageUntriaged
				if c.counts {
					want = model.TriageIgnored
				}
				same(t, "earlier comment", w.triage(w.on).State, want)
				second := clock.Now().Truncate(time.Second) // hosts report whole seconds
				clock.Advance(time.Minute)
				w.addComment(scm.Comment{ID: "51", Author: c.author, Thread: "t2", Path: "a.go", Body: "/redoubt fixing", At: second})
				same(t, "later comment", w.triage(w.other).State, model.TriageFixing)
			})
		}
	}
}

// TestToggledReplyPolicyIgnoresOlderComments checks that switching replies off and on again during a
// request prevents older comments from deciding.
func TestToggledReplyPolicyIgnoresOlderComments(t *testing.T) {
	clock := storetest.NewClock()
	w := newConversation(t, storetest.Open(t, storetest.Database(t, "sqlite", clock)))
	for i := range w.host.comments {
		w.host.comments[i].At = clock.Now()
	}
	clock.Advance(time.Minute)
	w.host.comments = append(w.host.comments, scm.Comment{ID: "50", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt ignore", At: clock.Now()})
	clock.Advance(time.Minute)
	w.host.meanwhile = func() {
		w.host.meanwhile = nil
		w.setReplyPolicy(model.RepliesOff)
		w.setReplyPolicy(model.RepliesLinked)
	}
	if err := w.keeper.Poll(t.Context(), w.d.ID, w.connected()); err == nil {
		t.Error("the change of the policy is not reported")
	}
	w.must(w.keeper.Poll(t.Context(), w.d.ID, w.connected()))
	same(t, "the decision", w.triage(w.on).State, model.TriageUntriaged)
}
