package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/model"
)

// ConnectionsCmd manages connections to code hosts.
type ConnectionsCmd struct {
	List         connectionsListCmd         `cmd:"" default:"withargs" help:"List connections and their states."`
	Show         connectionsShowCmd         `cmd:"" help:"Show a connection."`
	Create       connectionsCreateCmd       `cmd:"" help:"Connect Gitea, Forgejo, GitHub, GitLab, Jira or a Git remote."`
	Test         connectionsTestCmd         `cmd:"" help:"Test a connection; fail if the host rejects it."`
	Delete       connectionsDeleteCmd       `cmd:"" help:"Delete a connection and its credential, but not its projects."`
	Repositories connectionsRepositoriesCmd `cmd:"" help:"List the repositories of a connection."`
	Take         connectionsTakeCmd         `cmd:"" help:"Create projects from repositories, by name or glob."`
	Drop         connectionsDropCmd         `cmd:"" help:"Unlink repositories from their projects, by name or glob."`
	Replies      connectionsRepliesCmd      `cmd:"" help:"Show or set whose replies on change requests triage findings."`
	Tickets      connectionsTicketsCmd      `cmd:"" help:"Show or set where tickets about findings are created."`
	Hooks        connectionsHooksCmd        `cmd:"" help:"Create webhooks; without webhooks, the server polls every five minutes."`
	Deliveries   connectionsDeliveriesCmd   `cmd:"" help:"List webhook deliveries and their outcomes, newest first."`
}

// hostCommand is a command that may send requests to a code host.
type hostCommand struct {
	webapi.Flags
	command.HostSettings
}

// Connect is Reach.Connect with the settings of code hosts.
func (c hostCommand) Connect(a *command.App) (*api.Client, string, error) {
	return c.ConnectWith(a, command.Senders{Hosts: c.HostSettings})
}

// ofConnection is a command about one connection.
type ofConnection struct {
	hostCommand
	ID int64 `arg:"" help:"Id of the connection."`
}

const connectionHead = "ID NAME KIND HOST ACCOUNT EVENTS STATE"

func connectionRow(c api.Connection) []string {
	return []string{
		strconv.FormatInt(c.ID, 10), c.Name, c.Kind, c.BaseURL, c.Account, eventSource(c.EventSource, c.SilentWebhooks),
		cmp.Or(c.Problem, c.WebhookProblem, hookPointsElsewhere(c.WebhooksElsewhere), "works"),
	}
}

// hookPointsElsewhere describes webhooks that send to another server; empty for none.
func hookPointsElsewhere(address string) string {
	if address == "" {
		return ""
	}
	return "webhooks point to another server: " + address
}

// eventSource describes how a connection receives events, and how many of its webhooks are silent.
func eventSource(how string, silent int64) string {
	if silent == 0 {
		return how
	}
	return fmt.Sprintf("%s, %d silent", how, silent)
}

// printConnection prints a connection.
func printConnection(a *command.App, w webapi.Flags, c *api.ConnectionResponse, err error) error {
	if err != nil {
		return unknownAt(err, "connection", "redoubt connections list")
	}
	return w.Print(a, connectionHead, [][]string{connectionRow(c.Connection)}, c.Connection)
}

// unknownAt adds a hint to a not-found error: the command that lists the available objects.
func unknownAt(err error, noun, list string) error {
	if p, is := errors.AsType[*api.Problem](err); is && p.Status == http.StatusNotFound {
		return fmt.Errorf("%s not found: run %s", noun, list)
	}
	return err
}

type connectionsListCmd struct{ hostCommand }

// Run lists the connections.
func (c connectionsListCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	list, err := client.ListConnections(a.Ctx, deployment)
	if err != nil {
		return err
	}
	rows := [][]string{}
	for _, one := range list.Connections {
		rows = append(rows, connectionRow(one))
	}
	return c.Print(a, connectionHead, rows, list.Connections)
}

type connectionsShowCmd struct{ ofConnection }

