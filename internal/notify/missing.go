package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// tellMissing has those told who asked for it of projects that were not scanned for some
// days: of each once, when the days are over. The rules are those of the transaction:
// what another server has told, or somebody changed or removed, stays so.
func (n *Notifier) tellMissing(ctx context.Context, tx *store.Tx) error {
	rules, err := tx.NotificationRules(ctx)
	for _, r := range rules {
		if err == nil && !r.Paused && r.Events.Has(model.EventScanMissing) {
			err = n.tellMissingOf(ctx, tx, r)
		}
	}
	return err
}

// tellMissingOf queues the message of a rule about projects whose days ended since it was
// looked last. Its key names that look, so that there is one message, whoever looks.
func (n *Notifier) tellMissingOf(ctx context.Context, tx *store.Tx, r model.NotificationRule) error {
	m := matcher{Notifier: n}
	id, filter := r.ID, r.Filter
	r, err := viewed(ctx, tx, r)
	var keeps func(model.Project) bool
	if err == nil {
		keeps, err = m.keepsProject(ctx, tx, model.EventScanMissing, r)
	}
	// as Match says of rules whose filter will not do any more
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
		f := invalidFilter(model.NotificationRule{Filter: filter}, invalid)
		return tx.NoteNotificationProblem(ctx, id, f.problem, f.pause)
	}
	if err != nil {
		return err
	}
	days := time.Duration(r.MissingDays) * 24 * time.Hour
	list, err := tx.ProjectsSilentSince(ctx, r.CheckedAt.Add(-days), tx.Now().Add(-days))
	if err != nil {
		return err
	}
	p := matchSummary{projects: map[string]int{}}
	for _, project := range list {
		if keeps(project) {
			p.count++
			p.projects[project.Name] = 1
			if len(p.about) < model.MaxNotified {
				p.about = append(p.about, model.NotifiedProject{ID: project.ID, Name: project.Name, Last: project.LatestScanAt})
			}
		}
	}
	if p.count > 0 {
		var told []model.Notification
		message := p.message(model.Happening{Event: model.EventScanMissing}, r, tx.Now())
		for _, to := range r.Receivers() {
			told = append(told, model.Notification{
				RuleID:   r.ID,
				Receiver: to,
				Key:      fmt.Sprint("missing_", r.CheckedAt.UnixMicro()),
				Message:  message,
				DueAt:    to.Digest.Next(tx.Now()),
			})
		}
		if err := tx.AddNotifications(ctx, told); err != nil {
			return err
		}
	}
	return tx.NoteMissingScans(ctx, r.ID)
}
