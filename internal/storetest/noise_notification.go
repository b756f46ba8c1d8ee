package storetest

import (
	"context"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// noisyNotification makes a rule that asks for nothing that tests do, and what it told.
func noisyNotification(ctx context.Context, tx *store.Tx) error {
	rule := redoubt.NotificationRule{Name: "noise", Events: redoubt.NotificationEvents(0).With(redoubt.EventScanMissing), MissingDays: 365, Channel: redoubt.ChannelSlack, Host: "noise.example"}
	rule, err := tx.AddNotificationRule(ctx, rule, func(int64) ([]byte, error) { return []byte("noise"), nil })
	if err != nil {
		return err
	}
	_, err = tx.AddEndedNotification(ctx, redoubt.Notification{
		RuleID: rule.ID, Receiver: redoubt.NotificationReceiver{RuleID: rule.ID}, Key: "noise", State: redoubt.NotificationDelivered, Message: redoubt.NotificationMessage{Title: "noise"},
	})
	return err
}
