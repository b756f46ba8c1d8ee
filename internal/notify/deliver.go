package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

const (
	// turnFor is the time after which a delivery job starts no further attempt, so that other
	// receivers are served.
	turnFor = 5 * time.Second
	// keepWithin is the grace period of a shutdown for storing the outcome of an attempt.
	keepWithin = 5 * time.Second
	// triedFor is the age at which retries of a message end.
	triedFor = 24 * time.Hour
	// refusedMost is the number of refusals by a receiver after which a message fails.
	refusedMost = 4
	// digestMost is the maximum number of messages in one mail.
	digestMost = 500
)

// waits contains the delays after the first, second … failure of a receiver.
var waits = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
}

// Deliver runs a store.DeliverJob: it delivers the waiting messages of one receiver in order. It
// adds another job for remaining messages, due at the next attempt.
func (n *Notifier) Deliver(ctx context.Context, j model.Job, to model.NotificationReceiver) (err error) {
	d := delivery{Notifier: n, deployment: j.DeploymentID, most: 1, to: to}
	if d.to.Digest > model.DigestNone {
		d.most = digestMost
	}
	for began, more := n.Clock(), true; more && n.Clock().Sub(began) < turnFor; {
		if more, err = d.next(ctx); err != nil {
			return err
		}
	}
	return d.update(ctx, func(ctx context.Context, tx *store.Tx) error {
		at, found, err := tx.NextDelivery(ctx, d.to)
		if err != nil || !found {
			return err
		}
		return tx.QueueDelivery(ctx, d.to, at)
	})
}

// delivery is the state of a job that delivers to one receiver.
type delivery struct {
	*Notifier
	deployment int64
	to         model.NotificationReceiver
	most       int // messages at once
	base       string
	rule       model.NotificationRule // unless the receiver is a mail address
}

// read loads the base URL and the rule of the receiver.
func (d *delivery) read(ctx context.Context, tx *store.Tx) (err error) {
	d.base = d.PublicURL() + "/orgs/" + tx.Deployment().Slug
	if d.to.RuleID != 0 {
		d.rule, err = tx.NotificationRule(ctx, d.to.RuleID)
	}
	return err
}

func (d *delivery) update(ctx context.Context, fn func(context.Context, *store.Tx) error) error {
	return d.Store.Update(ctx, d.deployment, by, fn)
}

// next delivers the next messages, and reports whether there may be more to deliver now.
func (d *delivery) next(ctx context.Context) (more bool, err error) {
	var list []model.Notification
	err = d.update(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if list, err = tx.NextNotifications(ctx, d.to, d.most); err != nil || len(list) == 0 {
			return err
		}
		return d.read(ctx, tx) // each time: the address of the rule may have changed
	})
	if err != nil || len(list) == 0 {
		return false, err
	}
	outs := d.send(ctx, list)
	ctx, cancel := withGracePeriod(ctx, keepWithin) // otherwise each shutdown would cause duplicates
	defer cancel()
	err = d.update(ctx, func(ctx context.Context, tx *store.Tx) error { return d.end(ctx, tx, list, outs) })
	return !slices.ContainsFunc(outs, func(o outcome) bool { return o.State == model.NotificationQueued }), err
}

// withGracePeriod returns a context that is canceled some time after ctx.
func withGracePeriod(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, func() { stop(); cancel() }
}

// end stores the outcome of an attempt for each message.
func (d *delivery) end(ctx context.Context, tx *store.Tx, list []model.Notification, outs []outcome) error {
	byOutcome := map[outcome][]model.Notification{}
	rules := map[int64]outcome{}
	for i, n := range list {
		out := outs[i]
		if out.gone && d.moved(ctx, tx) {
			out = outcome{Delivered: store.Delivered{
				State: model.NotificationQueued, Status: out.Status, Answer: out.Answer, Retry: waits[0],
			}}
		}
		byOutcome[out] = append(byOutcome[out], n)
		rules[n.RuleID] = out
	}
	for out, of := range byOutcome {
		if err := tx.EndNotifications(ctx, of, out.Delivered); err != nil {
			return err
		}
	}
	for id, out := range rules { // afterwards: pausing a rule cancels its waiting messages
		if err := tx.NoteNotificationProblem(ctx, id, out.Problem, out.gone); err != nil {
			return err
		}
	}
	return nil
}

