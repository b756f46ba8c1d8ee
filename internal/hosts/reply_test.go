package hosts_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/triage"
)

// idOf returns the fake's initial id of a login.
func idOf(login string) string { return "id of " + strings.ToLower(login) }

func (h *fakeHost) User(_ context.Context, login string) (scm.Account, error) {
	if login == "unknown" {
		return scm.Account{}, &scm.HostError{Status: 404}
	}
	return scm.Account{ID: cmp.Or(h.ids[strings.ToLower(login)], idOf(login)), Login: login}, h.down
}

func (h *fakeHost) Permission(ctx context.Context, r model.Repository, login string) (scm.Permission, scm.Account, error) {
	h.permissions++
	if h.meanwhile != nil {
		h.meanwhile()
	}
	if h.forbidden != nil {
		return scm.MayNothing, scm.Account{}, h.forbidden
	}
	may, is := h.may[strings.ToLower(login)]
	if !is || r.FullName != "acme/payments" {
		return scm.MayNothing, scm.Account{}, &scm.HostError{Status: 404}
	}
	of, err := h.User(ctx, login)
	return may, of, err
}

func (h *fakeHost) Reply(_ context.Context, _ model.Repository, _ model.ChangeRequest, to scm.Comment, body string) error {
	if err := errors.Join(h.down, h.refuses); err != nil {
		return err
	}
	h.replies = append(h.replies, to.ID+": "+body)
	h.comments = append(h.comments, scm.Comment{ID: fmt.Sprint(len(h.comments) + 1), Author: "bot", Body: body, Thread: to.Thread, Path: to.Path})
	return h.cut
}

// conversation is a world with a change request and two blocking findings, each with a comment on
// its line. octocat is linked to ada, bob has write access only, and eve has none.
type conversation struct {
	*world
	connection model.Connection
	secret     string
	sent       int
	on         model.Finding // of the comment with the id 1
	other      model.Finding // of the comment with the id 2
}

func newConversation(t *testing.T, s *store.Store) *conversation {
	t.Helper()
	w := &conversation{world: newWorld(t, s)}
	read := index.New(s, index.Options{BodyCache: 1 << 20})
	w.keeper.Findings = func(ctx context.Context, id int64) (triage.Selector, error) { return read.Deployment(ctx, id) }
	w.connection = w.connect()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateUser(ctx, model.User{Name: "ada"}, model.RoleTriager)
		_, err2 := tx.CreateUser(ctx, model.User{Name: "vic"}, model.RoleViewer)
		return errors.Join(err, err2)
	})
	w.setReplyPolicy(model.RepliesLinked)
	w.host.may = map[string]scm.Permission{"octocat": scm.MayWrite, "bob": scm.MayWrite, "vic": scm.MayAdminister, "eve": scm.MayRead, "bot": scm.MayAdminister}
	w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix", UpdatedAt: w.now}}
	w.on, w.other = w.find("rule-a", 4), w.find("rule-b", 9)
	w.must(w.runStatusJob(w.scan(first, w.on, w.other)))
	var err error
	w.secret, err = w.keeper.Vault.OpenWebhook(w.d.ID, w.connection)
	w.must(err)
	return w
}

func (w *conversation) setReplyPolicy(p model.ReplyPolicy) {
	w.t.Helper()
	_, err := w.keeper.ChangeReplies(w.t.Context(), w.d.ID, storetest.Actor, w.connection.ID, func(of *model.ReplyPolicy, people model.HostPeople) {
		*of = p
		clear(people)
		w.must(errors.Join(people.Add("OctoCat", "ada"), people.Add("vic", "vic")))
	})
	w.must(err)
}

// addComment adds a comment at the host and sends its webhook.
func (w *conversation) addComment(c scm.Comment) {
	w.t.Helper()
	if c.ID == "" {
		c.ID = fmt.Sprint(len(w.host.comments) + 1)
	}
	w.host.comments = append(w.host.comments, c)
	w.hook()
}

