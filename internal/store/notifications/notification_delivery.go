package notifications

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// DeliverJob is the kind of job that delivers the waiting messages of one receiver. Its input is
// the model.NotificationReceiver.
const DeliverJob = "deliver"

// QueueDeliveries adds delivery jobs for receivers, due at the given times.
func (tx *Tx) QueueDeliveries(ctx context.Context, at map[model.NotificationReceiver]time.Time) error {
	if len(at) == 0 {
		return nil
	}
	rules, err := tx.NotificationRules(ctx)
	if err != nil {
		return err
	}
	hosts := make(map[int64]string, len(rules))
	for _, r := range rules {
		hosts[r.ID] = r.Host
	}
	jobs := make([]model.Job, 0, len(at))
	for to, due := range at {
		key := "mail"
		if to.RuleID != 0 {
			key = fmt.Sprintf("%d %s", tx.Deployment().ID, hosts[to.RuleID])
		}
		input := sqldb.Encoded(to)
		sum := sha256.Sum256([]byte(input))
		subject := hex.EncodeToString(sum[:16])
		jobs = append(jobs, model.Job{Kind: DeliverJob, Subject: subject, Key: key, Input: []byte(input), DueAt: due})
	}
	return tx.Together(ctx, func() error {
		_, err := queue.Enqueue(ctx, tx.Session, tx.Deployment().ID, tx.Now(), jobs)
		return err
	})
}

// QueueDelivery adds the delivery job of one receiver, due at a time; zero: at once.
func (tx *Tx) QueueDelivery(ctx context.Context, to model.NotificationReceiver, at time.Time) error {
	return tx.QueueDeliveries(ctx, map[model.NotificationReceiver]time.Time{to: at})
}

// NextDelivery returns the due time of the first waiting message of a receiver; found is false
// without waiting messages.
func (tx *Tx) NextDelivery(ctx context.Context, to model.NotificationReceiver) (at time.Time, found bool, err error) {
	list, err := sqldb.Many(ctx, tx, scanNotification, `SELECT `+notificationColumns+` FROM notification
		WHERE deployment_id = $1 AND state = $2 AND receiver_json = $3 ORDER BY id LIMIT 1`,
		model.NotificationQueued, sqldb.Encoded(to))
	if err != nil || len(list) == 0 {
		return at, false, err
	}
	return sqldb.Later(list[0].DueAt, tx.Now()), true, nil
}

// ReceiversWaiting lists the receivers with waiting messages.
func (tx *Tx) ReceiversWaiting(ctx context.Context) ([]model.NotificationReceiver, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (to model.NotificationReceiver, err error) {
		return to, r.Scan(sqldb.Decoded(&to))
	},
		`SELECT DISTINCT receiver_json FROM notification WHERE deployment_id = $1 AND state = $2`, model.NotificationQueued)
}

// NextNotifications returns the due messages of a receiver, oldest first, up to most. A message
// that is not due delays all later ones. Messages that their rule no longer sends to the receiver
// fail, as do messages about withdrawn comments. Comment texts are read here and not stored in
// messages. Only the delivery job of the receiver calls it.
func (tx *Tx) NextNotifications(
	ctx context.Context, to model.NotificationReceiver, most int,
) ([]model.Notification, error) {
	for {
		list, err := sqldb.Many(ctx, tx, scanNotification, `SELECT `+notificationColumns+` FROM notification
			WHERE deployment_id = $1 AND state = $2 AND receiver_json = $3 ORDER BY id LIMIT $4`, model.NotificationQueued,
			sqldb.Encoded(to), most)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(list, func(n model.Notification) bool { return n.DueAt.After(tx.Now()) }); i >= 0 {
			list = list[:i]
		}
		unwanted, err := tx.endUnwantedOf(ctx, to, list)
		withdrawn := false
		if err == nil {
			withdrawn, err = tx.loadCommentTexts(ctx, list)
		}
		if err != nil || !unwanted && !withdrawn {
			return list, err
		}
	}
}

