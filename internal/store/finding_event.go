package store

import (
	"context"
	"time"

	"github.com/redoubt/redoubt"
)

// FindingHistory is one line of a finding's history.
type FindingHistory struct {
	ID int64
	At time.Time
	redoubt.FindingEvent
}

// AddEvents appends to the histories of findings, at the transaction's time.
func (tx *Tx) AddEvents(ctx context.Context, events []redoubt.FindingEvent) error {
	ids, err := tx.newIDs(ctx, seqFindingEvent, len(events))
	if err != nil {
		return err
	}
	rows := make([][]any, len(ids))
	for i, e := range events {
		rows[i] = []any{ids[i], e.FindingID, tx.now, e.ScanID, string(e.Kind), e.Detail}
	}
	return tx.insert(ctx, `finding_event (deployment_id, id, finding_id, at, scan_id, kind, detail_json)`, rows, "")
}

// History reads what happened to a finding, oldest first. That of an unknown
// finding is empty.
func (tx *Tx) History(ctx context.Context, findingID int64) ([]FindingHistory, error) {
	return many(ctx, tx, scanFindingHistory, `
		SELECT id, at, finding_id, scan_id, kind, detail_json FROM finding_event
		WHERE deployment_id = $1 AND finding_id = $2 ORDER BY id`, findingID)
}

func scanFindingHistory(r row) (h FindingHistory, err error) {
	return h, r.Scan(&h.ID, instant(&h.At), &h.FindingID, &h.ScanID, &h.Kind, &h.Detail)
}