func (w *conversation) hook() {
	w.t.Helper()
	w.sent++
	w.must(w.send(w.d.ID, w.connection.ID, w.secret, "issue_comment", fmt.Sprintf(`{"n":%d,"is_pull":true,"issue":{"number":3,"pull_request":{}},"repository":{"id":1}}`, w.sent)))
}

func (w *conversation) triage(f model.Finding) (t model.Triage) {
	w.t.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.Lineages(ctx, []int64{f.LineageID})
		t = found[f.LineageID].Triage
		return err
	})
	return t
}

func (w *conversation) decision(f model.Finding) string {
	t := w.triage(f)
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", t.State, t.Reason, t.By, t.Assignee, t.Comment))
}

// last returns the newest answer, without its mark.
func (w *conversation) last() string {
	if len(w.host.replies) == 0 {
		return ""
	}
	text, _, _ := strings.Cut(w.host.replies[len(w.host.replies)-1], "<!--")
	return text
}

// TestRepliesTriageFindings checks that linked people with write access decide about the finding of the
// comment they answer. Others decide nothing.
func TestRepliesTriageFindings(t *testing.T) {
	const line, noThread = "t1", ""
	const untouched = "untriaged"
	for _, c := range []struct {
		name, author, thread, body string
		of                         model.ReplyPolicy
		want                       string // the decision about the first finding
		answer                     string // a part of it; empty: none
	}{
		{"linked", "octocat", line, "/redoubt ignore false_positive: it is [a](http://x) test", 0, "ignored false_positive user:ada  it is [a](http://x) test", "4: " + hosts.AnswerDone},
		{"by its id", "OCTOCAT", noThread, "/redoubt fixing #ID soon", 0, "fixing  user:ada  soon", hosts.AnswerDone},
		{"assigned", "octocat", line, "/redoubt assign @me", 0, "untriaged   ada", hosts.AnswerDone},
		{"assigned to another", "octocat", line, "/redoubt assign @vic", 0, "untriaged   vic", hosts.AnswerDone},
		{"assigned to a stranger", "octocat", line, "/redoubt assign @mallory", 0, untouched, hosts.AnswerNotDone + "`mallory`"},
		{"not linked", "bob", line, "/redoubt ignore", 0, untouched, hosts.AnswerNotDone + hosts.ErrNotLinked.Error()},
		{"not linked, but let", "bob", line, "/redoubt ignore no_time: x", model.RepliesCollaborators, "ignored no_time collaborator:bob at git.example  x", hosts.AnswerDone},
		{"not linked, for themselves", "bob", line, "/redoubt assign @me", model.RepliesCollaborators, untouched, hosts.AnswerNotDone},
		{"linked to a viewer", "vic", line, "/redoubt ignore", 0, untouched, hosts.ErrMayNotDecide.Error()},
		{"linked to a viewer, where others may", "vic", line, "/redoubt ignore", model.RepliesCollaborators, untouched, hosts.ErrMayNotDecide.Error()},
		{"may read alone", "eve", line, "/redoubt ignore", model.RepliesCollaborators, untouched, hosts.ErrOutsider.Error()},
		{"may nothing", "mallory", line, "/redoubt ignore", model.RepliesCollaborators, untouched, hosts.ErrOutsider.Error()},
		{"off", "octocat", line, "/redoubt ignore", model.RepliesOff, untouched, ""},
		{"our own", "Bot", line, "/redoubt ignore", model.RepliesCollaborators, untouched, ""},
		{"no command", "octocat", line, "what about /redoubt ignore?", 0, untouched, ""},
		{"quoted", "octocat", line, "> /redoubt ignore\n\nno!", 0, untouched, ""},
		{"help", "octocat", line, "/redoubt help", 0, untouched, "/redoubt assign"},
		{"nonsense", "octocat", line, "/redoubt ignore fasle: x", 0, untouched, hosts.AnswerNotDone + "invalid reason `fasle`"},
		{"which one?", "octocat", noThread, "/redoubt ignore", 0, untouched, hosts.ErrNoFinding.Error()},
		{"another one than it answers", "octocat", "t2", "/redoubt ignore #ID", 0, untouched, hosts.ErrOtherFinding.Error()},
		{"none of it", "octocat", noThread, "/redoubt ignore #999", 0, untouched, hosts.ErrNotOfRequest.Error()},
		{"below another user's comment", "octocat", "t77", "/redoubt ignore", 0, untouched, hosts.ErrNoFinding.Error()},
		{"too long", "octocat", line, "/redoubt ignore " + strings.Repeat("é", model.MaxNote+1), 0, untouched, hosts.AnswerNotDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newConversation(t, storetest.New(t, "sqlite"))
			if c.of != 0 {
				w.setReplyPolicy(c.of)
			}
			path := ""
			if c.thread != noThread {
				path = "a.go"
			}
			w.addComment(scm.Comment{Author: c.author, Thread: c.thread, Path: path, Body: strings.ReplaceAll(c.body, "ID", fmt.Sprint(w.on.ID))})
			same(t, "the decision", w.decision(w.on), c.want)
			same(t, "about the other", w.decision(w.other), untouched)
			if got := w.last(); (got != "") != (c.answer != "") || !strings.Contains(got, c.answer) {
				t.Errorf("answered %q, want %q", got, c.answer)
			}
		})
	}
}

