package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// verify verifies the signature of a message like a receiver of Standard Webhooks.
func verify(t *testing.T, secret string, got received) bool {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 {
		t.Fatalf("the secret %q: %v", secret, err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", got.header.Get("webhook-id"), got.header.Get("webhook-timestamp"), got.body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return slices.Contains(strings.Fields(got.header.Get("webhook-signature")), want)
}

func TestNewFindingsAreSentBySignedWebhook(t *testing.T) {
	each(t, func(w *world) {
		r, secret := w.addRule(func(r *model.NotificationRule) { r.MinSeverity = model.SeverityHigh })
		w.found(added{n: 2, severity: model.SeverityMedium})
		w.found(added{n: 3, severity: model.SeverityHigh})
		w.runDueJobs()
		got := w.receiver.drain()
		if len(got) != 1 {
			t.Fatalf("%d messages, want 1", len(got))
		}
		if !verify(w.T, secret, got[0]) {
			t.Errorf("the signature does not hold: %v", got[0].header)
		}
		if kind := got[0].header.Get("Content-Type"); !strings.HasPrefix(kind, "application/cloudevents+json") {
			t.Errorf("Content-Type %q", kind)
		}
		w.receiver.got = got
		e := w.receiver.events(w.T)[0]
		if e.ID != got[0].header.Get("webhook-id") || e.Type != "redoubt.new_finding" || e.Source != "https://redoubt.example/orgs/acme" {
			t.Errorf("the event is %+v", e)
		}
		if e.Data.Count != 3 || e.Data.Severities["high"] != 3 || len(e.Data.Findings) != 3 || e.Data.Title != "3 new findings (3 high) in acme/api" {
			t.Errorf("it tells %+v", e.Data)
		}
		log := w.log(r.ID)
		if len(log) != 1 || log[0].State != model.NotificationDelivered || log[0].Status != http.StatusNoContent || log[0].Attempts != 1 {
			t.Errorf("the log has %+v", log)
		}
		if w.runDueJobs(); len(w.receiver.drain()) != 0 {
			t.Error("they are sent again")
		}
	})
}

func TestRolledBackEventsAreNotSent(t *testing.T) {
	each(t, func(w *world) {
		w.addRule(nil)
		broke := errors.New("broke")
		err := w.s.Update(t.Context(), w.d.ID, model.Actor{Kind: "cli"}, func(ctx context.Context, tx *store.Tx) error {
			if _, err := w.add(ctx, tx, added{n: 2, severity: model.SeverityHigh}); err != nil {
				return err
			}
			return broke
		})
		if !errors.Is(err, broke) {
			t.Fatal(err)
		}
		if w.runDueJobs(); len(w.receiver.drain()) != 0 {
			t.Error("rolled back events are sent")
		}
	})
}

func TestEventsMatchedTwiceAreSentOnce(t *testing.T) {
	each(t, func(w *world) {
		r, _ := w.addRule(nil)
		w.found(added{n: 1, severity: model.SeverityHigh})
		j, err := storetest.Claim(t.Context(), w.s, time.Minute, store.NotifyJob)
		if err != nil || j == nil {
			t.Fatal(j, err)
		}
		if _, _, err := queue.Do(w.n.Match)(t.Context(), *j); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(2 * time.Minute) // before the outcome is stored, another process takes over
		if w.runDueJobs(); len(w.receiver.drain()) != 1 || len(w.log(r.ID)) != 1 {
			t.Errorf("the log has %+v", w.log(r.ID))
		}
	})
}

func TestInterruptedDeliveryIsResumed(t *testing.T) {
	each(t, func(w *world) {
		w.addRule(nil)
		w.found(added{n: 1, severity: model.SeverityHigh})
		for w.step(store.NotifyJob) {
		}
		if j, err := storetest.Claim(t.Context(), w.s, time.Minute, store.DeliverJob); err != nil || j == nil {
			t.Fatal(j, err)
		}
		w.found(added{n: 1, severity: model.SeverityHigh})
		if w.runDueJobs(); len(w.receiver.drain()) != 0 {
			t.Fatal("two tell at once")
		}
		w.clock.Advance(5 * time.Minute)
		if w.runDueJobs(); len(w.receiver.drain()) != 2 {
			t.Error("the interrupted message is not sent")
		}
	})
}

func TestRecoveredReceiverGetsMessagesInOrder(t *testing.T) {
	each(t, func(w *world) {
		r, _ := w.addRule(nil)
		w.receiver.respondWith(http.StatusServiceUnavailable)
		w.found(added{n: 1, severity: model.SeverityHigh})
		w.found(added{n: 2, severity: model.SeverityHigh})
		w.runDueJobs()
		if got := w.receiver.drain(); len(got) != 1 {
			t.Fatalf("%d attempts, want the first message's alone", len(got))
		}
		first := w.log(r.ID)
		if n := first[len(first)-1]; n.State != model.NotificationQueued || n.Status != http.StatusServiceUnavailable || n.Attempts != 1 || !strings.Contains(n.Problem, "503") {
			t.Errorf("the log has %+v", n)
		}
		if w.problem(r.ID) == "" {
			t.Error("the rule does not say that its receiver is down")
		}
		w.clock.Advance(4 * time.Second)
		if w.runDueJobs(); len(w.receiver.drain()) != 0 {
			t.Error("it is tried before its time")
		}
		w.receiver.respondWith(http.StatusOK)
		w.clock.Advance(time.Minute)
		w.runDueJobs()
		events := w.receiver.events(w.T)
		if len(events) != 2 || events[0].Data.Count != 1 || events[1].Data.Count != 2 || events[0].Sequence >= events[1].Sequence {
			t.Errorf("it receives %+v", events)
		}
		if w.problem(r.ID) != "" {
			t.Error("the rule still says that its receiver is down")
		}
	})
}

func (w *world) problem(id int64) (problem string) {
	w.view(func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.NotificationRule(ctx, id)
		problem = r.Problem
		return err
	})
	return problem
}

func TestDeliveryAttemptsByReceiverResponse(t *testing.T) {
	for _, c := range []struct {
		name     string
		answer   func(w http.ResponseWriter, r *http.Request)
		attempts int // within the first hour
		ended    time.Duration
		paused   bool
		problem  string
	}{
		{"refused", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no such\x1b[31m channel", http.StatusNotFound)
		}, 4, time.Hour, false, "404"},
		{"gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }, 1, 0, true, "410"},
		{"moved", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusTemporaryRedirect)
		}, 4, time.Hour, false, "307"},
		{"down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, 6, 26 * time.Hour, false, "502"},
		{"cut off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 6, 26 * time.Hour, false, "not be reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "sqlite")
			r, _ := w.addRule(nil)
			w.receiver.answers(c.answer)
			w.found(added{n: 1, severity: model.SeverityHigh})
			w.runDueJobs()
			for range 60 {
				w.clock.Advance(time.Minute)
				w.runDueJobs()
			}
			if got := w.receiver.drain(); len(got) != c.attempts {
				t.Errorf("%d attempts within the hour, want %d", len(got), c.attempts)
			}
			for after := time.Hour; after < c.ended; after += 10 * time.Minute {
				w.clock.Advance(10 * time.Minute)
				w.runDueJobs()
			}
			n := w.log(r.ID)[0]
			if n.State != model.NotificationFailed || !strings.Contains(n.Problem, c.problem) || n.EndedAt.IsZero() || strings.Contains(n.Answer, "\x1b") {
				t.Errorf("the log has %+v", n)
			}
			for _, got := range w.receiver.drain() {
				if got.path != "/hook" {
					t.Errorf("a redirect was followed to %s", got.path)
				}
			}
			w.view(func(ctx context.Context, tx *store.Tx) error {
				r, err := tx.NotificationRule(ctx, r.ID)
				if r.Paused != c.paused {
					t.Errorf("paused is %t", r.Paused)
				}
				return err
			})
		})
	}
}

