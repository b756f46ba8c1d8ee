package findings

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// UpdateTriage stores each event's After in its lineage and appends the event to the triage trail.
// The trail is never rewritten (docs/reference/triage.md). Several events of a lineage apply in
// order. An unchanged triage is not written; an unknown lineage is model.ErrNotFound.
func (tx *Tx) UpdateTriage(ctx context.Context, events []model.TriageEvent) error {
	last := make(map[int64]model.Triage, len(events))
	for _, e := range events {
		last[e.LineageID] = e.After
	}
	byValue := map[model.Triage][]int64{} // a bulk triage has few distinct values
	for id, t := range last {
		byValue[t] = append(byValue[t], id)
	}
	for t, ids := range byValue {
		if err := tx.setTriage(ctx, t, ids); err != nil {
			return fmt.Errorf("triage: %w", err)
		}
	}
	if err := tx.setStops(ctx, events); err != nil {
		return fmt.Errorf("triage: %w", err)
	}
	tx.NotifyAssigned(events)
	return tx.addTriageEvents(ctx, events)
}

// setStops records where decisions start or stop pausing due dates. For several events of a
// lineage, the first Before and the last After are compared.
func (tx *Tx) setStops(ctx context.Context, events []model.TriageEvent) error {
	first, last := map[int64]model.Triage{}, map[int64]model.TriageEvent{}
	for _, e := range events {
		if _, known := first[e.LineageID]; !known {
			first[e.LineageID] = e.Before
		}
		last[e.LineageID] = e
	}
	// lineages by change; a commit mostly has one time
	begun, ended := map[model.ClockPauses][]int64{}, map[model.ClockPauses][]int64{}
	for id, e := range last {
		if add, begins := model.StopChange(first[id], e.After, e.At); begins {
			begun[add] = append(begun[add], id)
		} else if add != "" {
			ended[add] = append(ended[add], id)
		}
	}
	for _, change := range []struct {
		ids map[model.ClockPauses][]int64
		of  string // condition of affected lineages; prevents a duplicate start or end
	}{{begun, `stops NOT LIKE '%-' AND length(stops) < ` + strconv.Itoa(model.MaxStops)}, {ended, `stops LIKE '%-'`}} {
		for add, ids := range change.ids {
			in, arg := tx.In("id", 2, ids)
			err := tx.Write(ctx, `UPDATE lineage SET stops = stops || CAST($3 AS TEXT) WHERE deployment_id = $1 AND `+in+` AND `+
				change.of, arg, string(add))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// setTriage sets the same triage for several lineages.
func (tx *Tx) setTriage(ctx context.Context, t model.Triage, ids []int64) error {
	in, arg := tx.In("id", 2, ids)
	tx.MarkWritten()
	changed, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64], `UPDATE lineage
		SET triage_state = $3, triage_reason = $4, triage_comment = $5, triaged_at = $6, triaged_by_json = $7, automatic = $8,
		triage_until = $9, assignee = $10
		WHERE deployment_id = $1 AND `+in+` AND NOT (triage_state = $3 AND triage_reason = $4 AND triage_comment = $5
			AND triaged_at IS NOT DISTINCT FROM $6 AND triaged_by_json = $7 AND automatic = $8
			AND triage_until IS NOT DISTINCT FROM $9 AND assignee = $10)
		RETURNING id`, arg, int64(t.State), int64(t.Reason), t.Comment, t.At, sqldb.Encoded(t.By), t.Automatic,
		t.Until, t.Assignee)
	if err != nil {
		return err
	}
	tx.Change(sqldb.ChangeLineage, changed...)
	if len(changed) == len(ids) {
		return nil
	}
	known, err := sqldb.One(
		ctx, tx, sqldb.Scalar[int], `SELECT count(*) FROM lineage WHERE deployment_id = $1 AND `+in, arg,
	)
	if err == nil && known < len(ids) {
		err = fmt.Errorf("a lineage does not exist: %w", model.ErrNotFound)
	}
	return err
}

// AddTriageNotes appends events that do not change the triage to the trails of lineages.
func (tx *Tx) AddTriageNotes(ctx context.Context, events []model.TriageEvent) error {
	return tx.addTriageEvents(ctx, events)
}

func (tx *Tx) addTriageEvents(ctx context.Context, events []model.TriageEvent) error {
	ids, err := tx.NewIDs(ctx, seqTriageEvent, len(events))
	if err != nil {
		return err
	}
	texts := map[any]string{} // cache: events of one decision mostly have equal values
	text := func(v any) string {
		if _, known := texts[v]; !known {
			texts[v] = sqldb.Encoded(v)
		}
		return texts[v]
	}
	rows := make([][]any, len(ids))
	for i, e := range events {
		rows[i] = []any{ids[i], e.LineageID, e.At, text(e.By), text(e.Before), text(e.After), e.Note}
	}
	return tx.Insert(
		ctx, `triage_event (deployment_id, id, lineage_id, at, actor_json, before_json, after_json, note)`, rows, "",
	)
}

// TriageTrail returns the decisions about a lineage, oldest first. It is empty for an unknown
// lineage.
func (tx *Tx) TriageTrail(ctx context.Context, lineageID int64) ([]model.TriageEvent, error) {
	return sqldb.Many(ctx, tx, scanTriageEvent, `
		SELECT id, lineage_id, at, actor_json, before_json, after_json, note FROM triage_event
		WHERE deployment_id = $1 AND lineage_id = $2 ORDER BY id`, lineageID)
}

func scanTriageEvent(r sqldb.Row) (e model.TriageEvent, err error) {
	return e, r.Scan(&e.ID, &e.LineageID, sqldb.Instant(&e.At), sqldb.Decoded(&e.By), sqldb.Decoded(&e.Before),
		sqldb.Decoded(&e.After), &e.Note)
}

// TriageEvents returns the deployment's events with ids greater than after, up to through, by id.
func (tx *Tx) TriageEvents(ctx context.Context, after, through int64) ([]model.TriageEvent, error) {
	return sqldb.Many(ctx, tx, scanTriageEvent, `
		SELECT id, lineage_id, at, actor_json, before_json, after_json, note FROM triage_event
		WHERE deployment_id = $1 AND id > $2 AND id <= $3 ORDER BY id`, after, through)
}

// TriageEventsBy returns the newest event of an actor in the trail of each lineage.
func (tx *Tx) TriageEventsBy(ctx context.Context, by model.Actor, lineages []int64) ([]model.TriageEvent, error) {
	in, arg := tx.In("lineage_id", 3, lineages)
	return sqldb.Many(ctx, tx, scanTriageEvent,
		`SELECT id, lineage_id, at, actor_json, before_json, after_json, note FROM triage_event WHERE deployment_id = $1
			AND id IN
		(SELECT MAX(id) FROM triage_event WHERE deployment_id = $1 AND actor_json = $2 AND `+in+
			` GROUP BY lineage_id) ORDER BY id`, sqldb.Encoded(by), arg)
}

// LastTriageEvent returns the id of the newest event in the trail; 0 if there is none.
func (tx *Tx) LastTriageEvent(ctx context.Context) (int64, error) {
	return sqldb.One(
		ctx, tx, sqldb.Scalar[int64], `SELECT coalesce(max(id), 0) FROM triage_event WHERE deployment_id = $1`,
	)
}

const expiredLineages = `SELECT id FROM lineage WHERE deployment_id = $1 AND triage_until <= $2 ORDER BY id`

// CountExpiredDecisions counts the lineages that ExpireDecisions would reopen. It does not write.
func (tx *Tx) CountExpiredDecisions(ctx context.Context) (int, error) {
	ids, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64], expiredLineages, tx.Now())
	return len(ids), err
}

// ExpireDecisions reopens lineages whose decision has expired, adds an event for each, and returns
// them.
func (tx *Tx) ExpireDecisions(ctx context.Context) (ended []int64, err error) {
	ids, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64], expiredLineages, tx.Now())
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(ids, sqldb.FeedBatch) {
		lineages, err := tx.LineagesThat(ctx, part)
		if err != nil {
			return nil, err
		}
		var events []model.TriageEvent
		for i := range lineages {
			if e, over := lineages[i].Expire(tx.Now()); over {
				events = append(events, e)
			}
		}
		if err := tx.UpdateTriage(ctx, events); err != nil {
			return nil, err
		}
	}
	if len(ids) > 0 {
		over := model.Happening{Event: model.EventDecisionEnded}
		for _, id := range ids {
			over.Lineages.Add(id)
		}
		tx.EmitEvent(over)
	}
	return ids, nil
}

const seqTriageEvent sqldb.Sequence = "triage_event"
