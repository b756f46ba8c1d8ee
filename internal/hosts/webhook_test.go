package hosts_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// send sends a webhook to the service and runs the jobs that it enqueued.
func (w *world) send(deployment, connection int64, secret, event, body string) error {
	w.t.Helper()
	if err := w.sendWebhook(deployment, connection, secret, event, body); err != nil {
		return err
	}
	for {
		j, err := storetest.Claim(w.t.Context(), w.s, time.Minute, store.WebhookJob)
		w.must(err)
		if j == nil {
			return nil
		}
		_, _, err = queue.Do(w.keeper.ProcessWebhook)(w.t.Context(), *j)
		w.must(err)
		w.must(w.s.FinishJob(w.t.Context(), *j, nil, ""))
	}
}

// sendWebhook sends a webhook to the service.
func (w *world) sendWebhook(deployment, connection int64, secret, event, body string) error {
	w.t.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.SetPathValue("deploymentId", fmt.Sprint(deployment))
	r.SetPathValue("connectionId", fmt.Sprint(connection))
	r.Header.Set("X-Gitea-Event", event)
	r.Header.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
	answer := httptest.NewRecorder()
	if err := w.keeper.Routes()[0].Handle(answer, r, auth.Caller{}); err != nil {
		return err
	}
	if answer.Code != http.StatusAccepted {
		w.t.Errorf("a webhook is answered %d", answer.Code)
	}
	return nil
}

func (w *world) outcomes(c model.Connection) (list []string) {
	w.view(func(ctx context.Context, tx *store.Tx) error {
		all, _, err := tx.Deliveries(ctx, store.DeliveryQuery{ConnectionID: c.ID, Limit: 20})
		for _, d := range all {
			list = append(list, d.Event+": "+d.Outcome)
		}
		return err
	})
	return list
}

func TestWebhooksAreAcceptedOnceAndProcessed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.scanOnPush()
		w.host.heads = map[string]string{"trunk": first}
		c := w.connect()
		secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
		w.must(err)
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first}}
		for _, webhook := range [][2]string{
			{"pull_request", `{"number":3,"repository":{"id":1}}`},
			{"pull_request", `{"number":4,"repository":{"id":1}}`},
			{"push", `{"ref":"refs/heads/trunk","after":"` + first + `","repository":{"id":1}}`},
			{"push", `{"ref":"refs/heads/trunk","after":"` + first + `","repository":{"id":3}}`},
			{"push", `{"ref":"refs/heads/trunk","after":"` + first + `","repository":{"id":77}}`},
			{"star", `{"repository":{"id":1}}`},
		} {
			w.must(w.send(w.d.ID, c.ID, secret, webhook[0], webhook[1]))
		}
		same(t, "pending commits", append(w.proposed, w.pushed...), []string{"acme/payments#3 1111", "acme/payments trunk 1111"})
		same(t, "what came of it", w.outcomes(c), []string{
			"star: no action required", "push: the repository is not a project", "push: the repository is not a project", "push: push to trunk",
			"pull_request: not found", "pull_request: change request 3 is open",
		})
		w.host.repositories = append(w.host.repositories, newRepository("9", "acme/new"))
		w.must(w.send(w.d.ID, c.ID, secret, "repository", `{"action":"created","repository":{"id":9}}`))
		same(t, "a new repository", w.projects(), []string{"acme/new", "acme/payments", "acme/web"})

		for what, err := range map[string]error{
			"a replay":           w.send(w.d.ID, c.ID, secret, "pull_request", `{"number":3,"repository":{"id":1}}`),
			"another secret":     w.send(w.d.ID, c.ID, "other", "pull_request", `{"number":5,"repository":{"id":1}}`),
			"another connection": w.send(w.d.ID, c.ID+1000, secret, "pull_request", `{"number":5,"repository":{"id":1}}`),
			"another deployment": w.send(w.d.ID+1000, c.ID, secret, "pull_request", `{"number":5,"repository":{"id":1}}`),
		} {
			want := model.ErrNotFound
			if what == "a replay" {
				want = model.ErrConflict
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		same(t, "deliveries", len(w.outcomes(c)), 7)
	})
}

// flood sends n webhooks to the service and runs no jobs.
func (w *world) flood(c model.Connection, secret string, n int, event string, body func(i int) string) (accepted int, err error) {
	w.t.Helper()
	for i := range n {
		text := body(i)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(text))
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text))
		r.SetPathValue("deploymentId", fmt.Sprint(w.d.ID))
		r.SetPathValue("connectionId", fmt.Sprint(c.ID))
		r.Header.Set("X-Gitea-Event", event)
		r.Header.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
		if err := w.keeper.Routes()[0].Handle(httptest.NewRecorder(), r, auth.Caller{}); err != nil {
			return accepted, err
		}
		accepted++
	}
	return accepted, nil
}

// hearings returns the number of queued webhook jobs.
func (w *world) hearings() (n int) {
	w.t.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Jobs(ctx, store.WebhookJob, 5000)
		for _, j := range list {
			if j.State == model.JobQueued {
				n++
			}
		}
		return err
	})
	return n
}

