package findings

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// UnnotifiedOverdue returns the lineages whose notification for that due day was not sent yet. Deleted
// lineages are omitted.
func (tx *Tx) UnnotifiedOverdue(
	ctx context.Context, list []model.OverdueLineage,
) (pending []model.OverdueLineage, err error) {
	days, ids := make(map[int64]int, len(list)), make([]int64, len(list))
	for i, l := range list {
		days[l.ID], ids[i] = l.Day, l.ID
	}
	in, arg := tx.In("id", 2, ids)
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var notified int
		err := r.Scan(&id, &notified)
		if day := days[id]; day != notified {
			pending = append(pending, model.OverdueLineage{ID: id, Day: day})
		}
		return err
	}, `SELECT id, COALESCE(overdue_told, -1) FROM lineage WHERE deployment_id = $1 AND `+in+` ORDER BY id`, arg)
	return pending, err
}

// NotifyOverdue queues notifications for overdue lineages and stores that it did. Lineages notified
// meanwhile are skipped.
func (tx *Tx) NotifyOverdue(ctx context.Context, list []model.OverdueLineage) error {
	list, err := tx.UnnotifiedOverdue(ctx, list)
	if err != nil || len(list) == 0 {
		return err
	}
	h := model.Happening{Event: model.EventOverdue}
	byDay := map[int][]int64{}
	for _, l := range list {
		h.Lineages.Add(l.ID)
		byDay[l.Day] = append(byDay[l.Day], l.ID)
	}
	for day, ids := range byDay {
		slices.Sort(ids)
		in, arg := tx.In("id", 3, ids)
		if err := tx.Write(ctx, `UPDATE lineage SET overdue_told = $2 WHERE deployment_id = $1 AND `+in,
			day, arg); err != nil {
			return err
		}
	}
	tx.EmitEvent(h)
	return nil
}