// endUnwantedOf fails messages that their rules no longer send to the receiver. It includes all
// other queued messages of these rules for it, and reports whether there were any.
func (tx *Tx) endUnwantedOf(
	ctx context.Context, to model.NotificationReceiver, list []model.Notification,
) (ended bool, err error) {
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
		case errors.Is(err, model.ErrNotFound):
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

// endUnwantedByPerson fails a message without a rule if its user left, changed the address or opted
// out of mail. It reports whether it did.
func (tx *Tx) endUnwantedByPerson(ctx context.Context, n model.Notification) (bool, error) {
	m, err := tx.MemberByID(ctx, n.Message.Person)
	if err != nil && !errors.Is(err, model.ErrNotFound) || err == nil && m.MailTo() == n.Receiver.Address {
		return false, err
	}
	return true, tx.failNotification(ctx, n, "The person no longer receives mail at this address.")
}

// loadCommentTexts adds the current texts of comments to messages, and fails those whose comment
// was withdrawn or deleted. It reports whether there were any.
func (tx *Tx) loadCommentTexts(ctx context.Context, list []model.Notification) (ended bool, err error) {
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
		text, found := texts[n.Message.Comment]
		if n.Message.Reason = text; text != "" {
			continue
		}
		why := "The comment was withdrawn."
		if !found {
			why = "The comment was removed with its project."
		}
		if err := tx.failNotification(ctx, *n, why); err != nil {
			return ended, err
		}
		ended = true
	}
	return ended, nil
}

// failNotification fails a queued message.
func (tx *Tx) failNotification(ctx context.Context, n model.Notification, why string) error {
	return tx.Write(ctx,
		`UPDATE notification SET state = $2, problem = $3, ended_at = $4 WHERE deployment_id = $1 AND id = $5`,
		model.NotificationFailed, why, tx.Now(), n.ID)
}

// endUnwanted fails queued messages that a changed rule no longer sends. It runs at once, so that
// they are not sent when the rule resumes.
func (tx *Tx) endUnwanted(ctx context.Context, r model.NotificationRule) error {
	receivers, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (to model.NotificationReceiver, err error) {
		return to, r.Scan(sqldb.Decoded(&to))
	},
		`SELECT DISTINCT receiver_json FROM notification WHERE deployment_id = $1 AND rule_id = $2 AND state = $3`, r.ID,
		model.NotificationQueued)
	for _, to := range receivers {
		if why := r.Unwanted(to); why != "" && err == nil {
			err = tx.endWaiting(ctx, r.ID, to, why)
		}
	}
	return err
}

// endWaiting fails the queued messages of a rule for a receiver.
func (tx *Tx) endWaiting(ctx context.Context, ruleID int64, to model.NotificationReceiver, why string) error {
	return tx.Write(ctx, `UPDATE notification SET state = $2, problem = $3, ended_at = $4
		WHERE deployment_id = $1 AND state = $5 AND receiver_json = $6 AND rule_id = $7`,
		model.NotificationFailed, why, tx.Now(), model.NotificationQueued, sqldb.Encoded(to), ruleID)
}

const (
	// notificationsKept is the number of stored messages of a rule, without queued ones.
	notificationsKept = 1000
	// notificationsDropped limits the messages deleted in one transaction.
	notificationsDropped = 1000
)

// PruneNotifications deletes messages of a rule except the newest 1,000. It uses several
// transactions, so that others do not wait long.
func (s *DB) PruneNotifications(ctx context.Context, deploymentID, ruleID int64) error {
	var last []int64
	err := s.view(ctx, deploymentID, func(ctx context.Context, tx *Tx) (err error) {
		last, err = sqldb.Many(ctx, tx, sqldb.Scalar[int64], `SELECT id FROM notification WHERE deployment_id = $1 AND `+
			`rule_id = $2 AND state <> $3 ORDER BY id DESC LIMIT 1 OFFSET $4`,
			ruleID, model.NotificationQueued, notificationsKept)
		return err
	})
	by := model.Actor{Kind: "system", Name: "prune"}
	for more := len(last) > 0; more && err == nil; {
		err = s.update(ctx, deploymentID, by, func(ctx context.Context, tx *Tx) error {
			gone, err := tx.Exec(ctx, `DELETE FROM notification WHERE deployment_id = $1 AND id IN
				(SELECT id FROM notification WHERE deployment_id = $1 AND rule_id = $2 AND state <> $3 AND id <= $4 ORDER BY id
				LIMIT $5)`,
				ruleID, model.NotificationQueued, last[0], notificationsDropped)
			more = gone == notificationsDropped
			return err
		})
	}
	return err
}

// findingCommentTexts returns the texts of comments by id; withdrawn ones are empty.
func (tx *Tx) findingCommentTexts(ctx context.Context, ids []int64) (map[int64]string, error) {
	texts := make(map[int64]string, len(ids))
	if len(ids) == 0 {
		return texts, nil
	}
	in, arg := tx.In("id", 2, ids)
	return texts, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var text string
		err := r.Scan(&id, &text)
		texts[id] = text
		return err
	}, `SELECT id, body FROM finding_comment WHERE deployment_id = $1 AND `+in, arg)
}
