package notify_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// outboxModel is a model of the messages that a deployment must send.
type outboxModel struct {
	*rapid.T
	w        *world
	post     *postbox
	d        model.Deployment
	rules    []*modelRule
	keys     int
	alive    map[string]bool // messages by "<key> <rule> <address>"; true: must arrive; false: must no longer arrive
	received map[string]int

	mu     sync.Mutex
	status map[string]int // by the path of a rule
}

// modelRule is a rule and the state of its receiver.
type modelRule struct {
	model.NotificationRule
	removed bool
	path    string
	newest  int // number of the newest key received by a webhook
}

// TestOutboxSendsRequiredMessages verifies decision 0035 for any order of commits, deliveries, crashes,
// refusals, pauses and removals. Each message of a remaining rule arrives at least once with its
// id. No message starts to arrive after it became unwanted.
func TestOutboxSendsRequiredMessages(t *testing.T) {
	each(t, func(w *world) {
		post := w.post()
		deployments := 0
		rapid.Check(w.T, func(rt *rapid.T) {
			deployments++
			d, err := w.s.CreateDeployment(t.Context(), fmt.Sprintf("d%d", deployments), "D", storetest.Actor)
			if err != nil {
				rt.Fatal(err)
			}
			m := &outboxModel{T: rt, w: w, post: post, d: d, alive: map[string]bool{}, received: map[string]int{}, status: map[string]int{}}
			m.begin()
			rt.Repeat(map[string]func(*rapid.T){
				"commit": func(*rapid.T) { m.commit() },
				"turn":   func(*rapid.T) { m.turn() },
				"wait": func(rt *rapid.T) {
					w.clock.Advance(rapid.SampledFrom([]time.Duration{time.Second, 6 * time.Second, time.Minute, 10 * time.Minute}).Draw(rt, "for"))
				},
				"kill before": func(*rapid.T) { m.killJob(false) },
				"kill after":  func(*rapid.T) { m.killJob(true) },
				"restart":     func(*rapid.T) { w.start() },
				"answer": func(rt *rapid.T) {
					m.answer(m.rule(rt), rapid.SampledFrom([]int{200, 204, 404, 429, 503}).Draw(rt, "with"))
				},
				"pause":             func(rt *rapid.T) { m.pause(m.rule(rt)) },
				"remove":            func(rt *rapid.T) { m.remove(m.rule(rt)) },
				"change people":     func(rt *rapid.T) { m.people(rapid.IntRange(0, 3).Draw(rt, "who")) },
				"received messages": func(*rapid.T) { m.checkReceived() },
			})
			m.end()
		})
	})
}

// begin creates two webhooks and a mail rule.
func (m *outboxModel) begin() {
	m.w.receiver.answers(func(w http.ResponseWriter, q *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		w.WriteHeader(max(m.status[q.URL.Path], 200))
	})
	m.w.receiver.drain()
	m.post.refuse(nil)
	m.post.drain()
	m.update(func(ctx context.Context, tx *store.Tx) error {
		for i := range 3 {
			path := fmt.Sprintf("/%d/%d", m.d.ID, i)
			r, address := m.w.newRule(func(r *model.NotificationRule) { r.Name = fmt.Sprint(i) }), m.w.receiver.URL+path
			if i == 2 {
				r.Channel, r.To, address = model.ChannelEmail, m.addresses(3), ""
			}
			made, _, err := m.w.n.Add(ctx, tx, r, address)
			if err != nil {
				return err
			}
			m.rules = append(m.rules, &modelRule{NotificationRule: made, path: path})
		}
		return nil
	})
}

func (m *outboxModel) update(fn func(ctx context.Context, tx *store.Tx) error) {
	if err := m.w.s.Update(m.w.Context(), m.d.ID, storetest.Actor, fn); err != nil {
		m.Fatal(err)
	}
}

// addresses returns those of the two people whose bits are set.
func (m *outboxModel) addresses(who int) (to []string) {
	for i, name := range []string{"alice", "bob"} {
		if who&(1<<i) != 0 {
			to = append(to, fmt.Sprintf("%s%d@example.com", name, m.d.ID))
		}
	}
	return to
}

func (m *outboxModel) rule(rt *rapid.T) *modelRule {
	return rapid.SampledFrom(m.rules).Draw(rt, "rule")
}

func message(key int, r *modelRule, to model.NotificationReceiver) string {
	return fmt.Sprintf("key%d %d %s", key, r.ID, to.Address)
}

// commit queues a message of each rule for each of its receivers.
func (m *outboxModel) commit() {
	m.keys++
	m.update(func(ctx context.Context, tx *store.Tx) error {
		var list []model.Notification
		for _, r := range m.rules {
			if r.removed || r.Paused {
				continue
			}
			for _, to := range r.Receivers() {
				id := message(m.keys, r, to)
				m.alive[id] = true
				list = append(list, model.Notification{
					RuleID: r.ID, Receiver: to, Key: fmt.Sprintf("key%d", m.keys), DueAt: tx.Now(),
					Message: model.NotificationMessage{Event: model.EventNewFinding, Title: fmt.Sprintf("key%d %d", m.keys, r.ID)},
				})
			}
		}
		return tx.AddNotifications(ctx, list)
	})
}

// turn runs one job.
func (m *outboxModel) turn() {
	m.w.step(store.DeliverJob)
	m.checkReceived()
}

