package edge

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// ticketPoll is the interval at which requested tickets are read.
const ticketPoll = 100 * time.Millisecond

// AwaitTickets waits until trackers have created or refused tickets, at most for a duration and
// while goOn returns true. It returns the tickets by id.
func AwaitTickets(
	ctx context.Context, st *store.Store, deploymentID int64, ids []int64, most time.Duration, goOn func() bool,
) (map[int64]model.Ticket, error) {
	tickets := make(map[int64]model.Ticket, len(ids))
	for waited := time.Duration(0); ; waited += ticketPoll {
		pending := false
		err := st.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
			for _, id := range ids {
				if tickets[id], err = tx.Ticket(ctx, id); err != nil {
					return err
				}
				pending = pending || tickets[id].State == model.TicketRequested
			}
			return nil
		})
		if err != nil || !pending || waited >= most || !goOn() {
			return tickets, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(ticketPoll):
		}
	}
}
