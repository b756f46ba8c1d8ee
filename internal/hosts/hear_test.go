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

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// send has the keeper take a webhook, and works off what it queued.
func (w *world) send(deployment, connection int64, secret, event, body string) error {
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
	for {
		j, err := w.s.ClaimJob(w.t.Context(), []string{store.HearJob}, time.Minute, redoubt.JobOutage{})
		w.must(err)
		if j == nil {
			return nil
		}
		_, _, err = w.keeper.Hear(w.t.Context(), *j)
		w.must(err)
		w.must(w.s.FinishJob(w.t.Context(), *j, nil, ""))
	}
}

func (w *world) outcomes(c redoubt.Connection) (list []string) {
	w.view(func(ctx context.Context, tx *store.Tx) error {
		all, _, err := tx.Deliveries(ctx, store.DeliveryQuery{ConnectionID: c.ID, Limit: 20})
		for _, d := range all {
			list = append(list, d.Event+": "+d.Outcome)
		}
		return err
	})
	return list
}

func TestWebhooksAreTakenOnceAndWorkedOff(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		var pushed []string
		w.keeper.Pushed = func(_ context.Context, _ *store.Tx, r redoubt.Repository, branch, commit string) error {
			pushed = append(pushed, fmt.Sprintf("%s %s %.4s", r.FullName, branch, commit))
			return nil
		}
		c := w.connect()
		secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
		w.must(err)
		w.host.open = []redoubt.ChangeRequest{{Number: 3, State: redoubt.ChangeOpen, HeadCommit: first}}
		for _, told := range [][2]string{
			{"pull_request", `{"number":3,"repository":{"id":1}}`},
			{"pull_request", `{"number":4,"repository":{"id":1}}`},
			{"push", `{"ref":"refs/heads/trunk","after":"` + first + `","repository":{"id":1}}`},
			{"push", `{"ref":"refs/heads/trunk","after":"` + first + `","repository":{"id":3}}`},
			{"push", `{"ref":"refs/heads/trunk","after":"` + first + `","repository":{"id":77}}`},
			{"star", `{"repository":{"id":1}}`},
		} {
			w.must(w.send(w.d.ID, c.ID, secret, told[0], told[1]))
		}
		same(t, "what is to be scanned", append(w.proposed, pushed...), []string{"acme/payments#3 1111", "acme/payments trunk 1111"})
		same(t, "what came of it", w.outcomes(c), []string{
			"star: nothing to do", "push: the repository is no project", "push: the repository is no project", "push: a push to trunk",
			"pull_request: not found", "pull_request: change request 3 is open",
		})
		w.host.repositories = append(w.host.repositories, told("9", "acme/new"))
		w.must(w.send(w.d.ID, c.ID, secret, "repository", `{"action":"created","repository":{"id":9}}`))
		same(t, "a new repository", w.projects(), []string{"acme/new", "acme/payments", "acme/web"})

		for what, err := range map[string]error{
			"a replay":           w.send(w.d.ID, c.ID, secret, "pull_request", `{"number":3,"repository":{"id":1}}`),
			"another secret":     w.send(w.d.ID, c.ID, "other", "pull_request", `{"number":5,"repository":{"id":1}}`),
			"another connection": w.send(w.d.ID, c.ID+1000, secret, "pull_request", `{"number":5,"repository":{"id":1}}`),
			"another deployment": w.send(w.d.ID+1000, c.ID, secret, "pull_request", `{"number":5,"repository":{"id":1}}`),
		} {
			want := redoubt.ErrNotFound
			if what == "a replay" {
				want = redoubt.ErrConflict
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		same(t, "deliveries", len(w.outcomes(c)), 7)
	})
}

// AddHook notes where the host is to tell.
func (h *fakeHost) AddHook(_ context.Context, r redoubt.Repository, address, secret string) (string, error) {
	if r.FullName == "acme/web" {
		return "", &scm.HostError{Status: http.StatusForbidden}
	}
	h.hooks = append(h.hooks, address)
	if secret == "" {
		return "", errors.New("no secret")
	}
	return "41", h.down
}

func TestHooksAreMadeOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		for range 2 {
			n, err := w.keeper.Hook(t.Context(), w.d.ID, storetest.Actor, c.ID, "https://redoubt.example")
			if n != 1 || err == nil || !strings.Contains(err.Error(), "acme/web") {
				t.Errorf("%d hooks, %v", n, err)
			}
		}
		same(t, "where hosts tell", w.host.hooks, []string{fmt.Sprintf("https://redoubt.example/api/webhooks/%d/%d", w.d.ID, c.ID)})
		w.must(w.keeper.Remove(t.Context(), w.d.ID, storetest.Actor, c.ID))
		same(t, "removed at the host", w.host.hooks[1:], []string{"41"})
	})
}
