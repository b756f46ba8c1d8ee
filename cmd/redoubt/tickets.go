package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
)

type ticketsCmd struct {
	List   ticketsListCmd   `cmd:"" default:"withargs" help:"List tickets that findings are linked to."`
	Create ticketsCreateCmd `cmd:"" help:"Have tickets about findings made in the issue tracker."`
	Link   ticketsLinkCmd   `cmd:"" help:"Link findings to a ticket that is there."`
	Unlink ticketsUnlinkCmd `cmd:"" help:"Unlink findings from their ticket, which stays in its tracker."`
}

type ticketsListCmd struct {
	webAPI
	cut
}

// Run lists tickets.
func (c ticketsListCmd) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	items := itemsOf(client.Tickets(a.ctx, deployment, api.TicketsQuery{Limit: c.page(c.Output, 1, 200)}),
		func(t api.Ticket) []string {
			return []string{
				strconv.FormatInt(t.ID, 10), t.State, cmp.Or(t.ExternalSlug, "-"),
				findingList(t.IssueIDs), cmp.Or(t.URL, t.Problem, "-"),
			}
		})
	return c.list(a, c.cut, "ID STATE TICKET FINDINGS ADDRESS", items, nil)
}

func findingList(ids []int64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatInt(id, 10)
	}
	return cmp.Or(strings.Join(words, " "), "-")
}

// picked are findings that a command is about.
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
	webAPI
	picked
	Each       bool   `help:"A ticket for each finding; by default those of one rule in one project share one."`
	Connection string `help:"Make them with this connection." placeholder:"NAME"`
	Project    string `help:"Make them in this repository, or project of Jira." placeholder:"NAME"`
}

// Run has tickets made, and says what became of each finding.
func (c ticketsCreateCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	group := !c.Each
	made, err := client.CreateTickets(a.ctx, deployment, api.CreateTicketsRequest{
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
		rows = append(rows, []string{findingList(t.IssueIDs), "made", t.ExternalSlug + " " + t.TicketURL})
	}
	for _, t := range made.Pending {
		rows = append(rows, []string{
			findingList(t.IssueIDs), "pending", fmt.Sprintf("made as soon as the tracker answers: ticket %d", t.TicketID),
		})
	}
	for _, t := range made.Skipped {
		rows = append(rows, []string{findingList(t.IssueIDs), "skipped", t.Reason})
	}
	for _, t := range made.Failed {
		rows = append(rows, []string{findingList(t.IssueIDs), "failed", t.Error})
	}
	if err := c.print(a, "FINDINGS RESULT TICKET", rows, made); err != nil {
		return err
	}
	if len(made.Failed) > 0 {
		return &exitError{code: 1}
	}
	return nil
}

type ticketsLinkCmd struct {
	webAPI
	URL string `arg:"" name:"address" help:"Address of the ticket, as https://tracker.example.com/browse/SEC-12."`
	picked
}

// Run links findings to a ticket.
func (c ticketsLinkCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	linked, err := client.LinkTicket(a.ctx, deployment, api.LinkTicketRequest{TicketURL: c.URL, IssueIDs: c.ids()})
	if err != nil {
		return err
	}
	return c.print(a, "FINDINGS TICKET ADDRESS", [][]string{
		{findingList(linked.LinkedIssueIDs), linked.ExternalSlug, linked.TicketURL},
	}, linked)
}

type ticketsUnlinkCmd struct {
	webAPI
	picked
}

// Run unlinks findings.
func (c ticketsUnlinkCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	out, err := client.UnlinkTicket(a.ctx, deployment, api.UnlinkTicketRequest{IssueIDs: c.ids()})
	if err != nil {
		return err
	}
	return c.print(a, "UNLINKED", [][]string{{findingList(out.UnlinkedIssueIDs)}}, out)
}
