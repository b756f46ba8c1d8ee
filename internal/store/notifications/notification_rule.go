package notifications

import (
	"context"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const notificationRuleColumns = `id, name, events, min_severity, products, filter, missing_days, channel, target, host,
	to_json, digest, paused, problem,
	created_at, created_by_json, checked_at`

func scanNotificationRule(r sqldb.Row) (n model.NotificationRule, err error) {
	return n, r.Scan(&n.ID, &n.Name, &n.Events, &n.MinSeverity, &n.Products, &n.Filter, &n.MissingDays, &n.Channel,
		&n.Target, &n.Host, sqldb.Decoded(&n.To), &n.Digest,
		&n.Paused, &n.Problem, sqldb.Instant(&n.CreatedAt), sqldb.Decoded(&n.CreatedBy), sqldb.Instant(&n.CheckedAt))
}

func notificationRuleValues(n model.NotificationRule) []any {
	return []any{
		n.ID, n.Name, n.Events, n.MinSeverity, n.Products, n.Filter, n.MissingDays,
		n.Channel, sqldb.NoNil(n.Target), n.Host, sqldb.Encoded(sqldb.OrEmpty(n.To)), n.Digest,
		n.Paused, n.Problem, n.CreatedAt, sqldb.Encoded(n.CreatedBy), n.CheckedAt,
	}
}

// notificationRuleImage is the content of audit events about a rule. Of the target it contains only
// the host, and no signing secret.
type notificationRuleImage struct {
	Name        string   `json:"name"`
	Events      []string `json:"events"`
	MinSeverity string   `json:"min_severity,omitempty"`
	Products    []string `json:"products,omitempty"`
	Filter      string   `json:"filter,omitempty"`
	MissingDays int      `json:"missing_days,omitempty"`
	Channel     string   `json:"channel"`
	Host        string   `json:"host,omitempty"`
	To          []string `json:"to,omitempty"`
	Digest      string   `json:"digest,omitempty"`
	Paused      bool     `json:"paused"`
	Target      string   `json:"target,omitempty"` // states that it was replaced
}

func imageOfNotificationRule(n model.NotificationRule) notificationRuleImage {
	return notificationRuleImage{
		Name: n.Name, Events: n.Events.Names(), MinSeverity: n.MinSeverity.String(),
		Products: n.Products.Names(), Filter: n.Filter, MissingDays: n.MissingDays,
		Channel: n.Channel.String(), Host: n.Host, To: n.To, Digest: n.Digest.String(), Paused: n.Paused,
	}
}

// NotificationRules returns the deployment's rules by id.
func (tx *Tx) NotificationRules(ctx context.Context) ([]model.NotificationRule, error) {
	return sqldb.Many(ctx, tx, scanNotificationRule,
		`SELECT `+notificationRuleColumns+` FROM notification_rule WHERE deployment_id = $1 ORDER BY id`)
}

// NotificationRule returns a rule by id, or model.ErrNotFound.
func (tx *Tx) NotificationRule(ctx context.Context, id int64) (model.NotificationRule, error) {
	n, err := sqldb.One(ctx, tx, scanNotificationRule,
		`SELECT `+notificationRuleColumns+` FROM notification_rule WHERE deployment_id = $1 AND id = $2`, id)
	if err != nil {
		return n, fmt.Errorf("notification rule %d: %w", id, err)
	}
	return n, nil
}

// AddNotificationRule creates a rule whose target is sealed for its id. A duplicate name, or a rule
// above the limit, is model.ErrConflict.
func (tx *Tx) AddNotificationRule(
	ctx context.Context, n model.NotificationRule, seal func(id int64) ([]byte, error),
) (model.NotificationRule, error) {
	had, err := sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM notification_rule WHERE deployment_id = $1`)
	if err == nil && had >= model.MaxNotificationRules {
		err = fmt.Errorf("there are %d notification rules; remove one first: %w", had, model.ErrConflict)
	}
	if err != nil {
		return n, err
	}
	if n.ID, err = tx.NewID(ctx, sqldb.SeqConnection); err != nil {
		return n, err
	}
	if n.Target, err = seal(n.ID); err != nil {
		return n, err
	}
	n.CreatedAt, n.CreatedBy, n.CheckedAt = tx.Now(), tx.Actor(), tx.Now()
	err = tx.Insert(ctx, `notification_rule (deployment_id, `+notificationRuleColumns+`)`, [][]any{
		notificationRuleValues(n),
	}, "")
	if err != nil {
		return n, ruleNameTaken(n.Name, err)
	}
	tx.Audit("notification_rule.create", sqldb.Subject("notification_rule", n.ID), nil, imageOfNotificationRule(n))
	return n, tx.noteNotified(ctx)
}

// UpdateNotificationRule changes a rule except its channel. A nil target stays unchanged.
func (tx *Tx) UpdateNotificationRule(
	ctx context.Context, n model.NotificationRule, target []byte,
) (model.NotificationRule, error) {
	before, err := tx.NotificationRule(ctx, n.ID)
	if err != nil {
		return n, err
	}
	n.Channel, n.Target, n.CreatedAt, n.CreatedBy = before.Channel, before.Target, before.CreatedAt, before.CreatedBy
	image := imageOfNotificationRule(n)
	if target != nil {
		n.Target, image.Target = target, "replaced"
		if err := tx.Shred(ctx); err != nil {
			return n, err
		}
	}
	if !before.Events.Has(model.EventScanMissing) || before.Paused && !n.Paused {
		n.CheckedAt = tx.Now() // scans missing before the event was enabled do not notify
	}
	args := notificationRuleValues(n)
	_, err = tx.Exec(ctx,
		`UPDATE notification_rule SET name = $3, events = $4, min_severity = $5, products = $6, filter = $7,
			missing_days = $8, channel = $9, target = $10,
		host = $11, to_json = $12, digest = $13, paused = $14, problem = $15, created_at = $16, created_by_json = $17,
		checked_at = $18
		WHERE deployment_id = $1 AND id = $2`, args...)
	if err != nil {
		return n, ruleNameTaken(n.Name, err)
	}
	tx.Audit("notification_rule.update", sqldb.Subject("notification_rule", n.ID), imageOfNotificationRule(before), image)
	return n, errors.Join(tx.endUnwanted(ctx, n), tx.noteNotified(ctx))
}

func ruleNameTaken(name string, err error) error {
	if errors.Is(err, model.ErrConflict) {
		return fmt.Errorf("a notification rule called %s already exists: %w", name, model.ErrConflict)
	}
	return err
}

// DeleteNotificationRule deletes a rule with its sent and queued messages.
func (tx *Tx) DeleteNotificationRule(ctx context.Context, id int64) error {
	n, err := tx.NotificationRule(ctx, id)
	if err == nil {
		err = tx.Shred(ctx)
	}
	if err != nil {
		return err
	}
	for _, rows := range []string{
		`notification WHERE deployment_id = $1 AND rule_id = $2`,
		`notification_rule WHERE deployment_id = $1 AND id = $2`,
	} {
		if err := tx.Write(ctx, `DELETE FROM `+rows, id); err != nil {
			return err
		}
	}
	tx.Audit("notification_rule.delete", sqldb.Subject("notification_rule", id), imageOfNotificationRule(n), nil)
	return tx.noteNotified(ctx)
}

// noteNotified stores the events that the deployment's rules use in the deployment's row.
// Transactions then need no query for them.
func (tx *Tx) noteNotified(ctx context.Context) error {
	list, err := sqldb.Many(ctx, tx, sqldb.Scalar[model.NotificationEvents],
		`SELECT DISTINCT events FROM notification_rule WHERE deployment_id = $1 AND paused = 0`)
	if err != nil {
		return err
	}
	var all model.NotificationEvents
	for _, events := range list {
		all |= events
	}
	return tx.Write(ctx, `UPDATE deployment SET notified = $2 WHERE id = $1`, all)
}

// NoteNotificationProblem stores the last problem of a rule. With pause it also pauses the rule,
// which has no recipient any more.
func (tx *Tx) NoteNotificationProblem(ctx context.Context, id int64, problem string, pause bool) error {
	n, err := tx.NotificationRule(ctx, id)
	switch {
	case errors.Is(err, model.ErrNotFound), err == nil && n.Problem == problem && !pause:
		return nil
	case err != nil:
		return err
	case pause:
		n.Paused, n.Problem = true, problem
		_, err = tx.UpdateNotificationRule(ctx, n, nil)
		return err
	}
	return tx.Write(ctx, `UPDATE notification_rule SET problem = $3 WHERE deployment_id = $1 AND id = $2`, id, problem)
}

// NoteMissingScans stores up to when missing scans were checked.
func (tx *Tx) NoteMissingScans(ctx context.Context, id int64) error {
	return tx.Write(ctx, `UPDATE notification_rule SET checked_at = $3 WHERE deployment_id = $1 AND id = $2`, id, tx.Now())
}
