package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestLastNotifications checks that the newest message of each given rule of the deployment is
// returned.
func TestLastNotifications(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		add := func(name string, keys ...string) (id int64) {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				r := model.NotificationRule{Name: name, Events: model.NotificationEvents(0).With(model.EventAssigned), Channel: model.ChannelSlack}
				made, err := tx.AddNotificationRule(ctx, r, func(int64) ([]byte, error) { return []byte("sealed"), nil })
				id = made.ID
				for _, key := range keys {
					if err == nil {
						_, err = tx.AddEndedNotification(ctx, model.Notification{RuleID: id, Receiver: model.NotificationReceiver{RuleID: id}, Key: key, State: model.NotificationDelivered})
					}
				}
				return err
			})
			return id
		}
		two, one, none, other := add("two", "first", "second"), add("one", "only"), add("none"), add("other", "apart")
		d.view(func(ctx context.Context, tx *store.Tx) error {
			last, err := tx.LastNotifications(ctx, []int64{two, one, none})
			if len(last) != 2 || last[two].Key != "second" || last[one].Key != "only" {
				t.Errorf("the last of %d, %d, %d but not %d: %v", two, one, none, other, last)
			}
			if err != nil {
				return err
			}
			if last, err = tx.LastNotifications(ctx, nil); len(last) != 0 {
				t.Errorf("the last of no rule: %v", last)
			}
			return err
		})
	})
}

// addRule creates a rule with a webhook.
func (d tenant) addRule(name string) (made model.NotificationRule) {
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		r := model.NotificationRule{Name: name, Events: model.NotificationEvents(0).With(model.EventAssigned), Channel: model.ChannelSlack}
		made, err = tx.AddNotificationRule(ctx, r, func(int64) ([]byte, error) { return []byte("sealed"), nil })
		return err
	})
	return made
}

// eachTimed is storetest.Each with the store's clock.
func eachTimed(t *testing.T, test func(t *testing.T, s *store.Store, clock *storetest.Clock)) {
	t.Helper()
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			test(t, storetest.Open(t, storetest.Database(t, engine, clock)), clock)
		})
	}
}

// TestPruneNotifications checks that the newest 1,000 messages of a rule, queued messages and those
// of other rules stay.
func TestPruneNotifications(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		much, other := d.addRule("much"), d.addRule("other")
		d.update(func(ctx context.Context, tx *store.Tx) error {
			var list []model.Notification
			for i := range 3 {
				list = append(list, model.Notification{RuleID: much.ID, Receiver: much.Receivers()[0], Key: fmt.Sprint("waits", i), DueAt: tx.Now()})
			}
			if err := tx.AddNotifications(ctx, list); err != nil {
				return err
			}
			for i := range 2100 {
				for _, r := range []model.NotificationRule{much, other} {
					if r.ID == other.ID && i >= 10 {
						continue
					}
					_, err := tx.AddEndedNotification(ctx, model.Notification{RuleID: r.ID, Receiver: r.Receivers()[0], Key: fmt.Sprint(i), State: model.NotificationDelivered})
					if err != nil {
						return err
					}
				}
			}
			return nil
		})
		for _, id := range []int64{much.ID, other.ID} {
			d.check(s.PruneNotifications(t.Context(), d.id, id))
		}
		d.view(func(ctx context.Context, tx *store.Tx) error {
			for id, want := range map[int64]int{much.ID: 1003, other.ID: 10} {
				list, _, err := tx.Notifications(ctx, store.NotificationQuery{RuleID: id, Limit: 5000})
				if len(list) != want {
					t.Errorf("%d messages are kept, want %d", len(list), want)
				}
				if err != nil {
					return err
				}
				if id == much.ID && (list[0].Key != "2099" || list[999].Key != "1100" || list[1002].Key != "waits0") {
					t.Errorf("kept are %s to %s, and at last %s", list[0].Key, list[999].Key, list[1002].Key)
				}
			}
			return nil
		})
	})
}

// TestDeliveriesToReceiverShareJob checks that deliveries share a job with the earliest due
// time. Messages added while it runs get another job, which waits for it.
func TestDeliveriesToReceiverShareJob(t *testing.T) {
	eachTimed(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		d := newTenant(t, s)
		to := d.addRule("on call").Receivers()[0]
		queue := func(waits ...time.Duration) {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				for _, wait := range waits {
					if err := tx.QueueDelivery(ctx, to, tx.Now().Add(wait)); err != nil {
						return err
					}
				}
				return nil
			})
			clock.Advance(time.Millisecond) // past the commit time, which may be ahead of the clock
		}
		claim := func() *model.Job {
			j, err := storetest.Claim(t.Context(), s, time.Minute, store.DeliverJob)
			d.check(err)
			return j
		}
		queue(time.Hour, 10*time.Second, time.Minute)
		if claim() != nil {
			t.Fatal("a delivery is due before its time")
		}
		clock.Advance(11 * time.Second)
		j := claim()
		if j == nil || claim() != nil {
			t.Fatalf("due is %+v, and no other", j)
		}
		queue(0, time.Hour)
		if early := claim(); early != nil {
			t.Fatalf("two deliver to one receiver: %+v", early)
		}
		d.check(s.FinishJob(t.Context(), *j, nil, ""))
		if j = claim(); j == nil {
			t.Fatal("what came meanwhile has no job")
		}
		d.check(s.FinishJob(t.Context(), *j, nil, ""))
		for range 300 {
			queue(0)
			d.check(s.FinishJob(t.Context(), *claim(), nil, ""))
		}
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Jobs(ctx, store.DeliverJob, 5000)
			if len(list) > 2 {
				t.Errorf("there are %d jobs", len(list))
			}
			return err
		})
	})
}

// TestPausedRuleEndsQueuedMessages pauses a rule during a delivery to its receiver.
func TestPausedRuleEndsQueuedMessages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		r := d.addRule("on call")
		d.update(func(ctx context.Context, tx *store.Tx) error {
			var list []model.Notification
			for _, key := range []string{"first", "second"} {
				list = append(list, model.Notification{RuleID: r.ID, Receiver: r.Receivers()[0], Key: key, DueAt: tx.Now()})
			}
			return tx.AddNotifications(ctx, list)
		})
		var inFlight []model.Notification
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			inFlight, err = tx.NextNotifications(ctx, r.Receivers()[0], 1)
			return err
		})
		d.update(func(ctx context.Context, tx *store.Tx) error {
			r.Paused = true
			_, err := tx.UpdateNotificationRule(ctx, r, nil)
			return err
		})
		d.update(func(ctx context.Context, tx *store.Tx) error {
			if err := tx.EndNotifications(ctx, inFlight, store.Delivered{State: model.NotificationQueued, Problem: "later"}); err != nil {
				return err
			}
			// as by a version that does not fail messages of paused rules
			third := model.Notification{RuleID: r.ID, Receiver: r.Receivers()[0], Key: "third", DueAt: tx.Now()}
			if err := tx.AddNotifications(ctx, []model.Notification{third}); err != nil {
				return err
			}
			claimed, err := tx.NextNotifications(ctx, r.Receivers()[0], 5)
			if len(claimed) > 0 {
				t.Errorf("a paused rule has %+v told", claimed)
			}
			return err
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, _, err := tx.Notifications(ctx, store.NotificationQuery{RuleID: r.ID, Limit: 10})
			if len(list) != 3 {
				t.Errorf("the log has %d", len(list))
			}
			for _, n := range list {
				if n.State != model.NotificationFailed || n.Problem != "The rule was paused." || n.Attempts != 0 {
					t.Errorf("the log has %+v", n)
				}
			}
			return err
		})
	})
}
