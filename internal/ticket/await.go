package ticket

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// pollInterval is the interval at which requested tickets are read.
const pollInterval = 100 * time.Millisecond

// Reader reads tickets in one transaction of one deployment.
type Reader interface {
	Ticket(ctx context.Context, id int64) (model.Ticket, error)
}

// Await waits until trackers have created or refused tickets, at most for a duration and while goOn
// returns true. It returns the tickets by id. view opens a read transaction.
func Await(
	ctx context.Context, view func(ctx context.Context, read func(context.Context, Reader) error) error,
	ids []int64, most time.Duration, goOn func() bool,
) (map[int64]model.Ticket, error) {
	tickets := make(map[int64]model.Ticket, len(ids))
	for waited := time.Duration(0); ; waited += pollInterval {
		pending := false
		err := view(ctx, func(ctx context.Context, tx Reader) (err error) {
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
		case <-time.After(pollInterval):
		}
	}
}
