package cli

import (
	"fmt"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
)

type policiesPreviewCmd struct {
	ofPolicy
	Project string `help:"Project with the findings." required:"" placeholder:"NAME"`
	Mode    string `help:"Mode for all conditions (default: their own modes)." enum:"monitor,comment,block," default:"" placeholder:"MODE"`
}

// Run lists the stored findings of a project that the policy's conditions match.
func (c policiesPreviewCmd) Run(a *command.App) error {
	client, deployment, p, err := c.Find(a)
	if err != nil {
		return err
	}
	project, err := findProject(a, client, deployment, c.Project)
	if err != nil {
		return err
	}
	now, err := client.GetPolicySettings(a.Ctx, deployment, p.ID)
	if err != nil {
		return err
	}
	conditions, err := client.ListPolicyConditions(a.Ctx, deployment, p.ID)
	if err != nil {
		return err
	}
	s := now.Settings
	would, err := client.PreviewPolicy(a.Ctx, deployment, p.ID, api.PreviewPolicyRequest{
		Projects: s.Projects, Tags: s.Tags, Branches: s.Branches, Excludes: s.Excludes, BlockAll: s.BlockAll,
		Project: project.Name, Mode: c.Mode,
	})
	if err != nil {
		return err
	}
	rows := model.Map(would.Matches, policyMatchRow)
	if err := c.Print(a, "REF MODE FINDING BUILD WHAT", rows, would); err != nil || c.Output != "table" {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "\nConditions: %d. Matches: %d. Would fail a build: %d.\n",
		len(conditions.Conditions), would.MatchCount, would.MatchesFailing)
	return err
}

func policyMatchRow(m api.PolicyMatch) []string {
	known, build := "new", "-"
	if m.Known {
		known = "known"
	}
	if m.Fails {
		build = "fails"
	}
	return []string{m.Ref, m.Mode, known, build, m.Text}
}
