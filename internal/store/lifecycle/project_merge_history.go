package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// mergeHistories moves the histories of deleted findings to the remaining ones, with an event about
// the merge. The scans in these events now belong to the other project. Removal events of deleted
// findings are dropped, because they do not apply to the remaining ones. References to deleted
// findings are updated.
func (m *projectMerge) mergeHistories(ctx context.Context) error {
	detail, err := json.Marshal(model.MergedFinding{Project: m.from.Name})
	if err != nil {
		return err
	}
	double := slices.Sorted(maps.Keys(m.stays))
	events := make([]model.FindingEvent, len(double))
	for i, merged := range double {
		events[i] = model.FindingEvent{FindingID: m.stays[merged], Kind: model.EventMerged, Detail: string(detail)}
	}
	err = sqldb.InBatches(double, func(part []int64) error {
		pairs := model.Map(part, func(merged int64) [2]int64 { return [2]int64{merged, m.stays[merged]} })
		with, args := sqldb.PairTable("merged(goes, stays)", pairs)
		removed := fmt.Sprintf("$%d", len(args)+2)
		return m.Write(ctx, with+`UPDATE finding_event SET finding_id = merged.stays FROM merged
			WHERE finding_event.deployment_id = $1 AND finding_event.finding_id = merged.goes AND finding_event.kind <> `+
			removed, append(args, string(model.EventRemoved))...)
	})
	if err != nil {
		return err
	}
	if err := m.renameInHistories(ctx); err != nil {
		return err
	}
	return m.AddEvents(ctx, events)
}

// naming is a history event that refers to another finding.
type naming struct {
	id     int64
	kind   model.FindingEventKind
	detail string
}

// renameInHistories replaces references to deleted findings in histories by the remaining findings.
// References exist only within a project.
func (m *projectMerge) renameInHistories(ctx context.Context) error {
	if len(m.stays) == 0 {
		return nil
	}
	list, err := sqldb.Many(ctx, m.Tx, func(r sqldb.Row) (n naming, err error) {
		return n, r.Scan(&n.id, &n.kind, &n.detail)
	}, `
		SELECT e.id, e.kind, e.detail_json FROM finding_event e JOIN finding f ON f.deployment_id = e.deployment_id
		AND f.id = e.finding_id
		WHERE e.deployment_id = $1 AND f.project_id IN ($2, $3) AND (e.kind IN ($4, $5, $6) OR e.kind = $7
		AND e.detail_json LIKE '%"merged_into"%')`,
		m.from.ID, m.into.ID, string(model.EventPrecedent), string(model.EventCopied), string(model.EventMerged),
		string(model.EventRemoved))
	if err != nil {
		return err
	}
	for _, n := range list {
		detail, changed, err := m.renamed(n)
		if err == nil && changed {
			err = m.Write(ctx, `UPDATE finding_event SET detail_json = $3 WHERE deployment_id = $1 AND id = $2`, n.id, detail)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", n.id, err)
		}
	}
	return nil
}

// renamed returns the detail of an event with deleted findings replaced.
func (m *projectMerge) renamed(n naming) (detail string, changed bool, err error) {
	var fields map[string]any
	d := json.NewDecoder(strings.NewReader(n.detail))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return n.detail, false, err
	}
	for _, name := range []string{"finding_id", "merged_into"} {
		number, is := fields[name].(json.Number)
		if !is {
			continue
		}
		id, err := number.Int64()
		if err != nil {
			return n.detail, false, err
		}
		if now := cmp.Or(m.stays[id], id); now != id {
			fields[name], changed = now, true
			// only its first occurrence is the reference
			if reason, is := fields["reason"].(string); is && name == "merged_into" {
				fields["reason"] = strings.Replace(reason, fmt.Sprintf("#%d", id), fmt.Sprintf("#%d", now), 1)
			}
		}
	}
	text, err := json.Marshal(fields)
	return string(text), changed, err
}
