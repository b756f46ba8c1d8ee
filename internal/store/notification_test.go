package store_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// The newest message of each rule that is asked about, of this deployment alone.
func TestLastNotifications(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		add := func(name string, keys ...string) (id int64) {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				r := redoubt.NotificationRule{Name: name, Events: redoubt.NotificationEvents(0).With(redoubt.EventAssigned), Channel: redoubt.ChannelSlack}
				made, err := tx.AddNotificationRule(ctx, r, func(int64) ([]byte, error) { return []byte("sealed"), nil })
				id = made.ID
				for _, key := range keys {
					if err == nil {
						_, err = tx.AddEndedNotification(ctx, redoubt.Notification{RuleID: id, Receiver: redoubt.NotificationReceiver{RuleID: id}, Key: key, State: redoubt.NotificationDelivered})
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
