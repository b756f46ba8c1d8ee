package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
)

// DeliverJob is the kind of job that has the receivers of a deployment told what waits for
// them. One of them waits at most: the messages are the queue, the job says when to look.
const DeliverJob = "deliver"

// QueueTurn has the receivers told after a wait what waits for them then.
func (tx *Tx) QueueTurn(ctx context.Context, wait time.Duration) error {
	return tx.queueTurn(ctx, tx.now.Add(wait))
}

// queueTurn moves the job that waits to a time, unless it is due by then, or adds one.
func (tx *Tx) queueTurn(ctx context.Context, at time.Time) error {
	if !at.After(tx.now) {
		at = dueAtOnce
	}
	queued, err := many(ctx, tx, scalar[int64], `SELECT run_at FROM job WHERE deployment_id = $1 AND kind = $2 AND state = $3 ORDER BY run_at LIMIT 1`,
		DeliverJob, redoubt.JobQueued)
	switch {
	case err != nil:
		return err
	case len(queued) == 0:
		return tx.queueNotifying(ctx, DeliverJob, []byte("{}"), at)
	case queued[0] <= at.UnixMicro():
		return nil
	}
	if err := tx.session.jobDue(ctx, tx.deployment.ID, DeliverJob, at); err != nil {
		return err
	}
	return tx.write(ctx, `UPDATE job SET run_at = $4 WHERE deployment_id = $1 AND kind = $2 AND state = $3`, DeliverJob, redoubt.JobQueued, at)
}

// ReceiverWaiting is the oldest message that waits for a receiver: what comes after it
// waits for it.
type ReceiverWaiting struct {
	Receiver redoubt.NotificationReceiver
	// From is when it may be sent: when it is due, and nobody holds it.
	From     time.Time
	Attempts int // that failed
}

// ReceiversWaiting lists the receivers for which something waits, in the order in which
// they have waited.
func (tx *Tx) ReceiversWaiting(ctx context.Context) ([]ReceiverWaiting, error) {
	return many(ctx, tx, func(r row) (w ReceiverWaiting, err error) {
		var held time.Time
		err = r.Scan(decoded(&w.Receiver), instant(&w.From), instant(&held), &w.Attempts)
		w.From = later(w.From, held)
		return w, err
	}, `WITH RECURSIVE receiver (json) AS (
			SELECT MIN(receiver_json) FROM notification WHERE deployment_id = $1 AND state = $2
			UNION ALL
			SELECT (SELECT MIN(receiver_json) FROM notification WHERE deployment_id = $1 AND state = $2 AND receiver_json > receiver.json)
			FROM receiver WHERE json IS NOT NULL
		)
		SELECT n.receiver_json, n.due_at, n.held_until, n.attempts FROM receiver JOIN notification n ON n.deployment_id = $1
			AND n.id = (SELECT MIN(id) FROM notification WHERE deployment_id = $1 AND state = $2 AND receiver_json = receiver.json)
		ORDER BY n.due_at, n.id`, redoubt.NotificationQueued)
}

// ClaimNotifications hands out what waits for a receiver, oldest first, most of it at most,
// and holds it for a while: until then, or EndNotifications, nobody else has any of that
// receiver. What is not due yet holds up what comes after it. What its rule tells the
// receiver no more, as it is now, fails instead, and so does what tells of a comment that was
// withdrawn: the text of a comment is read here, and kept nowhere else.
func (tx *Tx) ClaimNotifications(ctx context.Context, to redoubt.NotificationReceiver, most int, hold time.Duration) ([]redoubt.Notification, error) {
	for {
		list, err := many(ctx, tx, scanNotification, `SELECT `+notificationColumns+` FROM notification
			WHERE deployment_id = $1 AND state = $2 AND receiver_json = $3 ORDER BY id LIMIT $4`, redoubt.NotificationQueued, encoded(to), most)
		if err != nil {
			return nil, err
		}
		ids := make([]int64, 0, len(list))
		for i, n := range list {
			if n.HeldUntil.After(tx.now) {
				return nil, nil
			}
			if n.DueAt.After(tx.now) {
				list = list[:i]
				break
			}
			ids = append(ids, n.ID)
		}
		unwanted, err := tx.endUnwantedOf(ctx, to, list)
		withdrawn := false
		if err == nil {
			withdrawn, err = tx.readTold(ctx, list)
		}
		switch {
		case err != nil:
			return nil, err
		case unwanted || withdrawn:
			continue
		case len(list) == 0:
			return nil, nil
		}
		in, arg := tx.in("id", 3, ids)
		return list, tx.write(ctx, `UPDATE notification SET held_until = $2 WHERE deployment_id = $1 AND `+in, tx.now.Add(hold), arg)
	}
}

// endUnwantedOf has messages fail that their rules tell a receiver no more, with all that
// waits for it by the same rule, and reports whether there were any.
func (tx *Tx) endUnwantedOf(ctx context.Context, to redoubt.NotificationReceiver, list []redoubt.Notification) (ended bool, err error) {
	known := map[int64]bool{}
	for _, n := range list {
		if n.RuleID == 0 {
			unwanted, err := tx.endUnwantedByPerson(ctx, n)
			if err != nil {
				return ended, err
			}
			ended = ended || unwanted
			continue
		}
		if known[n.RuleID] {
			continue
		}
		known[n.RuleID] = true
		rule, err := tx.NotificationRule(ctx, n.RuleID)
		why := rule.Unwanted(to)
		switch {
		case errors.Is(err, redoubt.ErrNotFound):
			why = "The rule was removed."
		case err != nil:
			return ended, err
		}
		if why != "" {
			ended = true
			if err := tx.endWaiting(ctx, n.RuleID, to, why); err != nil {
				return ended, err
			}
		}
	}
	return ended, nil
}

