package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// messages returns n messages per receiver of each rule, with keys starting at from.
func messages(from, n int, due time.Time, rules ...model.NotificationRule) (list []model.Notification) {
	for i := range n {
		for _, r := range rules {
			for _, to := range r.Receivers() {
				list = append(list, model.Notification{RuleID: r.ID, Receiver: to, Key: fmt.Sprint(from + i), DueAt: due})
			}
		}
	}
	return list
}

// TestWaitingMessagesAreBounded checks that messages above the limit fail with a reason, without
// affecting other receivers. Messages must be queued again once there is space.
func TestWaitingMessagesAreBounded(t *testing.T) {
	eachTimed(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		d := newTenant(t, s)
		full, calm := d.addRule("full"), d.addRule("calm")
		to := full.Receivers()[0]
		add := func(list []model.Notification) {
			d.update(func(ctx context.Context, tx *store.Tx) error { return tx.AddNotifications(ctx, list) })
		}
		const most = store.MaxNotificationsWaiting
		now := clock.Now()
		add(messages(0, most-2, now, full))
		add(messages(most-2, 5, now, full, calm))
		add(messages(most-2, 5, now, full, calm)) // again, as if the job had died before its end
		add(messages(most+3, 1, now, full))

		count := func(r model.NotificationRule) (states map[model.NotificationState]int, log []model.Notification) {
			states = map[model.NotificationState]int{}
			d.view(func(ctx context.Context, tx *store.Tx) (err error) {
				log, _, err = tx.Notifications(ctx, store.NotificationQuery{RuleID: r.ID, Limit: 5000})
				for _, n := range log {
					states[n.State]++
				}
				return err
			})
			return states, log
		}
		states, log := count(full)
		same(t, "the full receiver", states, map[model.NotificationState]int{model.NotificationQueued: most, model.NotificationFailed: 4})
		for i, n := range log {
			if failed := i < 4; (n.State == model.NotificationFailed) != failed || failed && (n.Problem != "The receiver already had 2,000 queued messages." || n.EndedAt.IsZero()) {
				t.Fatalf("message %d from the newest is %+v", i, n)
			}
		}
		states, _ = count(calm)
		same(t, "the calm one", states, map[model.NotificationState]int{model.NotificationQueued: 5})

		resend := func() error {
			return s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ResendNotification(ctx, full.ID, log[0].ID)
				return err
			})
		}
		if err := resend(); !errors.Is(err, model.ErrConflict) {
			t.Errorf("one is sent again behind all that wait: %v", err)
		}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			claimed, err := tx.NextNotifications(ctx, to, 2)
			if err != nil || len(claimed) != 2 || claimed[0].Key != "0" {
				t.Fatalf("told is %+v, %v", claimed, err)
			}
			return tx.EndNotifications(ctx, claimed, store.Delivered{State: model.NotificationDelivered})
		})
		d.check(resend())
		add(messages(most+4, 2, now, full))
		states, _ = count(full)
		same(t, "with room again", states, map[model.NotificationState]int{
			model.NotificationQueued: most, model.NotificationFailed: 4, model.NotificationDelivered: 2,
		})
	})
}

// TestNotificationsNeedFewRoundTrips compares one receiver with hundreds.
func TestNotificationsNeedFewRoundTrips(t *testing.T) {
	proxy, config := storetest.Through(t, storetest.Database(t, "postgres", storetest.NewClock()))
	d := newTenant(t, storetest.Open(t, config))
	var rules []model.NotificationRule
	for i := range 60 {
		rules = append(rules, d.addRule(fmt.Sprint("rule ", i)))
	}
	trips := func(from, n int, rules ...model.NotificationRule) int {
		before := proxy.RoundTrips()
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddNotifications(ctx, messages(from, n, tx.Now(), rules...))
		})
		return proxy.RoundTrips() - before
	}
	trips(0, 1, rules[0]) // prepares the statements
	one, many := trips(10, 1, rules[0]), trips(100, 5, rules...)
	t.Logf("1 message took %d round trips, 300 took %d", one, many)
	if many > 10 {
		t.Errorf("300 messages took %d round trips, at most 10 were to be", many)
	}
}
