package storetest

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// noisyNotification creates a rule that matches no events of tests, and a message.
func noisyNotification(ctx context.Context, tx *store.Tx) error {
	rule := model.NotificationRule{
		Name:        "noise",
		Events:      model.NotificationEvents(0).With(model.EventScanMissing),
		MissingDays: 365,
		Channel:     model.ChannelSlack,
		Host:        "noise.example",
	}
	rule, err := tx.AddNotificationRule(ctx, rule, func(int64) ([]byte, error) { return []byte("noise"), nil })
	if err != nil {
		return err
	}
	_, err = tx.AddEndedNotification(ctx, model.Notification{
		RuleID: rule.ID, Receiver: model.NotificationReceiver{RuleID: rule.ID}, Key: "noise",
		State: model.NotificationDelivered, Message: model.NotificationMessage{Title: "noise"},
	})
	return err
}
