package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
)

// TicketsCmd manages tickets about findings.
type TicketsCmd struct {
	List   ticketsListCmd   `cmd:"" default:"withargs" help:"List tickets of findings."`
	Create ticketsCreateCmd `cmd:"" help:"Create tickets about findings in the issue tracker."`
	Link   ticketsLinkCmd   `cmd:"" help:"Link findings to an existing ticket."`
	Unlink ticketsUnlinkCmd `cmd:"" help:"Unlink findings from their tickets."`
}

type ticketsListCmd struct {
	webapi.Flags
	webapi.Cut
}

// Run lists tickets.
func (c ticketsListCmd) Run(a *command.App) error {
	if err := c.Check(); err != nil {
		return err
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	items := itemsOf(client.Tickets(a.Ctx, deployment, api.TicketsQuery{Limit: c.Page(c.Output, 1, 200)}),
		func(t api.Ticket) []string {
			return []string{
				strconv.FormatInt(t.ID, 10), t.State, cmp.Or(t.ExternalSlug, "-"),
				findingList(t.IssueIDs), cmp.Or(t.URL, t.Problem, "-"),
			}
		})
	return c.List(a, c.Cut, "ID STATE TICKET FINDINGS ADDRESS", items, nil)
}

func findingList(ids []int64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatInt(id, 10)
	}
	return cmp.Or(strings.Join(words, " "), "-")
}

// picked selects the findings of a command.
type picked struct {
	IDs []int64 `arg:"" name:"finding" help:"Ids of the findings."`
}

func (p picked) ids() []api.Int {
	out := make([]api.Int, len(p.IDs))
	for i, id := range p.IDs {
		out[i] = api.Int(id)
	}
	return out
}

type ticketsCreateCmd struct {
	webapi.Flags
	picked
	Each       bool   `help:"Create one ticket per finding (default: per rule and project)."`
	Connection string `help:"Create tickets with this connection." placeholder:"NAME"`
	Project    string `help:"Create tickets in this repository or Jira project." placeholder:"NAME"`
}

// Run creates tickets and prints the result for each finding.
func (c ticketsCreateCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	group := !c.Each
	made, err := client.CreateTickets(a.Ctx, deployment, api.CreateTicketsRequest{
		IssueIDs:    c.ids(),
		GroupIssues: &group,
		Connection:  c.Connection,
		Project:     c.Project,
	})
	if err != nil {
		return err
	}
	var rows [][]string
	for _, t := range made.Succeeded {
		rows = append(rows, []string{findingList(t.IssueIDs), "created", t.ExternalSlug + " " + t.TicketURL})
	}
	for _, t := range made.Pending {
		rows = append(rows, []string{
			findingList(t.IssueIDs), "pending", fmt.Sprintf("created when the tracker is available: ticket %d", t.TicketID),
		})
	}
	for _, t := range made.Skipped {
		rows = append(rows, []string{findingList(t.IssueIDs), "skipped", t.Reason})
	}
	for _, t := range made.Failed {
		rows = append(rows, []string{findingList(t.IssueIDs), "failed", t.Error})
	}
	if err := c.Print(a, "FINDINGS RESULT TICKET", rows, made); err != nil {
		return err
	}
	if len(made.Failed) > 0 {
		return &command.ExitError{Code: 1}
	}
	return nil
}

type ticketsLinkCmd struct {
	webapi.Flags
	URL string `arg:"" name:"address" help:"URL of the ticket, such as https://tracker.example.com/browse/SEC-12."`
	picked
}

// Run links findings to a ticket.
func (c ticketsLinkCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	linked, err := client.LinkTicket(a.Ctx, deployment, api.LinkTicketRequest{TicketURL: c.URL, IssueIDs: c.ids()})
	if err != nil {
		return err
	}
	return c.Print(a, "FINDINGS TICKET ADDRESS", [][]string{
		{findingList(linked.LinkedIssueIDs), linked.ExternalSlug, linked.TicketURL},
	}, linked)
}

type ticketsUnlinkCmd struct {
	webapi.Flags
	picked
}

// Run unlinks findings.
func (c ticketsUnlinkCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	out, err := client.UnlinkTicket(a.Ctx, deployment, api.UnlinkTicketRequest{IssueIDs: c.ids()})
	if err != nil {
		return err
	}
	return c.Print(a, "UNLINKED", [][]string{{findingList(out.UnlinkedIssueIDs)}}, out)
}
