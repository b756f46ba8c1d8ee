package web

import (
	"context"
	"net/url"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/ticket"
)

// How long a person who asks for a ticket is kept waiting for the tracker, and how often
// it is looked. It is made all the same.
const (
	ticketWait = 3 * time.Second
	ticketLook = 100 * time.Millisecond
)

// linked finds the ticket of a finding, and whether one can be created.
func (d *findingDetail) linked(ctx context.Context, tx *store.Tx, o store.Occurrence) error {
	found, err := tx.TicketsOfLineages(ctx, []int64{o.LineageID})
	if err != nil {
		return err
	}
	if t, is := found[o.LineageID]; is {
		d.Ticket = &t
	}
	if d.Ticketless() {
		d.TicketPossible, err = ticket.Possible(ctx, tx, []redoubt.Finding{o.Finding})
	}
	return err
}

// Ticketless reports whether a ticket can be asked for.
func (d *findingDetail) Ticketless() bool {
	return d.Ticket == nil || d.Ticket.State == redoubt.TicketFailed
}

// changeTicket creates a ticket about a finding, links it to one, or unlinks it. A refusal is
// shown with the finding.
func (req *request) changeTicket(form url.Values) error {
	var asked []ticket.Group
	err := req.update(func(ctx context.Context, tx *store.Tx) error {
		o, err := tx.Finding(ctx, req.pathID)
		if err != nil {
			return err
		}
		if redoubt.StatusOf(o.State, o.Lineage.Triage.State) == 0 {
			return redoubt.ErrNotFound
		}
		findings := []redoubt.Finding{o.Finding}
		switch form.Get("do") {
		case "create":
			asked, err = askTicket(ctx, tx, findings)
		case "link":
			_, err = ticket.Link(ctx, tx, ticket.Target{URL: form.Get("ticket_url")}, findings)
		case "unlink":
			_, err = ticket.Unlink(ctx, tx, findings)
		default:
			err = redoubt.Invalid("do", "Choose what to do about the ticket.")
		}
		return err
	})
	if status, why, is := refusal(err); is {
		return req.findingAgain(status, req.pathID, form.Get("back"), func(d *findingDetail) { d.TicketFault = why })
	}
	if err != nil {
		return err
	}
	req.awaitTickets(asked)
	back := form.Get("back")
	if !req.local(back) {
		back = req.to("/findings/" + decimal(req.pathID))
	}
	req.redirect(back + "#ticket")
	return nil
}

// askTicket asks for a ticket about findings; why there can be none is an error for people.
func askTicket(ctx context.Context, tx *store.Tx, findings []redoubt.Finding) ([]ticket.Group, error) {
	out, err := ticket.Ask(ctx, tx, ticket.Request{Findings: findings})
	if err == nil && len(out.Failed) > 0 {
		err = redoubt.Invalid("ticket", "%s", out.Failed[0].Reason)
	}
	return out.Requested, err
}

// awaitTickets waits until tickets are made, or cannot be, or for long enough.
func (req *request) awaitTickets(asked []ticket.Group) {
	if !req.CreatesTickets {
		return
	}
	for waited := time.Duration(0); waited < ticketWait; waited += ticketLook {
		waits := false
		err := req.view(func(ctx context.Context, tx *store.Tx) error {
			for _, g := range asked {
				if g.TicketID == 0 || waits {
					continue
				}
				t, err := tx.Ticket(ctx, g.TicketID)
				if err != nil {
					return err
				}
				waits = t.State == redoubt.TicketRequested
			}
			return nil
		})
		if err != nil || !waits { // an outage is told by the page that comes next
			return
		}
		select {
		case <-req.r.Context().Done():
			return
		case <-time.After(ticketLook):
		}
	}
}
