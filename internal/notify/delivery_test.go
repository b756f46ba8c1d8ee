package notify_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/store"
)

// jobs counts the jobs of a kind in all states.
func (w *world) jobs(kind string) (n int) {
	w.view(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Jobs(ctx, kind, 5000)
		n = len(list)
		return err
	})
	return n
}

// states counts the messages of rules by state.
func (w *world) states(rules ...int64) map[model.NotificationState]int {
	out := map[model.NotificationState]int{}
	for _, id := range rules {
		for _, n := range w.log(id) {
			out[n.State]++
		}
	}
	return out
}

// work runs delivery jobs like a server. The returned function stops it.
func (w *world) work() (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	q := queue.New(w.s, map[string]queue.Kind{
		store.NotifyJob:  {Work: queue.Do(w.n.Match), MaxRunning: 4, MaxPerDeployment: 1},
		store.DeliverJob: {Work: queue.Do(w.n.Deliver), MaxRunning: 128, MaxPerDeployment: 32, MaxPerKey: 4},
	}, queue.Options{Poll: 10 * time.Millisecond, Clock: w.clock.Now})
	done := make(chan struct{})
	go func() { defer close(done); q.Run(ctx, ctx) }()
	return func() { cancel(); <-done }
}

// TestUnresponsiveHostDoesNotDelayOthers checks the worst case: a thousand messages to as many rules with one
// unresponsive host. While all of its slots are blocked, receivers on other hosts, also of another
// tenant, are still served.
func TestUnresponsiveHostDoesNotDelayOthers(t *testing.T) {
	each(t, func(w *world) {
		const deliveries = 100 // many more than slots
		hole := newReceiver(w.T)
		open := make(chan struct{})
		var hung atomic.Int32
		hole.answers(func(_ http.ResponseWriter, q *http.Request) {
			hung.Add(1)
			select {
			case <-open:
			case <-q.Context().Done():
			}
		})
		release := sync.OnceFunc(func() { close(open) })
		w.Cleanup(release) // before the receiver closes, which waits for its responses
		healthy := make(chan string, 2)
		w.receiver.answers(func(_ http.ResponseWriter, q *http.Request) { healthy <- q.URL.Path })

		other := w.another()
		other.addRuleAt(w.receiver.URL+"/other", nil)
		var holes []int64
		w.update(func(ctx context.Context, tx *store.Tx) error {
			var list []model.Notification
			for i := range deliveries {
				name, address := fmt.Sprint("hole ", i), hole.URL
				if i == deliveries-1 {
					name, address = "healthy", strings.Replace(w.receiver.URL, "127.0.0.1", "localhost", 1)+"/healthy"
				}
				made, _, err := w.n.Add(ctx, tx, w.newRule(func(r *model.NotificationRule) { r.Name = name }), address)
				if err != nil {
					return err
				}
				if name != "healthy" {
					holes = append(holes, made.ID)
				}
				list = append(list, model.Notification{RuleID: made.ID, Receiver: made.Receivers()[0], Key: "first", DueAt: tx.Now()})
			}
			return tx.AddNotifications(ctx, list)
		})
		other.found(added{n: 1, severity: model.SeverityHigh})
		stop := w.work()
		defer stop()
		delivered := map[string]bool{<-healthy: true, <-healthy: true}
		if !delivered["/healthy"] || !delivered["/other"] {
			t.Errorf("told are %v", delivered)
		}
		if got := w.states(holes...); got[model.NotificationQueued] != deliveries-1 || hung.Load() > 4 {
			t.Errorf("of the hole's messages there are %v, and %d hang", got, hung.Load())
		}
		release()
		for deadline := time.Now().Add(5 * time.Minute); w.states(holes...)[model.NotificationDelivered] != deliveries-1; {
			if time.Now().After(deadline) {
				t.Fatalf("once the hole answers there are %v", w.states(holes...))
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// TestReceiverYieldsToOthers checks that a receiver yields to a waiting one after some seconds, and gets the
// remaining messages later.
func TestReceiverYieldsToOthers(t *testing.T) {
	w := newWorld(t, "sqlite")
	var order []string
	w.receiver.answers(func(_ http.ResponseWriter, q *http.Request) {
		order = append(order, q.URL.Path)
		w.clock.Advance(6 * time.Second) // each response uses up the time of a job
	})
	for _, path := range []string{"/a", "/b"} {
		w.addRuleAt(w.receiver.URL+path, func(r *model.NotificationRule) { r.Name = path })
	}
	for range 3 {
		w.found(added{n: 1, severity: model.SeverityHigh})
	}
	for w.step(store.NotifyJob) {
	}
	w.runDueJobs()
	if got := strings.Join(order, " "); got != "/a /b /a /b /a /b" && got != "/b /a /b /a /b /a" {
		t.Errorf("told are %s", got)
	}
}

// TestOutboxJobsAreBounded checks that each receiver has at most one waiting job, regardless
// of refusals.
func TestOutboxJobsAreBounded(t *testing.T) {
	each(t, func(w *world) {
		w.receiver.respondWith(http.StatusServiceUnavailable)
		for i := range 20 {
			w.addRule(func(r *model.NotificationRule) { r.Name = fmt.Sprint(i) })
		}
		for range 10 {
			w.found(added{n: 1, severity: model.SeverityHigh})
			w.runDueJobs()
			w.clock.Advance(time.Minute)
			w.runDueJobs()
		}
		if delivers, matches := w.jobs(store.DeliverJob), w.jobs(store.NotifyJob); delivers > 25 || matches > 2 {
			t.Errorf("there are %d jobs that deliver and %d that match", delivers, matches)
		}
	})
}

// TestRemovedRecipientGetsNoMoreMessages checks that removed recipients also get no messages that
// were queued before.
func TestRemovedRecipientGetsNoMoreMessages(t *testing.T) {
	change := func(w *world, r model.NotificationRule, how func(r *model.NotificationRule)) {
		w.update(func(ctx context.Context, tx *store.Tx) error {
			how(&r)
			_, err := w.n.Change(ctx, tx, r, "")
			return err
		})
	}
	for _, c := range []struct {
		name       string
		do         func(w *world, r model.NotificationRule)
		recipients string // addresses
		problem    string
	}{
		{"nothing", func(*world, model.NotificationRule) {}, "alice@example.com bob@example.com", ""},
		{"an address", func(w *world, r model.NotificationRule) {
			change(w, r, func(r *model.NotificationRule) { r.To = []string{"bob@example.com"} })
		}, "bob@example.com", "removed from"},
		{"another digest", func(w *world, r model.NotificationRule) {
			change(w, r, func(r *model.NotificationRule) { r.To, r.Digest = []string{"alice@example.com"}, model.DigestNone })
		}, "alice@example.com", "removed from"},
		{"paused", func(w *world, r model.NotificationRule) {
			change(w, r, func(r *model.NotificationRule) { r.Paused = true })
		}, "", "paused"},
		{"paused for a moment", func(w *world, r model.NotificationRule) {
			change(w, r, func(r *model.NotificationRule) { r.Paused = true })
			change(w, r, func(r *model.NotificationRule) { r.Paused = false })
		}, "", "paused"},
		{"removed", func(w *world, r model.NotificationRule) {
			w.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNotificationRule(ctx, r.ID) })
		}, "", ""},
	} {
		for _, engine := range []string{"sqlite", "postgres"} {
			t.Run(c.name+" "+engine, func(t *testing.T) {
				w := newWorld(t, engine)
				p := w.post()
				r, _ := w.addRule(byMail(model.DigestDay, "alice@example.com", "bob@example.com"))
				w.found(added{n: 1, severity: model.SeverityHigh})
				w.runDueJobs()
				c.do(w, r)
				w.clock.Advance(25 * time.Hour)
				w.runDueJobs()
				var recipients []string
				for _, l := range p.drain() {
					recipients = append(recipients, l.to)
				}
				slices.Sort(recipients)
				if got := strings.Join(recipients, " "); got != c.recipients {
					t.Errorf("told are %q, want %q", got, c.recipients)
				}
				for _, n := range w.log(r.ID) {
					if in := strings.Contains(c.recipients, n.Receiver.Address); in != (n.State == model.NotificationDelivered) || !in && !strings.Contains(n.Problem, c.problem) {
						t.Errorf("the log has %+v", n)
					}
				}
			})
		}
	}
}

// TestRuleEndedDuringDelivery pauses or removes a rule during a delivery.
func TestRuleEndedDuringDelivery(t *testing.T) {
	each(t, func(w *world) {
		r, _ := w.addRule(nil)
		var times atomic.Int32
		w.receiver.answers(func(_ http.ResponseWriter, _ *http.Request) {
			if times.Add(1) > 1 {
				return
			}
			w.update(func(ctx context.Context, tx *store.Tx) error {
				r.Paused = true
				_, err := w.n.Change(ctx, tx, r, "")
				return err
			})
		})
		w.found(added{n: 1, severity: model.SeverityHigh})
		w.found(added{n: 2, severity: model.SeverityHigh})
		w.runDueJobs()
		if n := times.Load(); n != 1 {
			t.Errorf("%d attempts, one of them after the rule was paused", n)
		}
		for _, n := range w.log(r.ID) {
			if n.State != model.NotificationFailed || n.Problem != "The rule was paused." {
				t.Errorf("the log has %+v", n)
			}
		}
		w.update(func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.ResendNotification(ctx, r.ID, w.log(r.ID)[0].ID); err == nil {
				t.Error("what a paused rule told is sent again")
			}
			return nil
		})
	})
}