// TestReceiverResponsesAreBounded checks that reading an endless response stops at the stored size.
func TestReceiverResponsesAreBounded(t *testing.T) {
	w := newWorld(t, "sqlite")
	r, _ := w.addRule(nil)
	stopped := make(chan struct{})
	w.receiver.answers(func(w http.ResponseWriter, _ *http.Request) {
		defer close(stopped)
		part := []byte(strings.Repeat("x", 1<<16))
		for range 1 << 16 { // four gigabytes
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	})
	w.found(added{n: 1, severity: model.SeverityHigh})
	w.runDueJobs()
	<-stopped
	if n := w.log(r.ID)[0]; n.State != model.NotificationDelivered || len(n.Answer) > 600 || len(n.Answer) < 100 {
		t.Errorf("%d bytes are kept, state %s", len(n.Answer), n.State)
	}
}

// TestStoredResponsesHideReceiverAddress checks that the address is removed from responses that repeat it.
func TestStoredResponsesHideReceiverAddress(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.receiver.URL += "/services/T0/S3cret%20token"
	r, _ := w.addRule(nil)
	w.receiver.answers(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, fmt.Sprintf("no hook at %s, which is %s", r.RequestURI, r.URL.Path), http.StatusNotFound)
	})
	w.found(added{n: 1, severity: model.SeverityHigh})
	w.runDueJobs()
	if n := w.log(r.ID)[0]; n.Answer != "no hook at …, which is …" || n.Status != http.StatusNotFound {
		t.Errorf("the log has %q", n.Answer)
	}
}

