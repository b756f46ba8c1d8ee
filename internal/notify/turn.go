package notify

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

const (
	// turnFor is for how long one receiver is told before others have its lane: after
	// that no attempt begins.
	turnFor = 5 * time.Second
	// lookAgain is after how long it is looked again whether somebody is told whom the
	// last look gave a lane or had wait for one: this process may die meanwhile.
	lookAgain = 5 * time.Second
)

// Deliver is the job.Work that has a deployment's receivers told what waits for them
// (store.DeliverJob). It waits for none of them: each has a lane of its own, and goes on
// after the job. Another job looks again when the next message is due.
func (n *Notifier) Deliver(ctx context.Context, j redoubt.Job) (result []byte, media string, err error) {
	var ready []lane
	err = n.Store.Update(ctx, j.DeploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		waiting, err := tx.ReceiversWaiting(ctx)
		if err != nil || len(waiting) == 0 {
			return err
		}
		rules, err := rulesOf(ctx, tx)
		if err != nil {
			return err
		}
		var wait time.Duration
		ready, wait = readyAt(tx.Now(), j.DeploymentID, waiting, rules)
		return tx.QueueTurn(ctx, wait)
	})
	if err != nil {
		return nil, "", err
	}
	n.lanes.plan(j.DeploymentID, ready)
	n.enter()
	return nil, "", nil
}

// rulesOf finds the rules of a deployment by their ids.
func rulesOf(ctx context.Context, tx *store.Tx) (map[int64]redoubt.NotificationRule, error) {
	list, err := tx.NotificationRules(ctx)
	rules := make(map[int64]redoubt.NotificationRule, len(list))
	for _, r := range list {
		rules[r.ID] = r
	}
	return rules, err
}

// readyAt are the receivers that may be told at a time, those last whose last attempt failed,
// and how long it is until it is worth another look. Where the message that failed was given
// up, the rule still tells that it did.
func readyAt(now time.Time, deployment int64, waiting []store.ReceiverWaiting, rules map[int64]redoubt.NotificationRule) (ready []lane, wait time.Duration) {
	var repeated []lane
	for i, w := range waiting {
		until := w.From.Sub(now)
		if until <= 0 {
			rule := rules[w.Receiver.RuleID] // the zero one of mail
			failed := w.Attempts > 0 || rule.Problem != ""
			l := newLane(deployment, w.Receiver, rule.Host, failed)
			if failed {
				repeated = append(repeated, l)
			} else {
				ready = append(ready, l)
			}
			until = lookAgain
		}
		if i == 0 || until < wait {
			wait = until
		}
	}
	return append(ready, repeated...), wait
}

// enter has receivers told for which there is a lane.
func (n *Notifier) enter() {
	for n.work.Err() == nil {
		l, ok := n.lanes.enter()
		if !ok {
			return
		}
		n.told.Go(func() {
			more := n.turn(l)
			n.lanes.leave(l, more)
			n.enter()
		})
	}
}

// turn tells a receiver one message after the other for a while, and reports whether there
// is more to tell now. Where that cannot be found out the next look finds it.
func (n *Notifier) turn(l lane) (more bool) {
	log := n.Logger.With("deployment", l.deployment, "rule", l.to.RuleID)
	defer func() {
		if p := recover(); p != nil {
			log.Error("telling a receiver broke off", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			more = false
		}
	}()
	d := delivery{Notifier: n, deployment: l.deployment, to: l.to, most: 1}
	if l.to.Digest > redoubt.DigestNone {
		d.most = digestMost
	}
	for began := n.Clock(); ; {
		more, err := d.next(n.work)
		if err != nil && n.work.Err() == nil {
			log.Warn("what a receiver is told cannot be read or kept", "error", err)
		}
		if err != nil || !more {
			return false
		}
		if n.Clock().Sub(began) >= turnFor {
			return true
		}
	}
}

// Close ends the attempts under way, and waits until what came of them is kept. Nobody is
// told after it: have no Deliver run then.
func (n *Notifier) Close() {
	n.stop()
	n.told.Wait()
}
