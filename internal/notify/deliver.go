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
	// turnFor is the time after which a delivery job starts no further attempt, for the benefit of
	// other receivers.
	turnFor = 5 * time.Second
	// keepWithin bounds how long a stop waits to keep what came of an attempt.
	keepWithin = 5 * time.Second
	// triedFor is how old a message gets before it is given up.
	triedFor = 24 * time.Hour
	// refusedMost is how often a receiver may say that it will not take a message.
	refusedMost = 4
	// digestMost is how many messages one mail is made of.
	digestMost = 500
)

// waits are how long a receiver is left alone after its first, second … failure.
var waits = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
}

// Deliver runs a store.DeliverJob: it delivers the waiting messages of one receiver in
// order. It adds another job for remaining messages, due at the next attempt.
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
		at, there, err := tx.NextDelivery(ctx, d.to)
		if err != nil || !there {
			return err
		}
		return tx.QueueDelivery(ctx, d.to, at)
	})
}

// delivery is one receiver being told.
type delivery struct {
	*Notifier
	deployment int64
	to         model.NotificationReceiver
	most       int // messages at once
	base       string
	rule       model.NotificationRule // of what is no mail
}

// read finds where the receiver is.
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

// next tells the receiver what is next, and reports whether there may be more to tell now.
func (d *delivery) next(ctx context.Context) (more bool, err error) {
	var list []model.Notification
	err = d.update(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if list, err = tx.NextNotifications(ctx, d.to, d.most); err != nil || len(list) == 0 {
			return err
		}
		return d.read(ctx, tx) // each time: the rule may lead elsewhere by now
	})
	if err != nil || len(list) == 0 {
		return false, err
	}
	outs := d.send(ctx, list)
	ctx, cancel := withGracePeriod(ctx, keepWithin) // or it would be sent twice for each stop
	defer cancel()
	err = d.update(ctx, func(ctx context.Context, tx *store.Tx) error { return d.end(ctx, tx, list, outs) })
	return !slices.ContainsFunc(outs, func(o outcome) bool { return o.State == model.NotificationQueued }), err
}

// withGracePeriod is a context that ends a while after another one.
func withGracePeriod(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, func() { stop(); cancel() }
}

// end keeps what came of an attempt, for each message.
func (d *delivery) end(ctx context.Context, tx *store.Tx, list []model.Notification, outs []outcome) error {
	alike := map[outcome][]model.Notification{}
	rules := map[int64]outcome{}
	for i, n := range list {
		out := outs[i]
		if out.gone && d.moved(ctx, tx) {
			out = outcome{Delivered: store.Delivered{
				State: model.NotificationQueued, Status: out.Status, Answer: out.Answer, Retry: waits[0],
			}}
		}
		alike[out] = append(alike[out], n)
		rules[n.RuleID] = out
	}
	for out, of := range alike {
		if err := tx.EndNotifications(ctx, of, out.Delivered); err != nil {
			return err
		}
	}
	for id, out := range rules { // after it: a rule that is paused ends what waits
		if err := tx.NoteNotificationProblem(ctx, id, out.Problem, out.gone); err != nil {
			return err
		}
	}
	return nil
}

// moved reports whether the rule leads elsewhere than where the attempt was made.
func (d *delivery) moved(ctx context.Context, tx *store.Tx) bool {
	rule, err := tx.NotificationRule(ctx, d.rule.ID)
	if err != nil {
		return false // of a rule that was removed there is nothing to pause
	}
	asked, err := d.open(d.deployment, d.rule)
	now, unread := d.open(d.deployment, rule)
	return err == nil && unread == nil && asked.URL != now.URL
}

// outcome is what came of an attempt.
type outcome struct {
	store.Delivered
	gone bool // the receiver wants no more messages, ever
}

// send makes an attempt, and says what came of it for each message: those of one mail are not
// all as old.
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

// sendingOf is a message as it is sent. Its id stays, however often it is.
func sendingOf(base string, n model.Notification) sending {
	n.Message.Reason = cut(n.Message.Reason, reasonTold)
	return sending{id: fmt.Sprintf("msg_%s_%d", n.Key, n.RuleID), sequence: n.ID, base: base, message: message{n.Message}}
}

// judge says what an answer means, and whether and when another attempt is made.
func (n *Notifier) judge(of model.Notification, a answer, err error) outcome {
	out := outcome{Delivered: store.Delivered{Status: a.status, Answer: a.text}}
	switch {
	case err != nil:
		out.Problem = "The receiver was not reached: " + cut(reason(err), answerKept)
	case a.status >= 200 && a.status < 300:
		out.State = model.NotificationDelivered
		return out
	case a.status == http.StatusGone:
		out.State, out.gone, out.Problem = model.NotificationFailed, true, "The receiver is gone for good (410): the "+
			"rule is paused."
		return out
	case a.status >= 300 && a.status < 400:
		out.Problem = fmt.Sprintf(
			"The receiver answered %d: it moved, and nobody is followed elsewhere. Give the rule the new address.", a.status,
		)
	default:
		out.Problem = fmt.Sprintf("The receiver answered %d.", a.status)
	}
	if refuses(a.status, err) && of.Attempts+1 >= refusedMost ||
		n.Clock().Sub(of.Receiver.Digest.Next(of.CreatedAt)) >= triedFor {
		out.State = model.NotificationFailed
		return out
	}
	out.State, out.Retry = model.NotificationQueued, max(waits[min(of.Attempts, len(waits)-1)], a.wait)
	return out
}

// refuses reports whether a receiver will hardly take the same later.
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

// reason is an error without the address, which is a secret with most channels.
func reason(err error) string {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "no answer within " + sendFor.String()
	}
	return err.Error()
}
