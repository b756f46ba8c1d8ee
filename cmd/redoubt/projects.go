package main

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

type projectsCmd struct {
	List   projectsListCmd   `cmd:"" default:"withargs" help:"List the projects."`
	Create projectsCreateCmd `cmd:"" help:"Create a project before its first scan."`
	Rename projectsRenameCmd `cmd:"" help:"Rename a project; the old name keeps working."`
	Merge  projectsMergeCmd  `cmd:"" help:"Merge one project into another."`
	Delete projectsDeleteCmd `cmd:"" help:"Delete a project with its findings, scans and dependencies."`
}

const projectHead = "ID NAME BRANCH SCANNED TAGS"

func projectRow(p api.Project) []string {
	latest := "-"
	if p.LatestScanAt != nil {
		latest = day(p.LatestScanAt.Time)
	}
	return []string{strconv.FormatInt(p.ID, 10), p.Name, shortBranch(p.PrimaryBranch), latest, strings.Join(p.Tags, ",")}
}

// allProjects returns the projects that the caller may see, by name.
func allProjects(a *app, client *api.Client, deployment string) iter.Seq2[api.Project, error] {
	return client.Projects(a.ctx, deployment, api.ProjectsQuery{PageSize: 1000})
}

type projectsListCmd struct {
	webAPI
	Glob []string `help:"Only projects that match." placeholder:"GLOB"`
}

// Run lists the projects by name.
func (c projectsListCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	items := func(yield func(api.Project, error) bool) {
		for p, err := range allProjects(a, client, deployment) {
			if (err != nil || model.ProjectGlobs(c.Glob).Allows(p.Name)) && !yield(p, err) {
				return
			}
		}
	}
	return c.list(a, cut{All: true}, projectHead, itemsOf(items, projectRow), nil)
}

// printProject prints a sentence about a project, or the project itself as json and csv.
func printProject(a *app, w webAPI, p api.Project, sentence string) error {
	return w.printChange(a, sentence, projectHead, projectRow(p), p)
}

type projectsCreateCmd struct {
	webAPI
	Name   string   `arg:"" help:"Name of two segments or more, as acme/payments."`
	Source string   `name:"repository" help:"Address of the repository." placeholder:"URL"`
	Tag    []string `help:"Tags."`
}

// Run creates the project.
func (c projectsCreateCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	made, err := client.CreateProject(a.ctx, deployment, api.CreateProjectRequest{
		Name: c.Name,
		URL:  c.Source,
		Tags: c.Tag,
	})
	if err != nil {
		return err
	}
	return printProject(a, c.webAPI, made.Project, fmt.Sprintf("created %s (id %d)", made.Project.Name, made.Project.ID))
}

type projectsRenameCmd struct {
	webAPI
	Name string `arg:"" help:"Its current name."`
	To   string `arg:"" help:"Its new name."`
}

// Run renames the project.
func (c projectsRenameCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	p, err := findProject(a, client, deployment, c.Name)
	if err != nil {
		return err
	}
	renamed, err := client.RenameProject(a.ctx, deployment, api.RenameProjectRequest{Project: p.Name, Name: c.To})
	if err != nil {
		return err
	}
	return printProject(a, c.webAPI, renamed.Project, fmt.Sprintf("%s is now %s; the old name keeps answering", p.Name, c.To))
}

type projectsMergeCmd struct {
	webAPI
	Name string `arg:"" help:"The project to merge; it is deleted."`
	Into string `arg:"" help:"The project to merge into."`
}

// Run merges one project into another.
func (c projectsMergeCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	from, err := findProject(a, client, deployment, c.Name)
	if err != nil {
		return err
	}
	into, err := findProject(a, client, deployment, c.Into)
	if err != nil {
		return err
	}
	merged, err := client.MergeProject(a.ctx, deployment, api.MergeProjectRequest{Project: from.Name, Into: into.Name})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s is now part of %s", from.Name, into.Name)
	if merged.FindingsChanged > 0 {
		text += fmt.Sprintf("; findings of the advisories that changed: %d", merged.FindingsChanged)
	}
	return printProject(a, c.webAPI, merged.Project, text)
}

type projectsDeleteCmd struct {
	webAPI
	Name string `arg:"" help:"The project's name."`
	Yes  bool   `help:"Confirm the deletion; it cannot be undone." required:""`
}

// Run deletes the project and all of it but its audit events (semantics §5).
func (c projectsDeleteCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	p, err := findProject(a, client, deployment, c.Name)
	if err == nil {
		_, err = client.DeleteProject(a.ctx, deployment, p.Name)
	}
	if err != nil {
		return err
	}
	return printProject(a, c.webAPI, *p, "deleted "+p.Name)
}

// findProject finds the project that a flag names, in any case: an old name leads to it.
func findProject(a *app, client *api.Client, deployment, name string) (*api.Project, error) {
	answer, err := client.GetProject(a.ctx, deployment, name)
	if err == nil {
		return &answer.Project, nil
	}
	if p, ok := errors.AsType[*api.Problem](err); !ok || p.Status != http.StatusNotFound {
		return nil, err
	}
	for p, err := range allProjects(a, client, deployment) {
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(p.Name, name) {
			return &p, nil
		}
	}
	return nil, fmt.Errorf("there is no project %q that you may see; redoubt projects list shows what there is", name)
}