// killJob simulates a server that dies after it claimed a job, before or after the delivery.
func (m *outboxModel) killJob(delivered bool) {
	j, err := storetest.Claim(m.w.Context(), m.w.s, time.Minute, store.DeliverJob)
	if err != nil {
		m.Fatal(err)
	}
	if j != nil && delivered {
		if _, _, err := queue.Do(m.w.n.Deliver)(m.w.Context(), *j); err != nil {
			m.Fatal(err)
		}
	}
	m.checkReceived()
}

func (m *outboxModel) answer(r *modelRule, status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status[r.path] = status
	if r.Channel == model.ChannelEmail {
		m.post.refuse(nil)
		if status >= 300 {
			m.post.refuse(&smtp.SMTPError{Code: map[bool]int{true: 550, false: 451}[status == 404], Message: "refused"})
		}
	}
}

// unwant marks the undelivered messages of a rule to matching addresses as unwanted.
func (m *outboxModel) unwant(r *modelRule, of func(address string) bool) {
	for id, alive := range m.alive {
		part := strings.Split(id, " ")
		if alive && part[1] == fmt.Sprint(r.ID) && of(part[2]) {
			m.alive[id] = false
		}
	}
}

func all(string) bool { return true }

func (m *outboxModel) change(r *modelRule, how func(r *model.NotificationRule)) {
	m.update(func(ctx context.Context, tx *store.Tx) (err error) {
		how(&r.NotificationRule)
		r.NotificationRule, err = m.w.n.Change(ctx, tx, r.NotificationRule, "")
		return err
	})
}

func (m *outboxModel) pause(r *modelRule) {
	if r.removed {
		return
	}
	m.checkReceived()
	m.change(r, func(r *model.NotificationRule) { r.Paused = !r.Paused })
	if r.Paused {
		m.unwant(r, all)
	}
}

func (m *outboxModel) remove(r *modelRule) {
	if r.removed {
		return
	}
	m.checkReceived()
	m.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNotificationRule(ctx, r.ID) })
	r.removed = true
	m.unwant(r, all)
}

// people changes the recipients of the mail rule.
func (m *outboxModel) people(who int) {
	r, to := m.rules[2], m.addresses(who)
	if r.removed || len(to) == 0 {
		return
	}
	m.checkReceived()
	m.change(r, func(r *model.NotificationRule) { r.To = to })
	m.unwant(r, func(address string) bool { return !slices.Contains(to, address) })
}

// idInMail matches the title of a message in a mail.
var idInMail = regexp.MustCompile(`key(\d+) \d+`)

// checkReceived checks the received messages against the model.
func (m *outboxModel) checkReceived() {
	for _, got := range m.w.receiver.drain() {
		var key int
		var rule int64
		if _, err := fmt.Sscanf(got.header.Get("webhook-id"), "msg_key%d_%d", &key, &rule); err != nil {
			m.Fatalf("the id %q: %v", got.header.Get("webhook-id"), err)
		}
		i := slices.IndexFunc(m.rules, func(r *modelRule) bool { return r.ID == rule && r.path == got.path })
		if i < 0 {
			continue // of another deployment, left by an earlier try
		}
		r := m.rules[i]
		m.arrived(message(key, r, model.NotificationReceiver{}))
		if key < r.newest {
			m.Errorf("%d comes after %d", key, r.newest)
		}
		r.newest = key
	}
	for _, l := range m.post.drain() {
		if !strings.HasSuffix(l.to, fmt.Sprintf("%d@example.com", m.d.ID)) {
			continue
		}
		for _, id := range slices.Compact(idInMail.FindAllString(l.subject, -1)) {
			m.arrived(id + " " + l.to)
		}
	}
}

func (m *outboxModel) arrived(id string) {
	if alive, known := m.alive[id]; !alive {
		m.Errorf("%s came, and must not (queued: %t)", id, known)
	}
	m.received[id]++
}

// end makes all receivers accept messages and advances the clock until all are delivered.
func (m *outboxModel) end() {
	for _, r := range m.rules {
		m.answer(r, 200)
	}
	for range 8 {
		m.w.runDueJobs()
		m.w.clock.Advance(30 * time.Minute)
	}
	m.w.runDueJobs()
	m.checkReceived()
	refused := m.refused()
	for id, alive := range m.alive {
		if alive && m.received[id] == 0 && !refused[id] {
			m.Errorf("%s never came", id)
		}
	}
}

// refused returns the messages that failed because their receiver repeatedly refused them.
func (m *outboxModel) refused() map[string]bool {
	out := map[string]bool{}
	err := m.w.s.View(m.w.Context(), m.d.ID, func(ctx context.Context, tx *store.Tx) error {
		for _, r := range m.rules {
			list, _, err := tx.Notifications(ctx, store.NotificationQuery{RuleID: r.ID, Limit: 5000})
			if err != nil {
				return err
			}
			for _, n := range list {
				if n.State == model.NotificationQueued {
					m.Errorf("%s waits for ever: %+v", n.Key, n)
				}
				if n.State == model.NotificationFailed && n.Attempts == 4 && n.Problem != "" {
					out[fmt.Sprintf("%s %d %s", n.Key, r.ID, n.Receiver.Address)] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		m.Fatal(err)
	}
	return out
}
