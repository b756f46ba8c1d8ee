package findings

import (
	"context"
	"net/url"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/ticket"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// ticketWait limits the time that a page waits for a tracker. The ticket is still created after
// that.
const ticketWait = 3 * time.Second

// linked reads the ticket of a finding, and whether one can be created.
func (d *findingDetail) linked(ctx context.Context, tx *store.Tx, o store.Occurrence) error {
	found, err := tx.TicketsOfLineages(ctx, []int64{o.LineageID})
	if err != nil {
		return err
	}
	if t, is := found[o.LineageID]; is {
		d.Ticket = &t
	}
	if d.Ticketless() {
		d.TicketPossible, err = ticket.Possible(ctx, tx, []model.Finding{o.Finding})
	}
	return err
}

// Ticketless reports whether a ticket can be requested.
func (d *findingDetail) Ticketless() bool {
	return d.Ticket == nil || d.Ticket.State == model.TicketFailed
}

// changeTicket creates a ticket about a finding, links it to one, or unlinks it. Errors are shown
// with the finding.
func changeTicket(req *ui.Request, form url.Values) error {
	var requested []ticket.Group
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		o, err := tx.Finding(ctx, req.PathID)
		if err != nil {
			return err
		}
		if model.StatusOf(o.State, o.Lineage.Triage.State) == 0 {
			return model.ErrNotFound
		}
		findings := []model.Finding{o.Finding}
		switch form.Get("do") {
		case "create":
			requested, err = requestTicket(ctx, tx, findings)
		case "link":
			_, err = ticket.Link(ctx, tx, ticket.Target{URL: form.Get("ticket_url")}, findings)
		case "unlink":
			_, err = ticket.Unlink(ctx, tx, findings)
		default:
			err = model.Invalid("do", "must be create, link or unlink")
		}
		return err
	})
	if status, why, is := ui.Refusal(err); is {
		return redisplayFinding(req, status, req.PathID, form.Get("back"), func(d *findingDetail) { d.TicketFault = why })
	}
	if err != nil {
		return err
	}
	awaitTickets(req, requested)
	back := form.Get("back")
	if !req.IsLocal(back) {
		back = req.To("/findings/" + ui.Decimal(req.PathID))
	}
	req.Redirect(back + "#ticket")
	return nil
}

// requestTicket requests a ticket about findings. If none can be created, the error contains the
// reason.
func requestTicket(ctx context.Context, tx *store.Tx, findings []model.Finding) ([]ticket.Group, error) {
	out, err := ticket.Submit(ctx, tx, ticket.Request{Findings: findings})
	if err == nil && len(out.Failed) > 0 {
		err = model.Invalid("ticket", "%s", out.Failed[0].Reason)
	}
	return out.Requested, err
}

// awaitTickets waits for tickets to be created. Errors are shown on the next page.
func awaitTickets(req *ui.Request, requested []ticket.Group) {
	var ids []int64
	for _, g := range requested {
		if g.TicketID != 0 {
			ids = append(ids, g.TicketID)
		}
	}
	if len(ids) == 0 {
		return
	}
	view := func(_ context.Context, read func(context.Context, ticket.Reader) error) error {
		return req.View(func(ctx context.Context, tx *store.Tx) error { return read(ctx, tx) })
	}
	_, _ = ticket.Await(req.HTTP.Context(), view, ids, ticketWait, func() bool { return req.CreatesTickets })
}
