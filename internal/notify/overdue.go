package notify

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// overdueAtOnce is the maximum number of findings in one transaction.
const overdueAtOnce = 5000

// recordOverdue records events about findings whose due date has passed, once for each date. A date
// that a policy or a decision moves is a new date. Events are also recorded while all matching
// rules are paused, so that resuming a rule sends no outdated messages.
func (n *Notifier) recordOverdue(ctx context.Context, deploymentID int64) error {
	view, err := n.Index.Deployment(ctx, deploymentID)
	if err != nil {
		return err
	}
	for _, t := range productsOf(model.NotificationRule{}) {
		for part := range slices.Chunk(view.Overdue(t), overdueAtOnce) {
			if err := n.recordOverdueOf(ctx, deploymentID, part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *Notifier) recordOverdueOf(ctx context.Context, deploymentID int64, list []model.OverdueLineage) error {
	var pending []model.OverdueLineage
	err := n.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		pending, err = tx.UnnotifiedOverdue(ctx, list)
		return err
	})
	if err != nil || len(pending) == 0 {
		return err
	}
	return n.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		return tx.NotifyOverdue(ctx, pending)
	})
}
