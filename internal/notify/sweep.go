package notify

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Sweep queues messages about events that result from time only: missing scans and overdue
// findings. It also deletes old messages and adds a delivery job for each receiver with waiting
// messages. Several servers may run it concurrently.
func (n *Notifier) Sweep(ctx context.Context, deploymentID int64) error {
	var rules []model.NotificationRule
	var waiting []model.NotificationReceiver
	err := n.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		if rules, err = tx.NotificationRules(ctx); err == nil {
			waiting, err = tx.ReceiversWaiting(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	var active, made model.NotificationEvents
	if err := n.Store.PruneNotifications(ctx, deploymentID, 0); err != nil { // messages without a rule
		return err
	}
	for _, r := range rules {
		if err := n.Store.PruneNotifications(ctx, deploymentID, r.ID); err != nil {
			return err
		}
		made |= r.Events
		if !r.Paused {
			active |= r.Events
		}
	}
	if made.Has(model.EventOverdue) {
		if err := n.recordOverdue(ctx, deploymentID); err != nil {
			return err
		}
	}
	if len(waiting) == 0 && !active.Has(model.EventScanMissing) {
		return nil
	}
	return n.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		if err := n.queueMissing(ctx, tx); err != nil {
			return err
		}
		all := map[model.NotificationReceiver]time.Time{}
		for _, to := range waiting {
			all[to] = time.Time{}
		}
		return tx.QueueDeliveries(ctx, all)
	})
}
