package notifications

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const notificationColumns = `id, rule_id, receiver_json, event_key, message_json, state, created_at, due_at, ended_at,
	attempts, status, answer, problem`

func scanNotification(r sqldb.Row) (n model.Notification, err error) {
	return n, r.Scan(&n.ID, &n.RuleID, sqldb.Decoded(&n.Receiver), &n.Key, sqldb.Decoded(&n.Message), &n.State,
		sqldb.Instant(&n.CreatedAt), sqldb.Instant(&n.DueAt),
		sqldb.Instant(&n.EndedAt), &n.Attempts, &n.Status, &n.Answer, &n.Problem)
}

// MaxNotificationsWaiting limits the queued messages of one receiver: a digest of four mails, or
// the backlog of an unreachable receiver.
const MaxNotificationsWaiting = 2000

// tooManyWait is the problem of messages above MaxNotificationsWaiting.
const tooManyWait = "The receiver already had 2,000 queued messages."

// AddNotifications queues messages and the jobs that deliver them. Messages that the receiver
// already got for the rule are skipped. Above MaxNotificationsWaiting new messages fail. The oldest
// ones stay queued, because their number of attempts determines the next attempt.
func (tx *Tx) AddNotifications(ctx context.Context, list []model.Notification) error {
	if len(list) == 0 {
		return nil
	}
	ids, err := tx.NewIDs(ctx, sqldb.SeqConnection, len(list))
	if err != nil {
		return err
	}
	receivers := model.Map(list, func(n model.Notification) model.NotificationReceiver { return n.Receiver })
	waiting, err := tx.notificationsWaiting(ctx, receivers...)
	if err != nil {
		return err
	}
	rows := make([][]any, len(list))
	due := map[model.NotificationReceiver]time.Time{} // due time of the first queued message
	for i, n := range list {
		state, ended, problem := model.NotificationFailed, tx.Now(), tooManyWait
		if waiting[n.Receiver] < MaxNotificationsWaiting {
			waiting[n.Receiver]++
			state, ended, problem = model.NotificationQueued, time.Time{}, ""
			if at, is := due[n.Receiver]; !is || n.DueAt.Before(at) {
				due[n.Receiver] = n.DueAt
			}
		}
		rows[i] = []any{
			ids[i], n.RuleID, sqldb.Encoded(n.Receiver), n.Key,
			sqldb.Encoded(n.Message), state, tx.Now(), n.DueAt, ended, 0, 0, "", problem,
		}
	}
	err = sqldb.InBatches(rows, func(part [][]any) error {
		return tx.Insert(ctx, `notification (deployment_id, `+notificationColumns+`)`, part,
			`ON CONFLICT (deployment_id, event_key, rule_id, receiver_json) DO NOTHING`)
	})
	for to, at := range due {
		if !at.After(tx.Now()) {
			due[to] = time.Time{}
		}
	}
	if err == nil {
		err = tx.QueueDeliveries(ctx, due)
	}
	return err
}

// notificationsWaiting counts the queued messages of receivers, using an index. Counts are at most
// MaxNotificationsWaiting.
func (tx *Tx) notificationsWaiting(
	ctx context.Context, to ...model.NotificationReceiver,
) (map[model.NotificationReceiver]int, error) {
	texts := make([]string, len(to))
	for i := range to {
		texts[i] = sqldb.Encoded(to[i])
	}
	out := map[model.NotificationReceiver]int{}
	in, arg := tx.In("receiver_json", 3, texts)
	return out, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var to model.NotificationReceiver
		var n int
		err := r.Scan(sqldb.Decoded(&to), &n)
		out[to] = n
		return err
	}, `SELECT receiver_json, COUNT(*) FROM notification WHERE deployment_id = $1 AND state = $2 AND `+in+
		` GROUP BY receiver_json`, model.NotificationQueued, arg)
}

// Delivered is the result of a delivery attempt.
type Delivered struct {
	State   model.NotificationState // model.NotificationQueued requests another attempt
	Status  int
	Answer  string
	Problem string
	Retry   time.Duration // delay before the next attempt
}

// EndNotifications stores the result of an attempt that sent all given messages together. Messages
// that ended meanwhile, for example because their rule was paused, stay unchanged.
func (tx *Tx) EndNotifications(ctx context.Context, list []model.Notification, d Delivered) error {
	ids := model.Map(list, func(n model.Notification) int64 { return n.ID })
	var ended time.Time
	if d.State != model.NotificationQueued {
		ended = tx.Now()
	}
	in, arg := tx.In("id", 9, ids)
	return tx.Write(ctx,
		`UPDATE notification SET state = $2, status = $3, answer = $4, problem = $5, due_at = $6, ended_at = $7,
		attempts = attempts + 1 WHERE deployment_id = $1 AND state = $8 AND `+in,
		d.State, d.Status, d.Answer, d.Problem, tx.Now().Add(d.Retry), ended, model.NotificationQueued, arg)
}