// TestDecisionUpdatesCommitStatus checks that a decision changes the commit status without a new scan.
func TestDecisionUpdatesCommitStatus(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newConversation(t, s)
		w.addComment(scm.Comment{Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt ignore false_positive: a test"})
		same(t, "one is left", w.latestStatus(), "acme/payments 1111 3 1")
		w.addComment(scm.Comment{Author: "octocat", Body: fmt.Sprintf("/redoubt ignore #%d acceptable_risk", w.other.ID)})
		same(t, "none is left", w.latestStatus(), "acme/payments 1111 2")
		if !hosts.Resolved(w.host.comments[0].Body) {
			t.Errorf("the comment is %q", w.host.comments[0].Body)
		}
		w.addComment(scm.Comment{Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt reopen"})
		same(t, "again", w.latestStatus(), "acme/payments 1111 3 1")
	})
}

// TestRepliesAreProcessedOnce checks that a reply decides once, even if it is sent again or edited, or
// its answer is lost.
func TestRepliesAreProcessedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newConversation(t, s)
		w.addComment(scm.Comment{ID: "50", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt ignore no_time: later"})
		before := w.triage(w.on)
		at := len(w.host.comments) - 2
		w.host.comments[at].Body = "/redoubt reopen"
		w.hook()
		w.host.comments[at].Edited = true
		w.hook()
		same(t, "the decision", w.triage(w.on), before)
		same(t, "answers", len(w.host.replies), 1)

		// the same id in another list of the host
		w.addComment(scm.Comment{ID: "50", Author: "octocat", Body: fmt.Sprintf("/redoubt reopen #%d", w.on.ID)})
		same(t, "one of the conversation", w.triage(w.on).State, model.TriageReopened)
		w.addComment(scm.Comment{Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt ignore", Edited: true})
		same(t, "an edited one", w.triage(w.on).State, model.TriageReopened)
		if !strings.Contains(w.last(), hosts.ErrEdited.Error()) {
			t.Errorf("answered %q", w.last())
		}
		w.addComment(scm.Comment{Author: "renovate", Bot: true, Thread: "t1", Path: "a.go", Body: "/redoubt ignore"})
		same(t, "answers", len(w.host.replies), 3)
		for range 3 { // a person without write access gets one answer
			w.addComment(scm.Comment{Author: "eve", Thread: "t1", Path: "a.go", Body: "/redoubt help"})
		}
		same(t, "answers", len(w.host.replies), 4)
	})
}

// TestLostAnswerIsSentOnce checks that a lost answer is sent again, and never twice.
func TestLostAnswerIsSentOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newConversation(t, s)
		w.host.cut = fmt.Errorf("the line is cut: %w", model.ErrUnavailable)
		w.host.comments = append(w.host.comments, scm.Comment{ID: "50", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt ignore no_time: later"})
		if err := w.keeper.Poll(t.Context(), w.d.ID, w.connected()); err == nil {
			t.Error("the failure of the host is not reported")
		}
		before := w.triage(w.on)
		w.host.cut = nil
		w.must(w.keeper.Poll(t.Context(), w.d.ID, w.connected()))
		same(t, "the decision", w.triage(w.on), before)
		same(t, "answers", len(w.host.replies), 1)
		w.host.comments = w.host.comments[:len(w.host.comments)-1] // it was not created after all
		w.host.comments = append(w.host.comments, scm.Comment{ID: "51", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt fixing"})
		w.host.down = fmt.Errorf("down: %w", model.ErrUnavailable)
		if err := w.keeper.Poll(t.Context(), w.d.ID, w.connected()); err == nil {
			t.Error("a host that is down is no error")
		}
		w.host.down = nil
		w.must(w.keeper.Poll(t.Context(), w.d.ID, w.connected()))
		same(t, "the decision", w.triage(w.on).State, model.TriageFixing)
		same(t, "answers", len(w.host.replies), 2)
	})
}

func (w *conversation) connected() (c model.Connection) {
	w.view(func(ctx context.Context, tx *store.Tx) (err error) {
		c, err = tx.Connection(ctx, w.connection.ID)
		return err
	})
	return c
}

// TestRepliesArePolledAfterChangesOnly checks that comments of unchanged change requests are
// not requested again.
func TestRepliesArePolledAfterChangesOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newConversation(t, s)
		poll := func(want model.TriageState, listed int) {
			t.Helper()
			before := w.host.listed
			w.must(w.keeper.Poll(t.Context(), w.d.ID, w.connected()))
			same(t, "the decision", w.triage(w.on).State, want)
			same(t, "asked for comments", w.host.listed-before, listed)
		}
		poll(model.TriageUntriaged, 1) // another comment may follow within the same second
		w.host.comments = append(w.host.comments, scm.Comment{ID: "50", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt fixing"})
		poll(model.TriageFixing, 2)
		w.now = w.now.Add(2 * time.Minute)
		poll(model.TriageFixing, 1)
		poll(model.TriageFixing, 0)
		w.host.comments = append(w.host.comments, scm.Comment{ID: "51", Author: "octocat", Thread: "t1", Path: "a.go", Body: "/redoubt reopen"})
		w.host.open[0].UpdatedAt = w.now
		poll(model.TriageReopened, 2)
	})
}

// TestFindingsOfForks checks that the branch of a fork is distinct from our branch of that name.
func TestFindingsOfForks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newConversation(t, s)
		w.host.open[0].Fork = true
		w.addComment(scm.Comment{Author: "octocat", Body: fmt.Sprintf("/redoubt ignore #%d", w.on.ID)})
		same(t, "the decision", w.triage(w.on).State, model.TriageUntriaged)
	})
}

