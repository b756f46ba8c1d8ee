package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// TellMissing has those told who asked for it of projects that were not scanned for some
// days: of each once, when the days are over. It also sees to it that what waits for a
// receiver has a job. Run it now and then.
func (n *Notifier) TellMissing(ctx context.Context, deploymentID int64) error {
	var rules []redoubt.NotificationRule
	waits := false
	err := n.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.NotificationRules(ctx)
		if err != nil {
			return err
		}
		for _, r := range list {
			if !r.Paused && r.Events.Has(redoubt.EventScanMissing) {
				rules = append(rules, r)
			}
		}
		waits, err = tx.NotificationsWait(ctx)
		return err
	})
	if err != nil || len(rules) == 0 && !waits {
		return err
	}
	return n.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		for _, r := range rules {
			if err := n.tellMissing(ctx, tx, r); err != nil {
				return err
			}
		}
		return tx.QueueWaiting(ctx)
	})
}

// tellMissing queues the message of a rule about projects whose days ended since it was
// looked last.
func (n *Notifier) tellMissing(ctx context.Context, tx *store.Tx, r redoubt.NotificationRule) error {
	m := matcher{Notifier: n}
	keeps, err := m.keepsProject(redoubt.EventScanMissing, r)
	if err != nil { // Match says so of rules whose filter will not do any more
		return tx.NoteNotificationProblem(ctx, r.ID, "Its filter will not do any more: "+err.Error(), false)
	}
	days := time.Duration(r.MissingDays) * 24 * time.Hour
	list, err := tx.ProjectsSilentSince(ctx, r.CheckedAt.Add(-days), tx.Now().Add(-days))
	if err != nil {
		return err
	}
	p := picture{projects: map[string]int{}}
	for _, project := range list {
		if keeps(project) {
			p.count++
			p.projects[project.Name] = 1
			if len(p.about) < redoubt.MaxNotified {
				p.about = append(p.about, redoubt.NotifiedProject{ID: project.ID, Name: project.Name, Last: project.LatestScanAt})
			}
		}
	}
	if p.count > 0 {
		var told []redoubt.Notification
		message := p.message(redoubt.Happening{Event: redoubt.EventScanMissing}, r, tx.Now())
		for _, to := range r.Receivers() {
			told = append(told, redoubt.Notification{RuleID: r.ID, Receiver: to, Key: fmt.Sprint("missing_", tx.Now().UnixMicro()), Message: message, DueAt: to.Digest.Next(tx.Now())})
		}
		if err := tx.AddNotifications(ctx, told); err != nil {
			return err
		}
	}
	return tx.NoteMissingScans(ctx, r.ID)
}
