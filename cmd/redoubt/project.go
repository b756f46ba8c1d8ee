package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/store"
)

type projectCmd struct {
	List   projectListCmd   `cmd:"" help:"List the projects."`
	Create projectCreateCmd `cmd:"" help:"Create a project before its first scan."`
	Rename projectRenameCmd `cmd:"" help:"Rename a project; the old name keeps working."`
	Merge  projectMergeCmd  `cmd:"" help:"Merge one project into another."`
	Delete projectDeleteCmd `cmd:"" help:"Delete a project with its findings, scans and dependencies."`
}

type projectListCmd struct {
	tenant
	Glob []string `help:"Only projects that match." placeholder:"GLOB"`
}

// Run lists the projects by name.
func (c projectListCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		projects, err := tx.Projects(ctx, store.ProjectQuery{Globs: c.Glob})
		if err != nil {
			return err
		}
		rows := make([][]string, len(projects))
		for i, p := range projects {
			rows[i] = []string{strconv.FormatInt(p.ID, 10), p.Name, p.Primary(), day(p.LatestScanAt), strings.Join(p.Tags, ",")}
		}
		return table(a.out, "ID NAME PRIMARY LATEST-SCAN TAGS", rows)
	})
}

type projectCreateCmd struct {
	tenant
	Name string   `arg:"" help:"Name of two segments or more, as acme/payments."`
	URL  string   `help:"Address of the repository."`
	Tag  []string `help:"Tags."`
}

// Run creates the project.
func (c projectCreateCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, err := tx.CreateProject(ctx, redoubt.Project{Name: c.Name, URL: c.URL, Tags: c.Tag})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("created %s (id %d)", p.Name, p.ID), nil
	})
}

type projectRenameCmd struct {
	tenant
	Name string `arg:"" help:"Its current name."`
	To   string `arg:"" help:"Its new name."`
}

// Run renames the project.
func (c projectRenameCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, err := projectNamed(ctx, tx, c.Name)
		if err != nil {
			return "", err
		}
		if _, err := tx.RenameProject(ctx, p.ID, c.To); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s is now %s; the old name keeps answering", p.Name, c.To), nil
	})
}

type projectMergeCmd struct {
	tenant
	Name string `arg:"" help:"The project to merge; it is deleted."`
	Into string `arg:"" help:"The project to merge into."`
}

// Run merges one project into another.
func (c projectMergeCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		from, err := projectNamed(ctx, tx, c.Name)
		if err != nil {
			return "", err
		}
		into, err := projectNamed(ctx, tx, c.Into)
		if err != nil {
			return "", err
		}
		if _, err := tx.MergeProjects(ctx, from.ID, into.ID); err != nil {
			return "", err
		}
		// Of two statements about a lockfile only the newer is left.
		changed, err := followProject(ctx, tx, advisory.NewLibrary(orders), into.ID)
		text := fmt.Sprintf("%s is now part of %s", from.Name, into.Name)
		if changed > 0 {
			text += fmt.Sprintf("; findings of the advisories that changed: %d", changed)
		}
		return text, err
	})
}

type projectDeleteCmd struct {
	tenant
	Name string `arg:"" help:"The project's name."`
	Yes  bool   `help:"Confirm the deletion; it cannot be undone." required:""`
}

// Run deletes the project and all of it but its audit events (semantics §5).
func (c projectDeleteCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, err := projectNamed(ctx, tx, c.Name)
		if err != nil {
			return "", err
		}
		if err := tx.DeleteProject(ctx, p.ID); err != nil {
			return "", err
		}
		return fmt.Sprintf("deleted %s", p.Name), nil
	})
}

func projectNamed(ctx context.Context, tx *store.Tx, name string) (redoubt.Project, error) {
	p, err := tx.ProjectByName(ctx, name)
	if errors.Is(err, redoubt.ErrNotFound) {
		return p, fmt.Errorf("there is no project %q; redoubt project list shows what there is", name)
	}
	return p, err
}
