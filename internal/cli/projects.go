package cli

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/model"
)

// ProjectsCmd manages projects.
type ProjectsCmd struct {
	List   ProjectsListCmd   `cmd:"" default:"withargs" help:"List projects."`
	Create ProjectsCreateCmd `cmd:"" help:"Create a project before its first scan."`
	Rename ProjectsRenameCmd `cmd:"" help:"Rename a project; the old name stays valid."`
	Merge  projectsMergeCmd  `cmd:"" help:"Merge one project into another."`
	Delete projectsDeleteCmd `cmd:"" help:"Delete a project and its data."`
}

const projectHead = "ID NAME BRANCH SCANNED TAGS"

func projectRow(p api.Project) []string {
	latest := "-"
	if p.LatestScanAt != nil {
		latest = command.Day(p.LatestScanAt.Time)
	}
	return []string{strconv.FormatInt(p.ID, 10), p.Name, shortBranch(p.PrimaryBranch), latest, strings.Join(p.Tags, ",")}
}

// allProjects returns the projects that are visible to the caller, by name.
func allProjects(a *command.App, client *api.Client, deployment string) iter.Seq2[api.Project, error] {
	return client.Projects(a.Ctx, deployment, api.ProjectsQuery{PageSize: 1000})
}

// ProjectsListCmd lists projects.
type ProjectsListCmd struct {
	webapi.Flags
	Glob []string `help:"List only matching projects." placeholder:"GLOB"`
}

// Run lists the projects by name.
func (c ProjectsListCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
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
	return c.List(a, webapi.Cut{All: true}, projectHead, itemsOf(items, projectRow), nil)
}

// printProject prints a sentence about a project, or the project as JSON or CSV.
func printProject(a *command.App, w webapi.Flags, p api.Project, sentence string) error {
	return w.PrintChange(a, sentence, projectHead, projectRow(p), p)
}

// ProjectsCreateCmd creates a project.
type ProjectsCreateCmd struct {
	webapi.Flags
	Name   string   `arg:"" help:"Name with two or more segments, such as acme/payments."`
	Source string   `name:"repository" help:"Repository URL." placeholder:"URL"`
	Tag    []string `help:"Tags."`
}

// Run creates the project.
func (c ProjectsCreateCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	made, err := client.CreateProject(a.Ctx, deployment, api.CreateProjectRequest{
		Name: c.Name,
		URL:  c.Source,
		Tags: c.Tag,
	})
	if err != nil {
		return err
	}
	return printProject(a, c.Flags, made.Project, fmt.Sprintf("created %s (id %d)", made.Project.Name, made.Project.ID))
}

// ProjectsRenameCmd renames a project.
type ProjectsRenameCmd struct {
	webapi.Flags
	Name string `arg:"" help:"Current name."`
	To   string `arg:"" help:"New name."`
}

// Run renames the project.
func (c ProjectsRenameCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	p, err := findProject(a, client, deployment, c.Name)
	if err != nil {
		return err
	}
	renamed, err := client.RenameProject(a.Ctx, deployment, api.RenameProjectRequest{Project: p.Name, Name: c.To})
	if err != nil {
		return err
	}
	return printProject(
		a, c.Flags, renamed.Project, fmt.Sprintf("%s is now %s; the old name stays valid", p.Name, c.To),
	)
}

type projectsMergeCmd struct {
	webapi.Flags
	Name string `arg:"" help:"Project to merge and delete."`
	Into string `arg:"" help:"Target project."`
}

// Run merges one project into another.
func (c projectsMergeCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
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
	merged, err := client.MergeProject(a.Ctx, deployment, api.MergeProjectRequest{Project: from.Name, Into: into.Name})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s is now part of %s", from.Name, into.Name)
	if merged.FindingsChanged > 0 {
		text += fmt.Sprintf("; changed findings of advisories: %d", merged.FindingsChanged)
	}
	return printProject(a, c.Flags, merged.Project, text)
}

type projectsDeleteCmd struct {
	webapi.Flags
	Name string `arg:"" help:"Name of the project."`
	Yes  bool   `help:"Confirm the deletion; it cannot be undone." required:""`
}

// Run deletes the project with all its data except audit events (docs/reference/projects.md).
func (c projectsDeleteCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	p, err := findProject(a, client, deployment, c.Name)
	if err == nil {
		_, err = client.DeleteProject(a.Ctx, deployment, p.Name)
	}
	if err != nil {
		return err
	}
	return printProject(a, c.Flags, *p, "deleted "+p.Name)
}

// findProject returns a project by its current name in any case, or by a former name.
func findProject(a *command.App, client *api.Client, deployment, name string) (*api.Project, error) {
	answer, err := client.GetProject(a.Ctx, deployment, name)
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
	return nil, fmt.Errorf("project %q not found: run redoubt projects list", name)
}
