package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// queueMissing queues messages about projects that were not scanned for the number of days in a
// rule. Each project is reported once. The rules are read in the transaction, so that concurrent
// sweeps and changes are respected.
func (n *Notifier) queueMissing(ctx context.Context, tx *store.Tx) error {
	rules, err := tx.NotificationRules(ctx)
	for _, r := range rules {
		if err == nil && !r.Paused && r.Events.Has(model.EventScanMissing) {
			err = n.queueMissingOf(ctx, tx, r)
		}
	}
	return err
}

// queueMissingOf queues the message of a rule about projects whose period ended since its last
// check. The key contains the time of that check, so that concurrent sweeps queue one message.
func (n *Notifier) queueMissingOf(ctx context.Context, tx *store.Tx, r model.NotificationRule) error {
	m := matcher{Notifier: n}
	id, filter := r.ID, r.Filter
	r, err := viewed(ctx, tx, r)
	var matches func(model.Project) bool
	if err == nil {
		matches, err = m.matchesProject(ctx, tx, model.EventScanMissing, r)
	}
	// as Match treats rules with an invalid filter
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
		if matches(project) {
			p.count++
			p.projects[project.Name] = 1
			if len(p.about) < model.MaxNotified {
				p.about = append(p.about, model.NotifiedProject{ID: project.ID, Name: project.Name, Last: project.LatestScanAt})
			}
		}
	}
	if p.count > 0 {
		var messages []model.Notification
		message := p.message(model.Happening{Event: model.EventScanMissing}, r, tx.Now())
		for _, to := range r.Receivers() {
			messages = append(messages, model.Notification{
				RuleID:   r.ID,
				Receiver: to,
				Key:      fmt.Sprint("missing_", r.CheckedAt.UnixMicro()),
				Message:  message,
				DueAt:    to.Digest.Next(tx.Now()),
			})
		}
		if err := tx.AddNotifications(ctx, messages); err != nil {
			return err
		}
	}
	return tx.NoteMissingScans(ctx, r.ID)
}
