package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redoubt/redoubt"
)

// DeliverJob is the kind of job that tells one receiver what waits for it.
const DeliverJob = "deliver"

const notificationColumns = `id, rule_id, receiver_json, event_key, message_json, state, created_at, due_at, held_until, ended_at, attempts, status, answer, problem`

func scanNotification(r row) (n redoubt.Notification, err error) {
	return n, r.Scan(&n.ID, &n.RuleID, decoded(&n.Receiver), &n.Key, decoded(&n.Message), &n.State, instant(&n.CreatedAt), instant(&n.DueAt), instant(&n.HeldUntil),
		instant(&n.EndedAt), &n.Attempts, &n.Status, &n.Answer, &n.Problem)
}

// notificationsKept is how many of a rule are kept, without those that wait.
const notificationsKept = 1000

// AddNotifications queues messages with the jobs that deliver them. One that a receiver
// was told of for the rule already is left out.
func (tx *Tx) AddNotifications(ctx context.Context, list []redoubt.Notification) error {
	ids, err := tx.newIDs(ctx, seqConnection, len(list))
	if err != nil {
		return err
	}
	rows := make([][]any, len(list))
	due := map[redoubt.NotificationReceiver]time.Time{}
	rules := map[int64]bool{}
	for i, n := range list {
		rows[i] = []any{
			ids[i], n.RuleID, encoded(n.Receiver), n.Key, encoded(n.Message), redoubt.NotificationQueued, tx.now, n.DueAt, time.Time{}, time.Time{}, 0, 0, "", "",
		}
		if at, known := due[n.Receiver]; !known || n.DueAt.Before(at) {
			due[n.Receiver] = n.DueAt
		}
		rules[n.RuleID] = true
	}
	err = inBatches(rows, func(part [][]any) error {
		return tx.insert(ctx, `notification (deployment_id, `+notificationColumns+`)`, part, `ON CONFLICT (deployment_id, event_key, rule_id, receiver_json) DO NOTHING`)
	})
	if err != nil {
		return err
	}
	for id := range rules {
		if err := tx.pruneNotifications(ctx, id); err != nil {
			return err
		}
	}
	return tx.queueDeliveries(ctx, due)
}

func (tx *Tx) pruneNotifications(ctx context.Context, ruleID int64) error {
	return tx.write(ctx, `DELETE FROM notification WHERE deployment_id = $1 AND rule_id = $2 AND state <> $3 AND id <=
		(SELECT id FROM notification WHERE deployment_id = $1 AND rule_id = $2 AND state <> $3 ORDER BY id DESC LIMIT 1 OFFSET $4)`,
		ruleID, int64(redoubt.NotificationQueued), notificationsKept)
}

