package sqldb

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"github.com/redoubt/redoubt/internal/model"
)

// Audit records a change. before and after are structs or maps that encode as JSON objects; nil
// means that nothing existed or exists. Equal fields are omitted, and an event without fields is
// not written. Never pass secrets or their hashes.
func (tx *Tx) Audit(action, subject string, before, after any) {
	was, is := members(before), members(after)
	if was != nil && is != nil {
		for name, value := range was {
			if bytes.Equal(value, is[name]) {
				delete(was, name)
				delete(is, name)
			}
		}
		if len(was) == 0 && len(is) == 0 {
			return
		}
	}
	tx.events = append(tx.events, model.AuditEvent{
		At: tx.now, By: tx.actor, Action: action, Subject: subject, Before: object(was), After: object(is),
	})
}

// members returns the fields of a JSON object, or nil for nil.
func members(v any) map[string]json.RawMessage {
	if v == nil {
		return nil
	}
	out := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(Encoded(v)), &out); err != nil {
		panic("store: an audit event has a value that is not a JSON object: " + err.Error())
	}
	return out
}

func object(members map[string]json.RawMessage) string {
	if members == nil {
		return ""
	}
	return Encoded(members)
}

// WriteEvents writes the audit events of the transaction.
func (tx *Tx) WriteEvents(ctx context.Context) error {
	rows := make([][]any, len(tx.events))
	for i, e := range tx.events {
		rows[i] = []any{NextID(seqAuditEvent), e.At, Encoded(e.By), e.Action, e.Subject, e.Before, e.After}
	}
	return tx.Insert(
		ctx, "audit_event (deployment_id, id, at, actor_json, action, subject, before_json, after_json)", rows, "",
	)
}

// AuditEvents returns at most limit events after the one with the given id, oldest first.
func (tx *Tx) AuditEvents(ctx context.Context, afterID int64, limit int) ([]model.AuditEvent, error) {
	return Many(ctx, tx, scanAuditEvent, `
		SELECT id, at, actor_json, action, subject, before_json, after_json FROM audit_event
		WHERE deployment_id = $1 AND id > $2 ORDER BY id LIMIT $3`, afterID, limit)
}

func scanAuditEvent(r Row) (e model.AuditEvent, err error) {
	return e, r.Scan(&e.ID, Instant(&e.At), Decoded(&e.By), &e.Action, &e.Subject, &e.Before, &e.After)
}

// AuditFilter selects events of a page of the audit trail.
type AuditFilter struct {
	Action  string      // empty: all
	Subject string      // as in saved_view:3; empty: all
	By      model.Actor // the zero actor: all
	Before  int64       // only events before this id; 0: from the newest
}

// AuditPage returns at most limit events, newest first.
func (tx *Tx) AuditPage(ctx context.Context, f AuditFilter, limit int) ([]model.AuditEvent, error) {
	w := Where{Tx: tx, Args: []any{limit}}
	if f.Before > 0 {
		w.And(`id < ?`, f.Before)
	}
	if f.Action != "" {
		w.And(`action = ?`, f.Action)
	}
	if f.Subject != "" {
		w.And(`subject = ?`, f.Subject)
	}
	if f.By != (model.Actor{}) {
		w.And(`actor_json = ?`, Encoded(f.By))
	}
	return Many(ctx, tx, scanAuditEvent, `
		SELECT id, at, actor_json, action, subject, before_json, after_json FROM audit_event
		WHERE deployment_id = $1`+w.Text.String()+` ORDER BY id DESC LIMIT $2`, w.Args...)
}

// AuditActions returns the distinct actions in the audit trail.
func (tx *Tx) AuditActions(ctx context.Context) ([]string, error) {
	return Many(ctx, tx, Scalar[string], `SELECT DISTINCT action FROM audit_event WHERE deployment_id = $1 ORDER BY 1`)
}

// Subject returns the subject of an audit event, as in project:17.
func Subject(noun string, id int64) string { return noun + ":" + strconv.FormatInt(id, 10) }

const seqAuditEvent Sequence = "audit_event"