func TestInternalAddressesAreNotNotified(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.reach = scm.Reach{NoPrivate: true, Flag: "--notify-to"}
	w.start()
	for _, address := range []string{"http://127.0.0.1/", "http://[::1]:80/", "http://10.1.2.3/x", "http://169.254.169.254/", "http://[::ffff:192.168.0.1]/", "ftp://hooks.example/", "http://a:b@hooks.example/", "hooks.example"} {
		w.update(func(ctx context.Context, tx *store.Tx) error {
			rule := model.NotificationRule{Name: "x", Events: 2, Channel: model.ChannelSlack}
			_, _, err := w.n.Add(ctx, tx, rule, address)
			if invalid, ok := errors.AsType[*model.InvalidError](err); !ok || invalid.Fields[0].Location != "url" {
				t.Errorf("%s: %v", address, err)
			}
			return nil
		})
	}
	// A name is checked when it is dialed, because its addresses may change at any time.
	w.receiver.URL = strings.Replace(w.receiver.URL, "127.0.0.1", "localhost", 1)
	r, _ := w.addRule(nil)
	w.found(added{n: 1, severity: model.SeverityHigh})
	w.runDueJobs()
	if got := w.receiver.drain(); len(got) != 0 {
		t.Fatalf("a message was sent to an internal address: %+v", got)
	}
	if n := w.log(r.ID)[0]; !strings.Contains(n.Problem, "--notify-to") || strings.Contains(n.Problem, "/hook") {
		t.Errorf("the log says %q", n.Problem)
	}
}

func TestRotatedAndPreviousSecretBothSign(t *testing.T) {
	w := newWorld(t, "sqlite")
	r, before := w.addRule(nil)
	var after string
	w.update(func(ctx context.Context, tx *store.Tx) (err error) {
		_, after, err = w.n.Rotate(ctx, tx, r.ID)
		return err
	})
	if before == after {
		t.Fatal("the secret is the same")
	}
	for _, c := range []struct {
		wait time.Duration
		both bool
	}{{0, true}, {25 * time.Hour, false}} {
		w.clock.Advance(c.wait)
		w.found(added{n: 1, severity: model.SeverityHigh})
		w.runDueJobs()
		got := w.receiver.drain()
		if len(got) != 1 || !verify(t, after, got[0]) || verify(t, before, got[0]) != c.both {
			t.Errorf("after %s: %v", c.wait, got[0].header)
		}
	}
}

func TestTestsAndResendsAreLogged(t *testing.T) {
	each(t, func(w *world) {
		r, _ := w.addRule(func(r *model.NotificationRule) { r.Paused = true })
		sent, err := w.n.Test(t.Context(), w.d.ID, model.Actor{Kind: "user", Name: "alice"}, r.ID)
		if err != nil || len(sent) != 1 || sent[0].State != model.NotificationDelivered || len(w.receiver.drain()) != 1 {
			t.Fatalf("a test: %+v, %v", sent, err)
		}
		w.update(func(ctx context.Context, tx *store.Tx) (err error) {
			r.Paused = false
			r, err = w.n.Change(ctx, tx, r, "")
			return err
		})
		w.found(added{n: 1, severity: model.SeverityHigh})
		w.runDueJobs()
		before := w.receiver.drain()
		var resent model.Notification
		last := w.log(r.ID)[0].ID
		w.update(func(ctx context.Context, tx *store.Tx) (err error) {
			resent, err = tx.ResendNotification(ctx, r.ID, last)
			return err
		})
		if resent.State != model.NotificationQueued {
			t.Errorf("it is %+v", resent)
		}
		w.runDueJobs()
		after := w.receiver.drain()
		if len(before) != 1 || len(after) != 1 || before[0].header.Get("webhook-id") != after[0].header.Get("webhook-id") {
			t.Errorf("%d and %d messages, of one id", len(before), len(after))
		}
	})
}

// TestGoneOldAddressDoesNotPauseRule checks that status 410 of an old address does not pause
// the rule. The message is delivered to the new address.
func TestGoneOldAddressDoesNotPauseRule(t *testing.T) {
	each(t, func(w *world) {
		r, _ := w.addRule(nil)
		w.receiver.answers(func(answer http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/hook" {
				w.update(func(ctx context.Context, tx *store.Tx) error {
					_, err := w.n.Change(ctx, tx, r, w.receiver.URL+"/elsewhere")
					return err
				})
				answer.WriteHeader(http.StatusGone)
			}
		})
		w.found(added{n: 1, severity: model.SeverityHigh})
		w.runDueJobs()
		w.clock.Advance(time.Minute)
		w.runDueJobs()
		w.view(func(ctx context.Context, tx *store.Tx) error {
			now, err := tx.NotificationRule(ctx, r.ID)
			if now.Paused || now.Problem != "" {
				w.Errorf("the rule is %+v", now)
			}
			return err
		})
		got := w.receiver.drain()
		if n := w.log(r.ID)[0]; len(got) != 2 || got[1].path != "/elsewhere" || n.State != model.NotificationDelivered {
			w.Errorf("told are %+v, the log has %+v", got, n)
		}
	})
}
