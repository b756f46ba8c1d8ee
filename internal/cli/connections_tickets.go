package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
)

type connectionsTicketsCmd struct {
	webapi.Flags
	ID        int64    `arg:"" optional:"" help:"Id of the connection; omit it to show the setting."`
	Project   string   `help:"Create tickets in this repository (acme/app) or Jira project (SEC) (default: the repository of each project)." placeholder:"NAME"`
	IssueType string   `name:"type" help:"Jira issue type (default: Task)." placeholder:"TYPE"`
	Label     []string `help:"Add this label to tickets; repeatable." placeholder:"LABEL"`
	Public    bool     `help:"Also create tickets in public repositories."`
	Reset     bool     `help:"Reset the setting to the repositories of the projects."`
}

// Run changes the ticket settings of the deployment if flags are set, and prints them.
func (c connectionsTicketsCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	var now *api.TicketSettingsResponse
	if c.ID != 0 || c.Project != "" || c.IssueType != "" || len(c.Label) > 0 || c.Public || c.Reset {
		now, err = client.SetTicketSettings(a.Ctx, deployment, api.SetTicketSettingsRequest{
			ConnectionID: c.ID, Project: c.Project, IssueType: c.IssueType, Labels: c.Label, Public: c.Public,
		})
	} else {
		now, err = client.GetTicketSettings(a.Ctx, deployment)
	}
	if err != nil {
		return unknownAt(err, "connection", "redoubt connections list")
	}
	if c.Output == "table" {
		_, err = fmt.Fprintln(a.Out, settingWords(now))
		return err
	}
	s := now.Settings
	return c.Print(a, "CONNECTION PROJECT TYPE LABELS PUBLIC", [][]string{
		{
			command.OrDash(now.Connection),
			command.OrDash(s.Project), cmp.Or(s.IssueType, "Task"), command.OrDash(strings.Join(s.Labels, ",")), yesNo(s.Public),
		},
	}, now)
}

// settingWords describes where tickets are created.
func settingWords(r *api.TicketSettingsResponse) string {
	s, by, where := r.Settings, "the connection of each project's repository", "that repository"
	if s.ConnectionID != 0 {
		by = "a deleted connection (choose another one)"
		if r.Connection != "" {
			by = r.Connection + " (" + r.Kind + ")"
		}
		where = cmp.Or(s.Project, "the repository of each project")
	}
	public := "not in public repositories"
	if s.Public {
		public = "also in public repositories"
	}
	kind, labels := cmp.Or(s.IssueType, "Task"), cmp.Or(strings.Join(s.Labels, ", "), "none")
	return fmt.Sprintf("tickets are created by %s, in %s, %s; type %s, labels %s", by, where, public, kind, labels)
}
