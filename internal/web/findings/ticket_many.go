package findings

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/ticket"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// madeTickets is the data of the page with the results of a request for tickets.
type madeTickets struct {
	Product ui.Product
	Back    string
	Limit   int
	Left    int // findings beyond the limit
	Fault   string
	Rows    []madeTicket
}

// madeTicket is a group of findings. Ticket is zero if there is none.
type madeTicket struct {
	First  int64
	Count  int
	Ticket model.Ticket
	Reason string
}

// makeTickets creates tickets for a selection, or links the selection to a ticket.
func makeTickets(req *ui.Request, form url.Values) error {
	s, err := snapshotFrom(form)
	if err != nil {
		return err
	}
	page := madeTickets{
		Product: ui.ProductOf(s.IssueType),
		Back:    backTo(req, form, s.IssueType),
		Limit:   model.MaxTicketSelection,
	}
	var requested []ticket.Group
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		requested = nil
		switch form.Get("do") {
		case "create":
			out, err := requestTickets(ctx, tx, s, form.Get("each") == "")
			page.Left, requested = len(out.Left), slices.Concat(out.Requested, out.Failed, out.Skipped)
			return err
		case "link":
			linked, err := linkAll(ctx, tx, s, form.Get("ticket_url"))
			requested = []ticket.Group{{IDs: linked.IDs, TicketID: linked.Ticket.ID}}
			return err
		}
		return model.Invalid("do", "must be create or link")
	})
	status, why, refused := ui.Refusal(err)
	if refused {
		page.Fault, requested, err = why, nil, nil
	}
	if err != nil {
		return err
	}
	if form.Get("do") == "create" {
		awaitTickets(req, requested)
	}
	err = req.View(func(ctx context.Context, tx *store.Tx) error { return page.read(ctx, tx, requested) })
	if err != nil {
		return err
	}
	return req.Show(cmp.Or(status, http.StatusOK), ui.Page{
		Template: "tickets",
		Title:    "Tickets",
		Section:  page.Product.Section,
		Data:     &page,
	})
}

// requestTickets requests tickets for the newest selected findings without one.
func requestTickets(ctx context.Context, tx *store.Tx, s snapshot, group bool) (ticket.Outcome, error) {
	findings, err := listedOf(ctx, tx, s)
	if err != nil {
		return ticket.Outcome{}, err
	}
	return ticket.Submit(ctx, tx, ticket.Request{Findings: findings, Group: group, Limit: model.MaxTicketSelection})
}

// linkAll links a selection to one ticket.
func linkAll(ctx context.Context, tx *store.Tx, s snapshot, address string) (ticket.Linked, error) {
	if len(s.IDs) > model.MaxTicketFindings {
		return ticket.Linked{}, model.Invalid("ids", "%d findings are selected: a ticket covers at most %d",
			len(s.IDs), model.MaxTicketFindings)
	}
	findings, err := listedOf(ctx, tx, s)
	if err != nil {
		return ticket.Linked{}, err
	}
	return ticket.Link(ctx, tx, ticket.Target{URL: address}, findings)
}

// listedOf reads the newest listed findings of a selection, at most model.MaxTriage.
func listedOf(ctx context.Context, tx *store.Tx, s snapshot) ([]model.Finding, error) {
	ids := slices.Clone(s.IDs)
	slices.Sort(ids)
	findings, err := tx.FindingsByID(ctx, ids[max(0, len(ids)-model.MaxTriage):])
	findings = slices.DeleteFunc(findings, func(f model.Finding) bool {
		return f.State == model.StateRemoved || f.IssueType != s.IssueType
	})
	if err == nil && len(findings) == 0 {
		err = model.Invalid("ids", "the selected findings no longer exist: go back to the list and select again")
	}
	return findings, err
}

// read reads the current state of each ticket. Groups with the same ticket are merged.
func (p *madeTickets) read(ctx context.Context, tx *store.Tx, groups []ticket.Group) error {
	at := map[int64]int{}
	for _, g := range groups {
		if i, found := at[g.TicketID]; found && g.TicketID != 0 {
			p.Rows[i].Count += len(g.IDs)
			continue
		}
		row := madeTicket{First: g.IDs[0], Count: len(g.IDs), Reason: g.Reason}
		if g.TicketID != 0 {
			var err error
			if row.Ticket, err = tx.Ticket(ctx, g.TicketID); err != nil {
				return err
			}
			if row.Ticket.Problem != "" {
				row.Reason = row.Ticket.Problem
			}
		}
		at[g.TicketID], p.Rows = len(p.Rows), append(p.Rows, row)
	}
	return nil
}