// moved reports whether the address of the rule changed since the attempt.
func (d *delivery) moved(ctx context.Context, tx *store.Tx) bool {
	rule, err := tx.NotificationRule(ctx, d.rule.ID)
	if err != nil {
		return false // a removed rule cannot be paused
	}
	attempted, err := d.open(d.deployment, d.rule)
	now, unread := d.open(d.deployment, rule)
	return err == nil && unread == nil && attempted.URL != now.URL
}

// outcome is the outcome of an attempt.
type outcome struct {
	store.Delivered
	gone bool // the receiver permanently rejects messages
}

// send attempts a delivery and returns the outcome for each message. The outcomes of messages in
// one mail differ with their ages.
func (d *delivery) send(ctx context.Context, list []model.Notification) []outcome {
	if d.to.RuleID != 0 {
		return []outcome{d.call(ctx, list[0])}
	}
	err := d.mail(ctx, list)
	outs := make([]outcome, len(list))
	for i, n := range list {
		if outs[i] = (outcome{Delivered: store.Delivered{State: model.NotificationDelivered}}); err != nil {
			outs[i] = d.judge(n, answer{}, err)
		}
	}
	return outs
}

// call sends a message to the address of its rule.
func (d *delivery) call(ctx context.Context, n model.Notification) outcome {
	target, err := d.open(d.deployment, d.rule)
	if err != nil {
		return outcome{Delivered: store.Delivered{State: model.NotificationFailed, Problem: cut(err.Error(), answerKept)}}
	}
	a, err := d.post(ctx, d.rule, target, sendingOf(d.base, n))
	out := d.judge(n, a, err)
	out.Problem = hush(out.Problem, target)
	return out
}

// sendingOf returns a message for sending. Its id is the same in all attempts.
func sendingOf(base string, n model.Notification) sending {
	n.Message.Reason = cut(n.Message.Reason, maxReason)
	return sending{id: fmt.Sprintf("msg_%s_%d", n.Key, n.RuleID), sequence: n.ID, base: base, message: message{n.Message}}
}

// judge returns the outcome of a response: the state, the problem, and the delay of the next
// attempt.
func (n *Notifier) judge(of model.Notification, a answer, err error) outcome {
	out := outcome{Delivered: store.Delivered{Status: a.status, Answer: a.text}}
	switch {
	case err != nil:
		out.Problem = "The receiver could not be reached: " + cut(reason(err), answerKept)
	case a.status >= 200 && a.status < 300:
		out.State = model.NotificationDelivered
		return out
	case a.status == http.StatusGone:
		out.State, out.gone, out.Problem = model.NotificationFailed, true, "The receiver was removed (410): the rule "+
			"is paused."
		return out
	case a.status >= 300 && a.status < 400:
		out.Problem = fmt.Sprintf(
			"The receiver returned %d: redirects are not followed. Set the new address in the rule.", a.status,
		)
	default:
		out.Problem = fmt.Sprintf("The receiver returned %d.", a.status)
	}
	if refuses(a.status, err) && of.Attempts+1 >= refusedMost ||
		n.Clock().Sub(of.Receiver.Digest.Next(of.CreatedAt)) >= triedFor {
		out.State = model.NotificationFailed
		return out
	}
	out.State, out.Retry = model.NotificationQueued, max(waits[min(of.Attempts, len(waits)-1)], a.wait)
	return out
}

// refuses reports whether a receiver is unlikely to accept the same message later.
func refuses(status int, err error) bool {
	_, forbidden := errors.AsType[interface {
		error
		Forbidden() bool
	}](err)
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return forbidden || status >= 300 && status < 500
}

// reason returns an error without the address, which is a secret in most channels.
func reason(err error) string {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "no response within " + sendFor.String()
	}
	return err.Error()
}
