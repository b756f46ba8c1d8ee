package store

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt"
)

// UpdateTriage writes each event's After to its lineage and appends the event
// to the trail, which nothing rewrites (decisions §6). Several events of one
// lineage count in the order given. A lineage that already has that triage is
// left alone; an unknown one is redoubt.ErrNotFound.
func (tx *Tx) UpdateTriage(ctx context.Context, events []redoubt.TriageEvent) error {
	ids := make([]int64, len(events))
	for i, e := range events {
		ids[i] = e.LineageID
	}
	stored, err := tx.lineages(ctx, ids)
	if err != nil {
		return err
	}
	after := make(map[int64]redoubt.Triage, len(stored))
	for _, e := range events {
		after[e.LineageID] = e.After
	}
	if len(stored) < len(after) {
		return fmt.Errorf("triage: a lineage is gone: %w", redoubt.ErrNotFound)
	}
	var changed []redoubt.Lineage
	for _, l := range stored {
		if l.Triage != after[l.ID] {
			l.Triage = after[l.ID]
			changed = append(changed, l)
		}
	}
	if err := tx.writeLineages(ctx, changed, updateLineage); err != nil {
		return fmt.Errorf("triage: %w", err)
	}
	return tx.addTriageEvents(ctx, events)
}

func (tx *Tx) addTriageEvents(ctx context.Context, events []redoubt.TriageEvent) error {
	ids, err := tx.newIDs(ctx, seqTriageEvent, len(events))
	if err != nil {
		return err
	}
	rows := make([][]any, len(ids))
	for i, e := range events {
		rows[i] = []any{ids[i], e.LineageID, e.At, encoded(e.By), encoded(e.Before), encoded(e.After), e.Note}
	}
	return tx.insert(ctx, `triage_event (deployment_id, id, lineage_id, at, actor_json, before_json, after_json, note)`, rows, "")
}

// TriageTrail reads what was decided on a lineage, oldest first. That of an
// unknown lineage is empty.
func (tx *Tx) TriageTrail(ctx context.Context, lineageID int64) ([]redoubt.TriageEvent, error) {
	return many(ctx, tx, scanTriageEvent, `
		SELECT id, lineage_id, at, actor_json, before_json, after_json, note FROM triage_event
		WHERE deployment_id = $1 AND lineage_id = $2 ORDER BY id`, lineageID)
}

func scanTriageEvent(r row) (e redoubt.TriageEvent, err error) {
	return e, r.Scan(&e.ID, &e.LineageID, instant(&e.At), decoded(&e.By), decoded(&e.Before), decoded(&e.After), &e.Note)
}
