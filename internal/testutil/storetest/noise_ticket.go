package storetest

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// noisyTicket links the first finding to a ticket, and configures where tickets are created.
func noisyTicket(ctx context.Context, tx *store.Tx) error {
	found, err := tx.FindingsByID(ctx, []int64{1})
	if err != nil {
		return err
	}
	added, err := tx.AddTickets(ctx, []model.Ticket{{State: model.TicketOpen, URL: "https://tracker.example/browse/SEC-1", Slug: "SEC-1", Project: "SEC", Key: "SEC-1"}})
	if err != nil {
		return err
	}
	for _, f := range found {
		if err := tx.AddTicketFindings(ctx, []model.TicketFinding{
			{TicketID: added[0].ID, FindingID: f.ID, LineageID: f.LineageID},
		}); err != nil {
			return err
		}
	}
	return tx.PutTicketSetting(ctx, model.TicketSetting{Project: "SEC", IssueType: "Bug"})
}
