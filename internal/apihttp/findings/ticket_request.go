package findings

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/ticket"
)

// createTicketsInput is a request for tickets, with its selection of findings.
type createTicketsInput struct {
	Body   api.CreateTicketsRequest
	filter model.FindingFilter
	search bool // by the filter; otherwise by ids only
}

// Resolve converts the selection. An empty selection is an error and never means everything.
func (in *createTicketsInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	b := &in.Body
	f := &b.TriageFilter
	in.search = hasFilter(f)
	if b.IssueType != "" {
		refuseTied("body.", b.IssueType, tiedFilters(f), &bad)
	}
	switch {
	case !in.search && len(b.IssueIDs) == 0:
		bad.Add("body.issue_ids", nil, "is required, or a filter: a request with neither selects nothing")
	case in.search && b.IssueType == "":
		bad.Add("body.issue_type", nil, "is required with a filter: sast, sca or secrets")
	}
	if b.JiraProjectID != "" && b.Project != "" && string(b.JiraProjectID) != b.Project {
		bad.Add(
			"body.jira_project_id", string(b.JiraProjectID), "differs from tracker_project: omit one of them",
		)
	}
	selection := selectionOf(f, &bad)
	in.filter = selectedBy(&selection, "body.", core.CallOf(ctx.Context()).Server.Clock(), &bad)
	in.filter.IssueType, _ = model.ParseIssueType(b.IssueType)
	in.filter.Visible = core.CallOf(ctx.Context()).Caller.Globs()
	in.filter.HasIDs = b.IssueIDs != nil
	for _, id := range b.IssueIDs {
		in.filter.IDs = append(in.filter.IDs, int64(id))
	}
	return bad
}

// createTickets requests tickets and waits briefly for trackers to create them. The requests are
// stored before the wait, so they survive a disconnect.
func createTickets(ctx context.Context, c *core.Call, in *createTicketsInput) (*api.CreateTicketsResponse, error) {
	out, err := core.RunIdempotent(ctx, c, func(ctx context.Context) (*api.CreateTicketsResponse, error) {
		return requestTickets(ctx, c, in)
	})
	if err != nil || len(out.Pending) == 0 {
		return out, err
	}
	return out, awaitTickets(ctx, c, out)
}

func requestTickets(ctx context.Context, c *core.Call, in *createTicketsInput) (*api.CreateTicketsResponse, error) {
	out := &api.CreateTicketsResponse{
		Succeeded: []api.TicketMade{},
		Skipped:   []api.TicketSkipped{},
		Failed:    []api.TicketFailed{},
		Pending:   []api.TicketPending{},
	}
	findings, err := selectForTickets(ctx, c, in, out)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	limit := cmp.Or(int(b.Limit), model.MaxTicketSelection)
	outcome, err := ticket.Submit(ctx, c.Tx, ticket.Request{
		Findings: findings, Limit: limit, Group: b.GroupIssues == nil || *b.GroupIssues,
		Connection: b.Connection, Project: cmp.Or(b.Project, string(b.JiraProjectID)), Globs: c.Caller.Globs(),
	})
	if err != nil {
		return nil, err
	}
	for _, g := range outcome.Requested {
		out.Pending = append(out.Pending, api.TicketPending{IssueIDs: g.IDs, TicketID: g.TicketID})
	}
	for _, g := range outcome.Skipped {
		out.Skipped = append(out.Skipped, api.TicketSkipped{IssueIDs: g.IDs, Reason: g.Reason})
	}
	if len(outcome.Left) > 0 && !in.search {
		reason := fmt.Sprintf("The limit is %d findings per request. Send these in another request.", limit)
		out.Skipped = append(out.Skipped, api.TicketSkipped{IssueIDs: outcome.Left, Reason: reason})
	}
	for _, g := range outcome.Failed {
		out.Failed = append(out.Failed, api.TicketFailed{IssueIDs: g.IDs, Error: g.Reason})
	}
	return out, nil
}

// selectForTickets returns the selected findings, and reports unknown ids. A filter returns the
// newest findings, up to the limit of one triage.
func selectForTickets(
	ctx context.Context, c *core.Call, in *createTicketsInput, out *api.CreateTicketsResponse,
) ([]model.Finding, error) {
	selected := slices.Compact(slices.Sorted(slices.Values(in.filter.IDs)))
	ids := selected
	if in.search || in.filter.IssueType != 0 {
		view, err := c.Findings(ctx)
		if err != nil {
			return nil, err
		}
		found, err := view.Newest(ctx, in.filter, model.MaxTriage)
		if err != nil {
			return nil, err
		}
		ids = nil
		for _, t := range found {
			ids = append(ids, t.FindingID)
		}
	}
	findings, err := core.SomeFindings(ctx, c, ids)
	if err != nil || in.search {
		return findings, err
	}
	exists := map[int64]bool{}
	for _, f := range findings {
		exists[f.ID] = true
	}
	for _, id := range selected {
		if !exists[id] {
			out.Skipped = append(out.Skipped, api.TicketSkipped{IssueIDs: []int64{id}, Reason: "Finding does not exist."})
		}
	}
	return findings, nil
}

// awaitTickets waits for the pending tickets of a response, and moves those that were created or
// failed.
func awaitTickets(ctx context.Context, c *core.Call, out *api.CreateTicketsResponse) error {
	pending := out.Pending
	ids := model.Map(pending, func(p api.TicketPending) int64 { return p.TicketID })
	view := func(ctx context.Context, read func(context.Context, ticket.Reader) error) error {
		return c.View(ctx, func(ctx context.Context) error { return read(ctx, c.Tx) })
	}
	tickets, err := ticket.Await(ctx, view, ids, ticketWait,
		func() bool { return c.Server.CreatesTickets && !c.Server.Draining.Load() })
	if err != nil {
		return err
	}
	out.Pending = []api.TicketPending{}
	for _, p := range pending {
		switch t := tickets[p.TicketID]; t.State {
		case model.TicketRequested:
			out.Pending = append(out.Pending, p)
		case model.TicketFailed:
			out.Failed = append(out.Failed, api.TicketFailed{IssueIDs: p.IssueIDs, Error: t.Problem})
		default:
			out.Succeeded = append(out.Succeeded, api.TicketMade{
				IssueIDs:     p.IssueIDs,
				TicketID:     t.ID,
				TicketURL:    t.URL,
				ExternalSlug: t.Slug,
			})
		}
	}
	return nil
}
