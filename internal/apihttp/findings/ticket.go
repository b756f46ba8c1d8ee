package findings

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/ticket"
)

// defaultTickets is the default number of tickets in a response.
const defaultTickets = 100

// ticketWait limits the time that a request waits for trackers.
const ticketWait = 10 * time.Second

// ticketsInput is the query for a page of tickets.
type ticketsInput struct {
	api.TicketsQuery
	core.IDPosition
}

// Resolve decodes the cursor.
func (in *ticketsInput) Resolve(ctx huma.Context) []error {
	return in.Find(ctx, "tickets", core.CallOf(ctx.Context()).Caller.Globs(), in.Cursor)
}

func ticketAnswer(t model.Ticket, about []model.TicketFinding) api.Ticket {
	return api.Ticket{
		ID: t.ID, State: t.State.String(), URL: t.URL, ExternalSlug: t.Slug, IssueIDs: findingIDs(about), Problem: t.Problem,
		CreatedAt: api.Time{Time: t.CreatedAt}, CreatedBy: t.CreatedBy.Label(), CheckedAt: core.TimeOrNull(t.CheckedAt),
	}
}

func findingIDs(about []model.TicketFinding) []int64 {
	return model.Map(about, func(f model.TicketFinding) int64 { return f.FindingID })
}

func listTickets(ctx context.Context, c *core.Call, in *ticketsInput) (*api.ListTicketsResponse, error) {
	list, about, more, err := c.Tx.TicketPage(ctx, store.TicketQuery{
		Globs: c.Caller.Globs(),
		After: in.After,
		Limit: cmp.Or(int(in.Limit), defaultTickets),
	})
	if err != nil {
		return nil, err
	}
	out := &api.ListTicketsResponse{Tickets: make([]api.Ticket, len(list))}
	for i, t := range list {
		out.Tickets[i] = ticketAnswer(t, about[t.ID])
	}
	if more {
		out.Cursor, err = c.Server.Cursors().Encode(in.List, list[len(list)-1].ID)
	}
	return out, err
}

// pathTicket returns the ticket of the path, with its findings that are visible to the token. A
// token that is restricted to projects gets model.ErrNotFound if there are none.
func pathTicket(ctx context.Context, c *core.Call) (t model.Ticket, about []model.TicketFinding, err error) {
	id := c.PathID("ticketId")
	if t, err = c.Tx.Ticket(ctx, id); err != nil {
		return t, nil, err
	}
	about, err = c.Tx.TicketFindings(ctx, id, c.Caller.Globs())
	if err == nil && len(c.Caller.Globs()) > 0 && len(about) == 0 {
		err = model.ErrNotFound
	}
	return t, about, err
}

func getTicket(ctx context.Context, c *core.Call, _ *core.None) (*api.TicketResponse, error) {
	t, about, err := pathTicket(ctx, c)
	return &api.TicketResponse{Ticket: ticketAnswer(t, about)}, err
}

// deleteTicket deletes a ticket. All of its findings must be visible to the token.
func deleteTicket(ctx context.Context, c *core.Call, _ *core.None) (*api.DeleteTicketResponse, error) {
	t, about, err := pathTicket(ctx, c)
	if err != nil {
		return nil, err
	}
	all, err := c.Tx.TicketFindings(ctx, t.ID, nil)
	if err != nil {
		return nil, err
	}
	if len(all) != len(about) {
		return nil, model.ErrNotFound
	}
	ids, err := ticket.Delete(ctx, c.Tx, t.ID)
	return &api.DeleteTicketResponse{IssueIDs: orNoIDs(ids)}, err
}

func orNoIDs(ids []int64) []int64 { return append([]int64{}, ids...) }

// linkTicketInput is a request for linking findings to a ticket.
type linkTicketInput struct{ Body api.LinkTicketRequest }

// Resolve checks the ticket's address, which the schema cannot.
func (in *linkTicketInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	if _, err := model.ParseTicketURL(in.Body.TicketURL); err != nil && in.Body.TicketURL != "" {
		bad.Add("body.ticket_url", nil, reasonOf(err))
	}
	return bad
}

// reasonOf returns the message of the first invalid member.
func reasonOf(err error) string {
	if invalid, is := errors.AsType[*model.InvalidError](err); is {
		return invalid.Fields[0].Message
	}
	return err.Error()
}

func linkTicket(ctx context.Context, c *core.Call, in *linkTicketInput) (*api.LinkTicketResponse, error) {
	findings, err := core.AllFindings(ctx, c, in.Body.IssueIDs)
	if err != nil {
		return nil, err
	}
	linked, err := ticket.Link(ctx, c.Tx, ticket.Target{URL: in.Body.TicketURL, Globs: c.Caller.Globs()}, findings)
	if err != nil {
		return nil, err
	}
	return &api.LinkTicketResponse{
		TicketID: linked.Ticket.ID, ExternalSlug: linked.Ticket.Slug, TicketURL: linked.Ticket.URL,
		LinkedIssueIDs: orNoIDs(linked.IDs), ReplacedIssueIDs: orNoIDs(linked.Replaced),
	}, nil
}

func unlinkTicket(
	ctx context.Context, c *core.Call, in *core.Request[api.UnlinkTicketRequest],
) (*api.UnlinkTicketResponse, error) {
	findings, err := core.AllFindings(ctx, c, in.Body.IssueIDs)
	if err != nil {
		return nil, err
	}
	unlinked, err := ticket.Unlink(ctx, c.Tx, findings)
	return &api.UnlinkTicketResponse{UnlinkedIssueIDs: orNoIDs(unlinked)}, err
}