// TestAuditLogContainsDecidingReplies checks that the audit log contains deciding replies, with person and
// place, and no others.
func TestAuditLogContainsDecidingReplies(t *testing.T) {
	w := newConversation(t, storetest.New(t, "sqlite"))
	w.addComment(scm.Comment{Author: "octocat", Thread: "t1", Body: "/redoubt ignore false_positive: a test"})
	w.addComment(scm.Comment{Author: "octocat", Thread: "t1", Body: "/redoubt assign @vic"})
	w.addComment(scm.Comment{Author: "octocat", Thread: "t1", Body: "/redoubt help"})
	w.addComment(scm.Comment{Author: "eve", Thread: "t1", Body: "/redoubt reopen"})
	var got []string
	w.view(func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.AuditEvents(ctx, 0, 1000)
		for _, e := range all {
			if e.Action == "reply.decide" {
				got = append(got, fmt.Sprintf("%s %s %s", e.By, strings.TrimSuffix(e.Subject, fmt.Sprint(w.on.ID)), e.After))
			}
		}
		return err
	})
	same(t, "the trail", got, []string{
		`user:ada finding: {"change_request":3,"command":"ignore","comment":"4","login":"octocat","reason":"false_positive","via":"octocat at acme/payments#3"}`,
		`user:ada finding: {"assignee":"vic","change_request":3,"command":"assign","comment":"6","login":"octocat","via":"octocat at acme/payments#3"}`,
	})
}