// Run shows a connection.
func (c connectionsShowCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	found, err := client.GetConnection(a.Ctx, deployment, c.ID)
	return printConnection(a, c.Flags, found, err)
}

type connectionsCreateCmd struct {
	hostCommand
	newConnection
}

// Run creates the connection after the host has responded. A server receives the credential over
// the network, so use TLS.
func (c connectionsCreateCmd) Run(a *command.App) error {
	kind, _ := model.ParseHostKind(c.Kind)
	shown, err := c.credential(kind)
	if err != nil {
		return err
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	r := api.CreateConnectionRequest{
		Kind:    c.Kind,
		Name:    c.Name,
		BaseURL: strings.TrimSuffix(c.BaseURL, "/"),
		Follow:  c.Follow,
	}
	if shown != (model.HostCredential{}) {
		r.Credential = &api.ConnectionCredential{
			Kind: string(shown.Kind), Secret: shown.Secret, Username: shown.Username,
			KnownHosts: shown.KnownHosts, AppID: shown.AppID, InstallationID: shown.InstallationID,
		}
	}
	made, err := client.CreateConnection(a.Ctx, deployment, r)
	return printConnection(a, c.Flags, made, err)
}

type connectionsTestCmd struct{ ofConnection }

// Run tests the connection. It fails if the host reports a problem.
func (c connectionsTestCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	found, err := client.TestConnection(a.Ctx, deployment, c.ID)
	if err := printConnection(a, c.Flags, found, err); err != nil || found.Connection.Problem == "" {
		return err
	}
	return &command.ExitError{Code: 1}
}

type connectionsDeleteCmd struct{ ofConnection }

// Run deletes the connection and prints it.
func (c connectionsDeleteCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	gone, err := client.DeleteConnection(a.Ctx, deployment, c.ID)
	return printConnection(a, c.Flags, gone, err)
}

type connectionsRepositoriesCmd struct {
	ofConnection
	webapi.Cut
}

// Run lists the repositories.
func (c connectionsRepositoriesCmd) Run(a *command.App) error {
	if err := c.Check(); err != nil {
		return err
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	items := itemsOf(client.Repositories(a.Ctx, deployment, c.ID, api.RepositoriesQuery{Limit: c.Page(c.Output, 1, 500)}),
		func(r api.HostRepository) []string {
			project := "-"
			if r.Project != nil {
				project = *r.Project
			}
			return []string{r.Name, command.OrDash(r.DefaultBranch), project, r.State, webhookOf(r)}
		})
	return unknownAt(c.List(a, c.Cut, "NAME BRANCH PROJECT STATE WEBHOOK", items, nil), "connection",
		"redoubt connections list")
}

// webhookOf describes the state of a repository's webhook.
func webhookOf(r api.HostRepository) string {
	if r.WebhookProblem != "" {
		return "silent"
	}
	return yesNo(r.Webhook)
}

// chosen selects repositories of a connection.
type chosen struct {
	ofConnection
	Glob []string `arg:"" help:"Repository names or globs: * matches all but /, ** everything."`
}

// printNames prints a sorted list of names.
func printNames(a *command.App, w webapi.Flags, head string, names []string, items any, err error) error {
	if err != nil {
		return unknownAt(err, "connection or repository", "redoubt connections repositories")
	}
	rows := [][]string{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		rows = append(rows, []string{name})
	}
	return w.Print(a, head, rows, items)
}

type connectionsTakeCmd struct{ chosen }

// Run follows the repositories, which creates their projects.
func (c connectionsTakeCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	created, err := client.FollowRepositories(a.Ctx, deployment, c.ID, api.ChooseRepositoriesRequest{Names: c.Glob})
	if err != nil {
		return printNames(a, c.Flags, "", nil, nil, err)
	}
	return printNames(a, c.Flags, "PROJECT", created.Projects, created, nil)
}

type connectionsDropCmd struct{ chosen }

// Run unfollows the repositories. Their projects stay.
func (c connectionsDropCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	parted, err := client.UnfollowRepositories(a.Ctx, deployment, c.ID, api.ChooseRepositoriesRequest{Names: c.Glob})
	if err != nil {
		return printNames(a, c.Flags, "", nil, nil, err)
	}
	return printNames(a, c.Flags, "REPOSITORY", parted.Repositories, parted, nil)
}

type connectionsHooksCmd struct{ ofConnection }

// Run creates the webhooks. It fails if the host rejects any.
func (c connectionsHooksCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	made, err := client.MakeWebhooks(a.Ctx, deployment, c.ID)
	if err != nil {
		return unknownAt(err, "connection", "redoubt connections list")
	}
	if err := c.Print(a, "REPOSITORIES PROBLEM", [][]string{
		{strconv.FormatInt(made.Repositories, 10), command.OrDash(made.Problem)},
	}, made); err != nil || made.Problem == "" {
		return err
	}
	return &command.ExitError{Code: 1}
}

type connectionsDeliveriesCmd struct {
	ofConnection
	webapi.Cut
}

// Run lists the deliveries.
func (c connectionsDeliveriesCmd) Run(a *command.App) error {
	if err := c.Check(); err != nil {
		return err
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	items := itemsOf(client.Deliveries(a.Ctx, deployment, c.ID, api.DeliveriesQuery{Limit: c.Page(c.Output, 1, 500)}),
		func(d api.Delivery) []string {
			return []string{
				strconv.FormatInt(d.ID, 10), command.Day(d.ReceivedAt.Time),
				d.Event, command.OrDash(d.HostID), cmp.Or(d.Outcome, "pending"),
			}
		})
	return unknownAt(c.List(a, c.Cut, "ID RECEIVED EVENT REPOSITORY OUTCOME", items, nil), "connection",
		"redoubt connections list")
}

// repliesChange contains the changes to the reply settings of a connection.
type repliesChange struct {
	Of     string   `arg:"" optional:"" help:"Accepted replies of accounts with write access: linked (linked to a user who can triage), collaborators (all) or off (default: unchanged)." enum:",linked,collaborators,off" default:""`
	Link   []string `help:"Link a host login to a user, such as octocat=ada; repeatable." sep:"none" placeholder:"LOGIN=USER"`
	Unlink []string `help:"Unlink a login at the host; repeatable." sep:"none" placeholder:"LOGIN"`
}

type connectionsRepliesCmd struct {
	ofConnection
	repliesChange
}

// Run changes the reply settings and prints them. Without changes it only prints them.
func (c connectionsRepliesCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	now, err := client.GetConnection(a.Ctx, deployment, c.ID)
	if err == nil && (c.Of != "" || len(c.Link)+len(c.Unlink) > 0) {
		var r api.UpdateConnectionRequest
		if r, err = c.request(now.Connection); err == nil {
			now, err = client.UpdateConnection(a.Ctx, deployment, c.ID, r)
		}
	}
	if err != nil {
		return unknownAt(err, "connection", "redoubt connections list")
	}
	rows := [][]string{}
	for _, p := range now.Connection.People {
		rows = append(rows, []string{now.Connection.Replies, p.Login, p.User})
	}
	if len(rows) == 0 {
		rows = append(rows, []string{now.Connection.Replies, "-", "-"})
	}
	return c.Print(a, "REPLIES LOGIN USER", rows, now.Connection)
}

// request returns the update of the connection now.
func (c connectionsRepliesCmd) request(now api.Connection) (r api.UpdateConnectionRequest, err error) {
	if c.Of != "" {
		r.Replies = &c.Of
	}
	linked, err := model.ParseHostPeople(c.Link)
	if err != nil {
		return r, err
	}
	people := slices.DeleteFunc(slices.Clone(now.People), func(p api.HostPerson) bool {
		_, relinked := linked.UserOf(p.Login)
		return relinked || slices.ContainsFunc(c.Unlink, func(login string) bool { return strings.EqualFold(login, p.Login) })
	})
	for login, p := range linked {
		people = append(people, api.HostPerson{Login: login, User: p.User})
	}
	r.People = &people
	return r, nil
}
