package findings

import (
	"context"
	"encoding/json"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// FindingHistory is an entry of a finding's history.
type FindingHistory struct {
	ID int64
	At time.Time
	model.FindingEvent
}

// AddEvents appends events to the histories of findings with the transaction's time.
func (tx *Tx) AddEvents(ctx context.Context, events []model.FindingEvent) error {
	return sqldb.InBatches(events, func(part []model.FindingEvent) error {
		rows := make([][]any, len(part))
		for i, e := range part {
			rows[i] = []any{sqldb.NextID(seqFindingEvent), e.FindingID, tx.Now(), e.ScanID, string(e.Kind), e.Detail}
		}
		return tx.Insert(ctx, `finding_event (deployment_id, id, finding_id, at, scan_id, kind, detail_json)`, rows, "")
	})
}

// History returns the history of a finding, oldest first. It is empty for an unknown finding.
func (tx *Tx) History(ctx context.Context, findingID int64) ([]FindingHistory, error) {
	return sqldb.Many(ctx, tx, scanFindingHistory, `
		SELECT id, at, finding_id, scan_id, kind, detail_json FROM finding_event
		WHERE deployment_id = $1 AND finding_id = $2 ORDER BY id`, findingID)
}

// Removal describes the removal of a finding.
type Removal struct {
	Reason     string `json:"reason"`      // for display
	MergedInto int64  `json:"merged_into"` // the finding of the same project that absorbed it; 0 for none
}

// LastRemoval returns the newest removal in a finding's history.
func LastRemoval(history []FindingHistory) Removal {
	var last Removal
	for _, e := range history {
		if e.Kind != model.EventRemoved {
			continue
		}
		last = Removal{}
		if err := json.Unmarshal([]byte(e.Detail), &last); err != nil {
			last = Removal{}
		}
	}
	if last.Reason == "" {
		last.Reason = "its rule or path was removed from the policy, or its ref was removed"
	}
	return last
}

func scanFindingHistory(r sqldb.Row) (h FindingHistory, err error) {
	return h, r.Scan(&h.ID, sqldb.Instant(&h.At), &h.FindingID, &h.ScanID, &h.Kind, &h.Detail)
}

const seqFindingEvent sqldb.Sequence = "finding_event"