// AddEndedNotification stores a message that was already sent.
func (tx *Tx) AddEndedNotification(ctx context.Context, n model.Notification) (model.Notification, error) {
	id, err := tx.NewID(ctx, sqldb.SeqConnection)
	if err != nil {
		return n, err
	}
	n.ID, n.CreatedAt, n.DueAt, n.EndedAt, n.Attempts = id, tx.Now(), tx.Now(), tx.Now(), 1
	err = tx.Insert(ctx, `notification (deployment_id, `+notificationColumns+`)`, [][]any{{
		n.ID, n.RuleID, sqldb.Encoded(n.Receiver), n.Key, sqldb.Encoded(n.Message),
		n.State, n.CreatedAt, n.DueAt, n.EndedAt, n.Attempts, n.Status, n.Answer, n.Problem,
	}}, "")
	return n, err
}

// AddNotificationTests stores the results of a rule's test. A deleted rule is model.ErrNotFound.
func (tx *Tx) AddNotificationTests(
	ctx context.Context, ruleID int64, list []model.Notification,
) ([]model.Notification, error) {
	if _, err := tx.NotificationRule(ctx, ruleID); err != nil {
		return nil, err
	}
	out := make([]model.Notification, len(list))
	delivered := 0
	for i, n := range list {
		var err error
		if out[i], err = tx.AddEndedNotification(ctx, n); err != nil {
			return nil, err
		}
		if n.State == model.NotificationDelivered {
			delivered++
		}
	}
	tx.Audit("notification.test", sqldb.Subject("notification_rule", ruleID), nil, struct {
		Sent      int `json:"sent"`
		Delivered int `json:"delivered"`
	}{len(list), delivered})
	return out, nil
}

// ResendNotification queues a message of a rule again under its id. It returns model.ErrConflict if
// the message is queued, if the rule no longer sends to the receiver, or if MaxNotificationsWaiting
// is reached.
func (tx *Tx) ResendNotification(ctx context.Context, ruleID, id int64) (model.Notification, error) {
	n, err := tx.Notification(ctx, ruleID, id)
	if err != nil {
		return n, err
	}
	if n.State == model.NotificationQueued {
		return n, fmt.Errorf("notification %d is already queued: %w", id, model.ErrConflict)
	}
	rule, err := tx.NotificationRule(ctx, ruleID)
	if err != nil {
		return n, err
	}
	if why := rule.Unwanted(n.Receiver); why != "" {
		return n, fmt.Errorf("notification %d cannot be resent: %s: %w", id, why, model.ErrConflict)
	}
	switch waiting, err := tx.notificationsWaiting(ctx, n.Receiver); {
	case err != nil:
		return n, err
	case waiting[n.Receiver] >= MaxNotificationsWaiting:
		return n, fmt.Errorf("notification %d cannot be resent: %s: %w", id, tooManyWait, model.ErrConflict)
	}
	err = tx.Write(ctx, `UPDATE notification SET state = $3, due_at = $4, created_at = $4, attempts = 0, ended_at = `+
		`NULL WHERE deployment_id = $1 AND id = $2`,
		id, int64(model.NotificationQueued), tx.Now())
	if err != nil {
		return n, err
	}
	tx.Audit("notification.resend", sqldb.Subject("notification_rule", ruleID), nil, struct {
		Notification int64 `json:"notification"`
	}{id})
	if err := tx.QueueDelivery(ctx, n.Receiver, time.Time{}); err != nil {
		return n, err
	}
	return tx.Notification(ctx, ruleID, id)
}

// Notification returns a message of a rule, or model.ErrNotFound.
func (tx *Tx) Notification(ctx context.Context, ruleID, id int64) (model.Notification, error) {
	n, err := sqldb.One(ctx, tx, scanNotification,
		`SELECT `+notificationColumns+` FROM notification WHERE deployment_id = $1 AND rule_id = $2 AND id = $3`, ruleID, id)
	if err != nil {
		return n, fmt.Errorf("notification %d: %w", id, err)
	}
	return n, nil
}

// NotificationQuery selects messages of a rule.
type NotificationQuery struct {
	RuleID int64
	Before int64 // only lower ids; 0: all
	Limit  int
}

// Notifications returns the newest messages of a rule, newest first, and reports whether there are
// older ones.
func (tx *Tx) Notifications(
	ctx context.Context, q NotificationQuery,
) (list []model.Notification, more bool, err error) {
	w := &sqldb.Where{Tx: tx.Tx}
	w.And(`rule_id = ?`, q.RuleID)
	if q.Before != 0 {
		w.And(`id < ?`, q.Before)
	}
	w.And(`0 = 0 ORDER BY id DESC LIMIT ?`, q.Limit+1)
	all := func(model.Notification) bool { return true }
	return sqldb.UpTo(ctx, tx, q.Limit, all, scanNotification,
		`SELECT `+notificationColumns+` FROM notification WHERE deployment_id = $1`+w.Text.String(), w.Args...)
}

// LastNotifications returns the newest message of each rule; rules without messages are omitted.
func (tx *Tx) LastNotifications(ctx context.Context, ruleIDs []int64) (map[int64]model.Notification, error) {
	in, arg := tx.In("rule_id", 2, ruleIDs)
	list, err := sqldb.Many(ctx, tx, scanNotification,
		`SELECT `+notificationColumns+` FROM notification WHERE deployment_id = $1 AND id IN
		(SELECT MAX(id) FROM notification WHERE deployment_id = $1 AND `+in+` GROUP BY rule_id)`, arg)
	out := make(map[int64]model.Notification, len(list))
	for _, n := range list {
		out[n.RuleID] = n
	}
	return out, err
}
