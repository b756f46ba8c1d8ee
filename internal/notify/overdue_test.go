package notify_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// due sets the number of days until findings are due.
func (w *world) due(days int) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Policies(ctx)
		for _, p := range list {
			if err == nil && p.Product == model.SAST && p.Default {
				p.Due = model.DueDays{High: days}
				_, err = tx.UpdatePolicy(ctx, p)
			}
		}
		return err
	})
}

func (w *world) sweep(n int) {
	w.Helper()
	for range n { // as several servers, or one repeatedly
		if err := w.n.Sweep(w.Context(), w.d.ID); err != nil {
			w.Fatal(err)
		}
	}
	w.runDueJobs()
}

// TestOverdueIsReportedOncePerDate follows a due date that passes, is moved by a policy and by a
// decision, and passes again.
func TestOverdueIsReportedOncePerDate(t *testing.T) {
	each(t, func(w *world) {
		overdue := model.NotificationEvents(0).With(model.EventOverdue)
		w.addRule(func(r *model.NotificationRule) { r.Events = overdue })
		w.addRule(func(r *model.NotificationRule) {
			r.Name, r.Events, r.Filter = "elsewhere", overdue, "repos=acme/other"
		})
		paused, _ := w.addRule(func(r *model.NotificationRule) { r.Name, r.Events, r.Paused = "paused", overdue, true })
		w.due(10)
		lineages := w.found(added{n: 2, severity: model.SeverityHigh})
		w.found(added{n: 2, severity: model.SeverityHigh, ref: "refs/heads/topic", of: lineages})
		w.found(added{n: 1, severity: model.SeverityLow}) // has no due date
		decide := func(state model.TriageState) {
			w.update(func(ctx context.Context, tx *store.Tx) error {
				list, err := tx.Lineages(ctx, []int64{lineages[1].ID})
				if err != nil {
					return err
				}
				before := list[lineages[1].ID].Triage
				return tx.UpdateTriage(ctx, []model.TriageEvent{{
					LineageID: lineages[1].ID, At: tx.Now(), By: tx.Actor(), Before: before, After: model.Triage{State: state, At: tx.Now(), By: tx.Actor()},
				}})
			})
		}
		const day = 24 * time.Hour
		both, second := "2 findings are overdue (2 high) in acme/api", "1 finding is overdue (1 high) in acme/api"
		for _, step := range []struct {
			name string
			do   func()
			want string // title of the one message; empty: none
		}{
			{"before", func() { w.clock.Advance(10 * day) }, ""},
			{"the day after", func() { w.clock.Advance(day) }, both},
			{"again", func() {}, ""},
			{"on another day", func() { w.clock.Advance(day) }, ""},
			{"being fixed", func() { decide(model.TriageFixing) }, ""},
			{"moved ahead", func() { w.due(20) }, ""},
			{"past that", func() { w.clock.Advance(10 * day) }, both},
			{"moved back", func() { w.due(5) }, both},
			{"ignored", func() { decide(model.TriageIgnored); w.clock.Advance(3 * day) }, ""},
			{"open once more", func() { decide(model.TriageReopened) }, second},
			{"without a rule for it", func() {
				w.update(func(ctx context.Context, tx *store.Tx) error {
					list, err := tx.NotificationRules(ctx)
					for _, r := range list {
						if r.Paused = true; err == nil {
							_, err = tx.UpdateNotificationRule(ctx, r, nil)
						}
					}
					return err
				})
				w.due(6)
				w.sweep(1)
				w.update(func(ctx context.Context, tx *store.Tx) error {
					paused.Paused = false
					_, err := tx.UpdateNotificationRule(ctx, paused, nil)
					return err
				})
			}, ""},
		} {
			step.do()
			w.sweep(3)
			events := w.receiver.events(w.T)
			if step.want == "" && len(events) > 0 || step.want != "" && (len(events) != 1 || events[0].Data.Title != step.want || events[0].Type != "redoubt.overdue") {
				t.Errorf("%s: told is %+v, want %q", step.name, events, step.want)
			}
		}
	})
}