// queueDeliveries adds a job for each receiver, unless one waits that is due by then.
func (tx *Tx) queueDeliveries(ctx context.Context, due map[redoubt.NotificationReceiver]time.Time) error {
	waiting := map[redoubt.NotificationReceiver]time.Time{}
	err := each(ctx, tx, func(r row) error {
		var input string
		var at time.Time
		var to redoubt.NotificationReceiver
		if err := r.Scan(&input, instant(&at)); err != nil || json.Unmarshal([]byte(input), &to) != nil {
			return err
		}
		if first, known := waiting[to]; !known || at.Before(first) {
			waiting[to] = at
		}
		return nil
	}, `SELECT input_json, run_at FROM job WHERE deployment_id = $1 AND kind = $2 AND state = $3`, DeliverJob, int64(redoubt.JobQueued))
	if err != nil {
		return err
	}
	for to, at := range due {
		if !at.After(tx.now) {
			at = dueAtOnce
		}
		if is, known := waiting[to]; known && !is.After(at) {
			continue
		}
		if err := tx.queueDelivery(ctx, to, at); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) queueDelivery(ctx context.Context, to redoubt.NotificationReceiver, at time.Time) error {
	input, err := json.Marshal(to)
	if err != nil {
		return err
	}
	return tx.queueNotifying(ctx, DeliverJob, input, at)
}

// Claimed is what a receiver is to be told now.
type Claimed struct {
	List []redoubt.Notification
	// Wait is how long to wait until there may be something, where the list is empty; 0:
	// nothing waits.
	Wait time.Duration
}

// ClaimNotifications hands out what waits for a receiver, oldest first, most of it at most,
// and holds it for a while: until then, or EndNotifications, nobody else has any of that
// receiver. What is not due yet holds up what comes after it.
func (tx *Tx) ClaimNotifications(ctx context.Context, to redoubt.NotificationReceiver, most int, hold time.Duration) (c Claimed, err error) {
	list, err := many(ctx, tx, scanNotification, `SELECT `+notificationColumns+` FROM notification
		WHERE deployment_id = $1 AND state = $2 AND receiver_json = $3 ORDER BY id LIMIT $4`, int64(redoubt.NotificationQueued), encoded(to), most)
	if err != nil || len(list) == 0 {
		return c, err
	}
	for _, n := range list {
		if n.HeldUntil.After(tx.now) {
			return Claimed{Wait: n.HeldUntil.Sub(tx.now)}, nil
		}
	}
	if first := list[0]; first.DueAt.After(tx.now) {
		return Claimed{Wait: first.DueAt.Sub(tx.now)}, nil
	}
	var ids []int64
	for _, n := range list {
		if n.DueAt.After(tx.now) {
			break
		}
		ids = append(ids, n.ID)
	}
	in, arg := tx.in("id", 3, ids)
	return Claimed{List: list[:len(ids)]}, tx.write(ctx, `UPDATE notification SET held_until = $2 WHERE deployment_id = $1 AND `+in, tx.now.Add(hold), arg)
}

// Delivered is what came of an attempt to tell a receiver.
type Delivered struct {
	State   redoubt.NotificationState // queued is to be tried again
	Status  int
	Answer  string
	Problem string
	Retry   time.Duration // after which it is tried again
}

// EndNotifications keeps what came of an attempt, in which all of them were told at once.
func (tx *Tx) EndNotifications(ctx context.Context, list []redoubt.Notification, d Delivered) error {
	ids := make([]int64, len(list))
	for i, n := range list {
		ids[i] = n.ID
	}
	var ended time.Time
	if d.State != redoubt.NotificationQueued {
		ended = tx.now
	}
	in, arg := tx.in("id", 9, ids)
	return tx.write(ctx, `UPDATE notification SET state = $2, status = $3, answer = $4, problem = $5, due_at = $6, ended_at = $7, attempts = attempts + 1, held_until = $8
		WHERE deployment_id = $1 AND `+in, d.State, d.Status, d.Answer, d.Problem, tx.now.Add(d.Retry), ended, time.Time{}, arg)
}

// QueueDelivery has a receiver told after a wait what waits for it.
func (tx *Tx) QueueDelivery(ctx context.Context, to redoubt.NotificationReceiver, wait time.Duration) error {
	return tx.queueDeliveries(ctx, map[redoubt.NotificationReceiver]time.Time{to: tx.now.Add(wait)})
}

// AddEndedNotification keeps a message that was sent already, as one to try a rule is.
func (tx *Tx) AddEndedNotification(ctx context.Context, n redoubt.Notification) (redoubt.Notification, error) {
	id, err := tx.newID(ctx, seqConnection)
	if err != nil {
		return n, err
	}
	n.ID, n.CreatedAt, n.DueAt, n.EndedAt, n.Attempts = id, tx.now, tx.now, tx.now, 1
	err = tx.insert(ctx, `notification (deployment_id, `+notificationColumns+`)`, [][]any{{
		n.ID, n.RuleID, encoded(n.Receiver), n.Key, encoded(n.Message), n.State, n.CreatedAt, n.DueAt, n.HeldUntil, n.EndedAt, n.Attempts, n.Status, n.Answer, n.Problem,
	}}, "")
	if err == nil {
		err = tx.pruneNotifications(ctx, n.RuleID)
	}
	return n, err
}

// ResendNotification queues a message of a rule once more, under the id that it had. One
// that waits already is redoubt.ErrConflict.
func (tx *Tx) ResendNotification(ctx context.Context, ruleID, id int64) (redoubt.Notification, error) {
	n, err := tx.Notification(ctx, ruleID, id)
	if err != nil {
		return n, err
	}
	if n.State == redoubt.NotificationQueued {
		return n, fmt.Errorf("notification %d waits to be sent already: %w", id, redoubt.ErrConflict)
	}
	err = tx.write(ctx, `UPDATE notification SET state = $3, due_at = $4, created_at = $4, attempts = 0, ended_at = NULL WHERE deployment_id = $1 AND id = $2`,
		id, int64(redoubt.NotificationQueued), tx.now)
	if err != nil {
		return n, err
	}
	tx.audit("notification.resend", subject("notification_rule", ruleID), nil, struct {
		Notification int64 `json:"notification"`
	}{id})
	if err := tx.QueueDelivery(ctx, n.Receiver, 0); err != nil {
		return n, err
	}
	return tx.Notification(ctx, ruleID, id)
}

// Notification finds a message of a rule; an unknown one is redoubt.ErrNotFound.
func (tx *Tx) Notification(ctx context.Context, ruleID, id int64) (redoubt.Notification, error) {
	n, err := one(ctx, tx, scanNotification, `SELECT `+notificationColumns+` FROM notification WHERE deployment_id = $1 AND rule_id = $2 AND id = $3`, ruleID, id)
	if err != nil {
		return n, fmt.Errorf("notification %d: %w", id, err)
	}
	return n, nil
}

// NotificationQuery is which messages of a rule are listed.
type NotificationQuery struct {
	RuleID int64
	Before int64 // only those with lower ids; 0 for all
	Limit  int
}

// Notifications lists the newest of a rule, newest first, and says whether there are older ones.
func (tx *Tx) Notifications(ctx context.Context, q NotificationQuery) (list []redoubt.Notification, more bool, err error) {
	w := &where{tx: tx}
	w.and(`rule_id = ?`, q.RuleID)
	if q.Before != 0 {
		w.and(`id < ?`, q.Before)
	}
	w.and(`0 = 0 ORDER BY id DESC LIMIT ?`, q.Limit+1)
	all := func(redoubt.Notification) bool { return true }
	return upTo(ctx, tx, q.Limit, all, scanNotification, `SELECT `+notificationColumns+` FROM notification WHERE deployment_id = $1`+w.text.String(), w.args...)
}

// LastNotifications finds the newest message of each of some rules, by the rule. One that
// has told nothing is left out.
func (tx *Tx) LastNotifications(ctx context.Context, ruleIDs []int64) (map[int64]redoubt.Notification, error) {
	in, arg := tx.in("rule_id", 2, ruleIDs)
	list, err := many(ctx, tx, scanNotification, `SELECT `+notificationColumns+` FROM notification WHERE deployment_id = $1 AND id IN
		(SELECT MAX(id) FROM notification WHERE deployment_id = $1 AND `+in+` GROUP BY rule_id)`, arg)
	out := make(map[int64]redoubt.Notification, len(list))
	for _, n := range list {
		out[n.RuleID] = n
	}
	return out, err
}

// EndDeliveries gives up what waits for a receiver whose job failed for good, and says why.
func (tx *Tx) EndDeliveries(ctx context.Context, to redoubt.NotificationReceiver, problem string) error {
	return tx.write(ctx, `UPDATE notification SET state = $2, problem = $3, ended_at = $4 WHERE deployment_id = $1 AND state = $5 AND receiver_json = $6`,
		int64(redoubt.NotificationFailed), problem, tx.now, int64(redoubt.NotificationQueued), encoded(to))
}

// NotificationsWait reports whether some receiver is to be told something.
func (tx *Tx) NotificationsWait(ctx context.Context) (bool, error) {
	some, err := many(ctx, tx, scalar[int64], `SELECT id FROM notification WHERE deployment_id = $1 AND state = $2 LIMIT 1`, int64(redoubt.NotificationQueued))
	return len(some) > 0, err
}

// QueueWaiting sees to it that what waits for a receiver has a job, whatever became of the
// one that it had.
func (tx *Tx) QueueWaiting(ctx context.Context) error {
	due := map[redoubt.NotificationReceiver]time.Time{}
	err := each(ctx, tx, func(r row) error {
		var to redoubt.NotificationReceiver
		var at time.Time
		err := r.Scan(decoded(&to), instant(&at))
		due[to] = at
		return err
	}, `SELECT receiver_json, MIN(due_at) FROM notification WHERE deployment_id = $1 AND state = $2 GROUP BY receiver_json`, int64(redoubt.NotificationQueued))
	if err != nil {
		return err
	}
	return tx.queueDeliveries(ctx, due)
}
