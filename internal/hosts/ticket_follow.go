package hosts

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

const (
	// ticketsEvery is the minimum interval between queries for the state of one ticket.
	ticketsEvery = 15 * time.Minute
	// ticketsAtOnce is the maximum number of tickets queried in a round.
	ticketsAtOnce = 50
	// ticketFailures is the number of consecutive errors that end a round.
	ticketFailures = 5
)

// FollowTickets queries a tracker for the states of tickets not queried since a time, oldest first.
// An error of one ticket does not stop the others.
func (k *Service) FollowTickets(ctx context.Context, d model.Deployment, c model.Connection, since time.Time) error {
	var list []model.Ticket
	err := k.Store.View(ctx, d.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.StaleTickets(ctx, c.ID, since, ticketsAtOnce)
		return err
	})
	if err != nil || len(list) == 0 {
		return err
	}
	tracker, err := k.tracker(d.ID, c)
	if err != nil {
		return err
	}
	failures := 0
	for _, t := range list {
		now, trackerErr := tracker.Ticket(ctx, t.Project, t.Key)
		if _, busy := errors.AsType[*model.BusyError](trackerErr); busy || ctx.Err() != nil {
			return trackerErr
		}
		err := k.Store.Update(ctx, d.ID, following, func(ctx context.Context, tx *store.Tx) error {
			return noteState(ctx, tx, t.ID, c.ID, now, trackerErr)
		})
		if err != nil && !errors.Is(err, model.ErrNotFound) {
			return err
		}
		if trackerErr == nil || refused(trackerErr) || errors.Is(trackerErr, model.ErrNotFound) {
			failures = 0
		} else if failures++; failures == ticketFailures {
			return trackerErr // the tracker is unavailable
		}
	}
	return nil
}

// noteState stores the state of a ticket, or the error of its query. A ticket that moved to another
// connection is unchanged.
func noteState(ctx context.Context, tx *store.Tx, id, connectionID int64, now scm.Ticket, trackerErr error) error {
	t, err := tx.Ticket(ctx, id)
	if err != nil || t.ConnectionID != connectionID {
		return err
	}
	before := t
	if trackerErr == nil {
		applyTrackerState(&t, now, tx.Now())
	} else {
		t.Problem, t.CheckedAt = "Reading its state failed: "+model.Line(trackerErr.Error()), tx.Now()
	}
	if t.State == before.State && t.Problem == before.Problem {
		return tx.NoteTicketChecked(ctx, id)
	}
	return tx.UpdateTicket(ctx, t)
}
