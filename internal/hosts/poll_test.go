package hosts_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// scanOnPush enables scans of pushes to the default branches of all projects.
func (w *world) scanOnPush() {
	w.keeper.Watched = func(_ context.Context, _ *store.Tx, r model.Repository) (string, error) {
		return r.DefaultBranch, nil
	}
	w.keeper.Pushed = func(_ context.Context, _ *store.Tx, r model.Repository, branch, commit string) error {
		w.pushed = append(w.pushed, fmt.Sprintf("%s %s %.4s", r.FullName, branch, commit))
		return nil
	}
}

// took returns the entries of a list and clears it.
func took(list *[]string) []string {
	out := *list
	*list = nil
	return out
}

// pushTo returns the body of a webhook of a push to a branch of a repository.
func pushTo(id int, branch, commit string) string {
	return fmt.Sprintf(`{"ref":"refs/heads/%s","after":"%s","repository":{"id":%d}}`, branch, commit, id)
}

// TestPushesAreScannedOnceInAnyOrder checks that a late webhook does not replace a
// newer commit. A push that is both polled and delivered is scanned once.
func TestPushesAreScannedOnceInAnyOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.scanOnPush()
		c := w.connect()
		secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
		w.must(err)
		hook := func(commit string) { w.must(w.send(w.d.ID, c.ID, secret, "push", pushTo(1, "trunk", commit))) }
		poll := func() { w.must(w.keeper.Poll(t.Context(), w.d.ID, c)) }
		for _, step := range []struct {
			what string
			head string
			do   func()
			want []string
		}{
			{"polled", first, poll, []string{"acme/payments trunk 1111", "acme/web trunk 1111"}},
			{"polled again", first, poll, nil},
			{"webhook for a polled change", first, func() { hook(first) }, nil},
			{"told", second, func() { hook(second) }, []string{"acme/payments trunk 2222"}},
			{"told late of an older one", second, func() { hook(third) }, nil},
			{"pushed back", first, func() { hook("4444444444444444444444444444444444444444") }, []string{"acme/payments trunk 1111"}},
			{"deleted", "", poll, nil},
		} {
			w.host.heads = map[string]string{"trunk": step.head}
			step.do()
			same(t, step.what, took(&w.pushed), step.want)
		}
		same(t, "what the late one came to", w.outcomes(c)[1], "push: no change: trunk is at 222222222222")
	})
}

// TestConcurrentPollAndWebhookScanOnce processes a webhook during a poll of its repository,
// between the response of the host and the write. It covers a push and a change request.
func TestConcurrentPollAndWebhookScanOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.scanOnPush()
		c := w.connect()
		secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
		w.must(err)
		w.host.heads = map[string]string{"trunk": first}
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: second, HeadRef: "fix", BaseRef: "trunk"}}
		k := w.keeper.Config
		k.Hosts = webhookHost{w.host, func(event, body string) { w.must(w.send(w.d.ID, c.ID, secret, event, body)) }}
		w.must(hosts.New(k).Poll(t.Context(), w.d.ID, c))
		slices.Sort(w.pushed)
		slices.Sort(w.proposed)
		same(t, "pushes that are scanned", w.pushed, []string{"acme/payments trunk 1111", "acme/web trunk 1111"})
		same(t, "change requests that are scanned", w.proposed, []string{"acme/payments#3 2222", "acme/web#3 2222"})
	})
}

// webhookHost is a host that sends a webhook about the queried object before it responds.
type webhookHost struct {
	*fakeHost
	send func(event, body string)
}

func (h webhookHost) Open(model.Connection, model.HostCredential) (scm.Host, error) {
	return h, nil
}

func (h webhookHost) Branch(ctx context.Context, r model.Repository, name string) (string, error) {
	commit, err := h.fakeHost.Branch(ctx, r, name)
	h.send("push", fmt.Sprintf(`{"ref":"refs/heads/%s","after":"%s","repository":{"id":%s}}`, name, commit, r.HostID))
	return commit, err
}

func (h webhookHost) ChangeRequests(ctx context.Context, r model.Repository) ([]model.ChangeRequest, error) {
	list, err := h.fakeHost.ChangeRequests(ctx, r)
	h.send("pull_request", fmt.Sprintf(`{"number":3,"pull_request":{"number":3,"head":{"sha":"%s"}},"repository":{"id":%s}}`, second, r.HostID))
	return list, err
}

func (h webhookHost) Comments(ctx context.Context, r model.Repository, number int64) ([]scm.Comment, error) {
	list, err := h.fakeHost.Comments(ctx, r, number)
	h.send("issue_comment", fmt.Sprintf(`{"is_pull":true,"issue":{"number":%d,"pull_request":{}},"repository":{"id":%s}}`, number, r.HostID))
	return list, err
}