// endUnwantedByPerson has a message fail that no rule has told, and whose person left, gets
// mail elsewhere by now or wants none, and reports whether it did.
func (tx *Tx) endUnwantedByPerson(ctx context.Context, n redoubt.Notification) (bool, error) {
	m, err := tx.MemberByID(ctx, n.Message.Person)
	if err != nil && !errors.Is(err, redoubt.ErrNotFound) || err == nil && m.MailTo() == n.Receiver.Address {
		return false, err
	}
	return true, tx.endUntold(ctx, n, "The person gets no mail there any more.")
}

// readTold reads the comments that messages tell of, as they are now, and has those fail
// whose comment was withdrawn or went with its finding. It reports whether there were any.
func (tx *Tx) readTold(ctx context.Context, list []redoubt.Notification) (ended bool, err error) {
	var ids []int64
	for _, n := range list {
		if id := n.Message.Comment; id != 0 && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	texts, err := tx.findingCommentTexts(ctx, ids)
	if err != nil {
		return false, err
	}
	for i := range list {
		n := &list[i]
		if n.Message.Comment == 0 {
			continue
		}
		text, there := texts[n.Message.Comment]
		if n.Message.Reason = text; text != "" {
			continue
		}
		why := "The comment was withdrawn."
		if !there {
			why = "The comment was removed with its project."
		}
		if err := tx.endUntold(ctx, *n, why); err != nil {
			return ended, err
		}
		ended = true
	}
	return ended, nil
}

// endUntold has a message fail that waits.
func (tx *Tx) endUntold(ctx context.Context, n redoubt.Notification, why string) error {
	return tx.write(ctx, `UPDATE notification SET state = $2, problem = $3, ended_at = $4, held_until = $5 WHERE deployment_id = $1 AND id = $6`,
		redoubt.NotificationFailed, why, tx.now, time.Time{}, n.ID)
}

// endUnwanted has what waits fail that a rule tells no more: at once, so that it stays
// untold when the rule goes on.
func (tx *Tx) endUnwanted(ctx context.Context, r redoubt.NotificationRule) error {
	receivers, err := many(ctx, tx, func(r row) (to redoubt.NotificationReceiver, err error) { return to, r.Scan(decoded(&to)) },
		`SELECT DISTINCT receiver_json FROM notification WHERE deployment_id = $1 AND rule_id = $2 AND state = $3`, r.ID, redoubt.NotificationQueued)
	for _, to := range receivers {
		if why := r.Unwanted(to); why != "" && err == nil {
			err = tx.endWaiting(ctx, r.ID, to, why)
		}
	}
	return err
}

// endWaiting has what waits for a receiver by a rule fail.
func (tx *Tx) endWaiting(ctx context.Context, ruleID int64, to redoubt.NotificationReceiver, why string) error {
	return tx.write(ctx, `UPDATE notification SET state = $2, problem = $3, ended_at = $4, held_until = $5
		WHERE deployment_id = $1 AND state = $6 AND receiver_json = $7 AND rule_id = $8`,
		redoubt.NotificationFailed, why, tx.now, time.Time{}, redoubt.NotificationQueued, encoded(to), ruleID)
}

// NotificationsWait reports whether some receiver is to be told something.
func (tx *Tx) NotificationsWait(ctx context.Context) (bool, error) {
	some, err := many(ctx, tx, scalar[int64], `SELECT id FROM notification WHERE deployment_id = $1 AND state = $2 LIMIT 1`, redoubt.NotificationQueued)
	return len(some) > 0, err
}

const (
	// notificationsKept is how many of a rule are kept, without those that wait.
	notificationsKept = 1000
	// notificationsDropped is how many go in one transaction at most.
	notificationsDropped = 1000
)

// PruneNotifications forgets what a rule told before the newest 1,000, a part of it at a
// time, so that nobody waits long.
func (s *Store) PruneNotifications(ctx context.Context, deploymentID, ruleID int64) error {
	var last []int64
	err := s.View(ctx, deploymentID, func(ctx context.Context, tx *Tx) (err error) {
		last, err = many(ctx, tx, scalar[int64], `SELECT id FROM notification WHERE deployment_id = $1 AND rule_id = $2 AND state <> $3 ORDER BY id DESC LIMIT 1 OFFSET $4`,
			ruleID, redoubt.NotificationQueued, notificationsKept)
		return err
	})
	by := redoubt.Actor{Kind: "system", Name: "prune"}
	for more := len(last) > 0; more && err == nil; {
		err = s.Update(ctx, deploymentID, by, func(ctx context.Context, tx *Tx) error {
			gone, err := tx.exec(ctx, `DELETE FROM notification WHERE deployment_id = $1 AND id IN
				(SELECT id FROM notification WHERE deployment_id = $1 AND rule_id = $2 AND state <> $3 AND id <= $4 ORDER BY id LIMIT $5)`,
				ruleID, redoubt.NotificationQueued, last[0], notificationsDropped)
			more = gone == notificationsDropped
			return err
		})
	}
	return err
}
