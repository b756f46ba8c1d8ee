package notify

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

const (
	// testsAtOnce is the burst of test messages of a deployment, each to one receiver. One more is
	// allowed every testsEvery.
	testsAtOnce = 100
	testsEvery  = 6 * time.Second
	// testFor limits a test, because the requester waits for it.
	testFor = 30 * time.Second
)

// brake limits the number of test messages by deployment. It is safe for concurrent use.
type brake struct {
	mu sync.Mutex
	of map[int64]*rate.Limiter
}

// reserve counts n messages, or returns the delay until they may be sent.
func (b *brake) reserve(deployment int64, now time.Time, n int) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[int64]*rate.Limiter{}
	}
	if b.of[deployment] == nil {
		b.of[deployment] = rate.NewLimiter(rate.Every(testsEvery), testsAtOnce)
	}
	r := b.of[deployment].ReserveN(now, n)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// Test sends a message to the receivers of a rule and returns the outcomes. They are also stored in
// the rule's log and the audit log. Too many tests of a deployment return a *model.BusyError.
func (n *Notifier) Test(
	ctx context.Context, deploymentID int64, who model.Actor, id int64,
) (list []model.Notification, err error) {
	d := delivery{Notifier: n, deployment: deploymentID, to: model.NotificationReceiver{RuleID: id}}
	if err := n.Store.View(ctx, deploymentID, d.read); err != nil {
		return nil, err
	}
	receivers := d.rule.Receivers()
	if wait := n.tests.reserve(deploymentID, n.Clock(), len(receivers)); wait > 0 {
		return nil, &model.BusyError{
			Text: "Too many tests of notification rules in the last minutes. Retry after the time in Retry-After.",
			Wait: max(wait, time.Second),
		}
	}
	m := model.NotificationMessage{
		Event: model.EventNewFinding,
		At:    n.Clock(),
		Rule:  d.rule.Name,
		Title: "This is a test of the notification rule " + d.rule.Name + ".",
		Path:  "/overview",
		Test:  true,
	}
	if events := d.rule.Events; !events.Has(m.Event) {
		m.Event, _ = model.ParseNotificationEvent(events.Names()[0])
	}
	within, cancel := context.WithTimeout(ctx, testFor)
	defer cancel()
	for _, to := range receivers {
		d.to = to
		one := model.Notification{RuleID: id, Receiver: to, Key: "test-" + rand.Text(), Message: m, CreatedAt: n.Clock()}
		list = append(list, d.tried(within, one))
	}
	ctx, end := withGracePeriod(ctx, keepWithin) // the messages were sent even if the client disconnected
	defer end()
	return list, n.Store.Update(ctx, deploymentID, who, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.AddNotificationTests(ctx, id, list)
		return err
	})
}

// tried returns a test message with its outcome. Tests are not retried.
func (d *delivery) tried(ctx context.Context, n model.Notification) model.Notification {
	if ctx.Err() != nil {
		n.State, n.Problem = model.NotificationFailed, fmt.Sprintf(
			"Not sent: the test took longer than %s, or was canceled.", testFor,
		)
		return n
	}
	out := d.send(ctx, []model.Notification{n})[0]
	if out.State == model.NotificationQueued {
		out.State = model.NotificationFailed
	}
	n.State, n.Status, n.Answer, n.Problem = out.State, out.Status, out.Answer, out.Problem
	return n
}
