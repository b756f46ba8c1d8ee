package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

type connectionTicketsCmd struct {
	tenant
	ID        int64    `arg:"" optional:"" help:"The connection, by its id; without one the setting is shown."`
	Project   string   `help:"Make tickets here: a repository, as acme/app, or a project of Jira, as SEC. By default in the repository of each finding's project." placeholder:"NAME"`
	IssueType string   `name:"type" help:"Type of issues at Jira; Task by default." placeholder:"TYPE"`
	Label     []string `help:"Give tickets this label. May be repeated." placeholder:"LABEL"`
	Public    bool     `help:"Also make tickets in repositories that everybody can read."`
	Reset     bool     `help:"Forget the setting: tickets are made in the repositories of the findings' projects."`
}

// Run says where the deployment's tickets are made, or shows that.
func (c connectionTicketsCmd) Run(a *app) error {
	changes := c.ID != 0 || c.Project != "" || c.IssueType != "" || len(c.Label) > 0 || c.Public || c.Reset
	if !changes {
		return c.view(a, func(ctx context.Context, tx *store.Tx) error {
			s, err := tx.TicketSetting(ctx)
			if err != nil {
				return err
			}
			words, err := settingWords(ctx, tx, s)
			if err == nil {
				_, err = fmt.Fprintln(a.out, words)
			}
			return err
		})
	}
	s := redoubt.TicketSetting{ConnectionID: c.ID, Project: c.Project, IssueType: c.IssueType, Labels: c.Label, Public: c.Public}
	if err := s.Check(); err != nil {
		return err
	}
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		if err := c.fits(ctx, tx); err != nil {
			return "", err
		}
		if err := tx.PutTicketSetting(ctx, s); err != nil {
			return "", err
		}
		return settingWords(ctx, tx, s)
	})
}

// fits refuses a connection that keeps no issues, or not where it is said.
func (c connectionTicketsCmd) fits(ctx context.Context, tx *store.Tx) error {
	if c.ID == 0 {
		return nil
	}
	found, err := tx.Connection(ctx, c.ID)
	switch {
	case err != nil:
		return unknownConnection(c.ID, err)
	case !found.Kind.HasIssues():
		return errors.New("a plain remote of git keeps no issues")
	case found.Kind == redoubt.HostJira && !redoubt.IsJiraProject(c.Project):
		return errors.New("--project names the project of Jira by its key, as SEC")
	}
	return nil
}

// settingWords says where tickets are made.
func settingWords(ctx context.Context, tx *store.Tx, s redoubt.TicketSetting) (string, error) {
	by, where := "the connection of each project's repository", "that repository"
	if s.ConnectionID != 0 {
		found, err := tx.Connection(ctx, s.ConnectionID)
		switch {
		case errors.Is(err, redoubt.ErrNotFound):
			by = "a connection that is no more: name another one"
		case err != nil:
			return "", err
		default:
			by = found.Name + " (" + found.Kind.String() + ")"
		}
		where = cmp.Or(s.Project, "the repository of each project")
	}
	public := "not in repositories that everybody can read"
	if s.Public {
		public = "also in repositories that everybody can read"
	}
	return fmt.Sprintf("tickets are made by %s, in %s, %s; type %s, labels %s", by, where, public, cmp.Or(s.IssueType, "Task"), cmp.Or(strings.Join(s.Labels, ", "), "none")), nil
}