// TestWebhookFloodQueuesOneJob checks that each change request and branch has one queued job, of
// the newest webhook. A running job does not absorb later webhooks: it may have queried the host
// before.
func TestWebhookFloodQueuesOneJob(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.scanOnPush()
		w.host.heads = map[string]string{"trunk": strings.Repeat("9", 40)}
		c := w.connect()
		secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
		w.must(err)
		change := func(i int) string { return fmt.Sprintf(`{"n":%d,"number":%d,"repository":{"id":1}}`, i, 3+i%2) }
		_, err = w.flood(c, secret, 100, "pull_request", change)
		w.must(err)
		_, err = w.flood(c, secret, 10, "push", func(i int) string {
			return fmt.Sprintf(`{"ref":"refs/heads/trunk","after":"%s","repository":{"id":1}}`, strings.Repeat(fmt.Sprint(i), 40))
		})
		w.must(err)
		same(t, "jobs of 100 webhooks about two change requests, and ten pushes to one branch", w.hearings(), 3)
		claimed, err := storetest.Claim(t.Context(), s, time.Minute, store.WebhookJob)
		w.must(err)
		_, err = w.flood(c, secret, 5, "pull_request", func(i int) string { return fmt.Sprintf(`{"n":%d,"number":3,"repository":{"id":1}}`, 1000+i) })
		w.must(err)
		same(t, "and while that about the first is under way", w.hearings(), 3)
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first}, {Number: 4, State: model.ChangeOpen, HeadCommit: second}}
		_, _, err = queue.Do(w.keeper.ProcessWebhook)(t.Context(), *claimed)
		w.must(errors.Join(err, s.FinishJob(t.Context(), *claimed, nil, "")))
		w.must(w.send(w.d.ID, c.ID, secret, "star", `{}`))
		same(t, "scanned commits", append(w.proposed, w.pushed...), []string{"acme/payments#3 1111", "acme/payments#4 2222", "acme/payments trunk 9999"})
		list := w.outcomes(c)
		same(t, "the newest outcomes", list[:7], []string{
			"star: no action required", "pull_request: change request 3 is open",
			"pull_request: superseded by a newer webhook", "pull_request: superseded by a newer webhook",
			"pull_request: superseded by a newer webhook", "pull_request: superseded by a newer webhook", "push: push to trunk",
		})
	})
}

// TestPendingWebhooksAreBounded checks that excess webhooks are rejected as retryable. Accepted
// ones are never lost.
func TestPendingWebhooksAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
		w.must(err)
		w.update(func(ctx context.Context, tx *store.Tx) error { // as many as from earlier branches
			for i := range 1999 {
				if _, err := tx.QueueWebhook(ctx, c, fmt.Sprint("branch ", i), []byte(`{}`)); err != nil {
					return err
				}
			}
			return nil
		})
		accepted, err := w.flood(c, secret, 3, "pull_request", func(i int) string { return fmt.Sprintf(`{"number":%d,"repository":{"id":1}}`, 3+i) })
		if busy, is := errors.AsType[*model.BusyError](err); accepted != 1 || !is || busy.Wait <= 0 {
			t.Errorf("%d are taken, %v", accepted, err)
		}
		_, err = w.flood(c, secret, 1, "pull_request", func(int) string { return `{"again":1,"number":3,"repository":{"id":1}}` })
		w.must(err)
		same(t, "jobs", w.hearings(), 2000)
		same(t, "deliveries that were kept", len(w.outcomes(c)), 2)

		another, err := w.keeper.Add(t.Context(), w.d.ID, storetest.Actor, model.Connection{Kind: model.HostGitea, Name: "another", BaseURL: "https://other.example"}, credential)
		w.must(err)
		secret, err = w.keeper.Vault.OpenWebhook(w.d.ID, another)
		w.must(err)
		if accepted, err := w.flood(another, secret, 1, "pull_request", func(int) string { return `{"number":3,"repository":{"id":1}}` }); accepted != 1 {
			t.Errorf("a webhook of another connection: %v", err)
		}
	})
}

// TestNewerWebhookIsProcessedImmediately checks that a newer webhook is processed at once, regardless of
// the delay of the one before it.
func TestNewerWebhookIsProcessedImmediately(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			w := newWorld(t, storetest.Open(t, storetest.Database(t, engine, clock)))
			queue := func() {
				w.update(func(ctx context.Context, tx *store.Tx) error {
					_, err := tx.QueueWebhook(ctx, model.Connection{ID: 7}, "change 3", []byte(`{}`))
					return err
				})
			}
			claim := func() *model.Job {
				j, err := storetest.Claim(t.Context(), w.s, time.Minute, store.WebhookJob)
				w.must(err)
				return j
			}
			queue()
			before := claim()
			w.must(w.s.ReleaseJob(t.Context(), *before, time.Hour))
			clock.Advance(time.Minute)
			if j := claim(); j != nil {
				t.Fatalf("claimed is %+v", j)
			}
			queue()
			after := claim()
			if after == nil || after.ID != before.ID || after.Attempt != 1 || !after.CreatedAt.After(before.CreatedAt) {
				t.Errorf("before %+v, after %+v", before, after)
			}
		})
	}
}

// TestPushWaitsForRequestedDelay checks that a push waits as long as its host requests. The scan then
// uses the newest commit.
func TestPushWaitsForRequestedDelay(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	w.scanOnPush()
	c := w.connect()
	secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
	w.must(err)
	w.host.heads = map[string]string{"trunk": first}
	w.host.down = &model.BusyError{Text: "slow down", Wait: time.Hour}
	w.must(w.sendWebhook(w.d.ID, c.ID, secret, "push", pushTo(1, "trunk", first)))
	j, err := storetest.Claim(t.Context(), w.s, time.Minute, store.WebhookJob)
	w.must(err)
	_, _, err = queue.Do(w.keeper.ProcessWebhook)(t.Context(), *j)
	if wait, is := errors.AsType[queue.WaitError](err); !is || wait.Wait != time.Hour {
		t.Errorf("while the host is to be left alone: %v", err)
	}
	w.host.down = nil
	w.now = w.now.Add(time.Hour)
	w.host.heads["trunk"] = second
	_, _, err = queue.Do(w.keeper.ProcessWebhook)(t.Context(), *j)
	w.must(err)
	same(t, "pushes", w.pushed, []string{"acme/payments trunk 2222"})
}