// TestConcurrentPollAndWebhookProcessReplyOnce checks that such a reply decides once, too.
func TestConcurrentPollAndWebhookProcessReplyOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newConversation(t, s)
		w.host.comments = append(w.host.comments, scm.Comment{ID: fmt.Sprint(len(w.host.comments) + 1), Author: "octocat", Body: "/redoubt ignore no_time: later", Path: "a.go", Line: 4, Thread: w.host.comments[0].Thread})
		w.host.open[0].UpdatedAt = w.now.Add(time.Minute)
		k := w.keeper.Config
		sent := 0
		k.Hosts = webhookHost{w.host, func(event, body string) {
			if event == "issue_comment" && sent == 0 {
				sent++
				w.must(w.send(w.d.ID, w.connection.ID, w.secret, event, body))
			}
		}}
		w.must(hosts.New(k).Poll(t.Context(), w.d.ID, w.connection))
		if sent != 1 || len(w.host.replies) != 1 {
			t.Errorf("told %d times meanwhile, answered: %q", sent, w.host.replies)
		}
		same(t, "the decision", w.decision(w.on), "ignored no_time user:ada  later")
	})
}

// TestPlainRemotesArePolled checks that pushes to plain Git remotes, which have no webhooks, are
// found by polling.
func TestPlainRemotesArePolled(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	w.scanOnPush()
	w.host.repositories = w.host.repositories[:1]
	c, err := w.keeper.Add(t.Context(), w.d.ID, storetest.Actor, model.Connection{Kind: model.HostGit, Name: "ours", BaseURL: "https://git.example/acme/payments.git", Follow: []string{"**"}}, model.HostCredential{})
	w.must(err)
	w.host.heads = map[string]string{"trunk": first}
	w.must(w.keeper.Poll(t.Context(), w.d.ID, c))
	same(t, "scanned commits", w.pushed, []string{"acme/payments trunk 1111"})
	same(t, "what it was asked", w.host.polled, []string{"acme/payments trunk"})
}

// TestIrrelevantWebhooksCreateNoJob checks that irrelevant webhooks get their outcome immediately.
func TestIrrelevantWebhooksCreateNoJob(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	w.scanOnPush()
	c := w.connect()
	secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
	w.must(err)
	w.host.heads = map[string]string{"trunk": first}
	_, err = w.keeper.ChangeReplies(t.Context(), w.d.ID, storetest.Actor, c.ID, func(of *model.ReplyPolicy, _ model.HostPeople) { *of = model.RepliesOff })
	w.must(err)
	for _, webhook := range []struct{ event, body, outcome string }{
		{"star", `{"repository":{"id":1}}`, "no action required"},
		{"push", pushTo(1, "other", first), "ignored: pushes to other are not scanned"},
		{"push", pushTo(1, "trunk", "0000000000000000000000000000000000000000"), "ignored: the branch was deleted"},
		{"push", pushTo(3, "trunk", first), "the repository is not a project"},
		{"pull_request", `{"number":3,"repository":{"id":77}}`, "the repository is not a project"},
		{"issue_comment", `{"issue":{"number":3,"pull_request":{}},"comment":{"body":"/redoubt help"},"repository":{"id":1}}`, "ignored: the connection accepts no commands"},
	} {
		w.must(w.sendWebhook(w.d.ID, c.ID, secret, webhook.event, webhook.body))
		same(t, "what came of it before any job", w.outcomes(c)[0], webhook.event+": "+webhook.outcome)
	}
	w.must(w.sendWebhook(w.d.ID, c.ID, secret, "push", pushTo(1, "trunk", first)))
	same(t, "pending webhook", w.outcomes(c)[0], "push: ")
}

// TestHostsPollingFrequency checks that repositories with webhooks are polled rarely and that a host
// that asks to wait is not polled. Failing repositories are polled after the others.
func TestHostsPollingFrequency(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		checkPolled := func(what string, want ...string) {
			t.Helper()
			list, err := []model.Connection(nil), error(nil)
			w.view(func(ctx context.Context, tx *store.Tx) error { list, err = tx.Connections(ctx); return err })
			_ = w.keeper.Poll(t.Context(), w.d.ID, list[0]) // it fails if the host does
			same(t, what, slices.Compact(took(&w.host.polled)), want)
		}
		checkPolled("without webhooks", "acme/payments", "acme/web")
		w.keeper.HookURL = "https://redoubt.example"
		_, err := w.made(c) // acme/web refuses it
		if err == nil {
			t.Fatal("all have webhooks")
		}
		checkPolled("with one that was never heard of", "acme/payments", "acme/web")
		secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
		w.must(err)
		w.must(w.send(w.d.ID, c.ID, secret, "star", `{"repository":{"id":1}}`))
		checkPolled("with a repository without a push", "acme/payments", "acme/web")
		w.must(w.send(w.d.ID, c.ID, secret, "push", pushTo(1, "trunk", first)))
		checkPolled("with one that is heard of", "acme/web")
		w.now = w.now.Add(59 * time.Minute)
		checkPolled("an hour not later", "acme/web")
		w.now = w.now.Add(2 * time.Minute)
		checkPolled("an hour later", "acme/payments", "acme/web")
	})
}

// TestUnreadableRepositoryDoesNotBlockPolling checks that the others are polled in the same
// round if the host returns status 500 for one. The failure is returned.
func TestUnreadableRepositoryDoesNotBlockPolling(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	c := w.connect()
	w.host.down = &scm.HostError{Status: 500}
	if err := w.keeper.Poll(t.Context(), w.d.ID, c); err == nil {
		t.Error("nothing is said of a host that is down")
	}
	same(t, "who was asked", w.host.polled, []string{"acme/payments", "acme/web"})
}
