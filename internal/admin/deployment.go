package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// DeploymentCmd manages deployments.
type DeploymentCmd struct {
	Create deploymentCreateCmd `cmd:"" help:"Create a deployment."`
	List   DeploymentListCmd   `cmd:"" help:"List deployments."`
	Rename deploymentRenameCmd `cmd:"" help:"Rename a deployment."`
	Set    deploymentSetCmd    `cmd:"" help:"Change deployment settings."`
	Delete DeploymentDeleteCmd `cmd:"" help:"Delete a deployment with its data."`
}

type deploymentCreateCmd struct {
	config.Storage
	StarterFlag
	Slug string `arg:"" help:"Short name in URLs: a-z, 0-9 and -, not only digits."`
	Name string `help:"Full name (default: the slug)."`
}

// Run creates a deployment with its default policies.
func (c deploymentCreateCmd) Run(a *command.App) error {
	st, err := a.Create(c.Storage)
	if err != nil {
		return err
	}
	if c.Name == "" {
		c.Name = c.Slug
	}
	c.Name = model.Line(c.Name)
	d, err := st.CreateDeployment(a.Ctx, c.Slug, c.Name, a.Actor(), c.Rules)
	if err == nil {
		_, err = fmt.Fprintf(a.Out, "created deployment %s (id %d); next: redoubt token create --deployment %s NAME\n",
			d.Slug, d.ID, d.Slug)
	}
	return errors.Join(err, st.Close())
}

// DeploymentListCmd lists deployments.
type DeploymentListCmd struct{ config.Storage }

// Run lists the deployments.
func (c DeploymentListCmd) Run(a *command.App) error {
	st, err := a.Open(c.Storage)
	if err != nil {
		return err
	}
	all, err := st.Deployments(a.Ctx)
	if err != nil {
		return errors.Join(err, st.Close())
	}
	rows := make([][]string, len(all))
	for i, d := range all {
		rows[i] = []string{strconv.FormatInt(d.ID, 10), d.Slug, command.Day(d.CreatedAt), d.Name}
	}
	return errors.Join(command.Table(a.Out, "ID SLUG CREATED NAME", rows), st.Close())
}

type deploymentRenameCmd struct {
	command.Tenant
	Slug string `arg:"" help:"New slug."`
	Name string `help:"New full name (default: unchanged)."`
}

// Run renames the deployment. Addresses with the old slug stop working.
func (c deploymentRenameCmd) Run(a *command.App) error {
	st, d, err := c.Use(a)
	if err != nil {
		return err
	}
	if c.Name == "" {
		c.Name = d.Name
	}
	renamed, err := st.RenameDeployment(a.Ctx, d.ID, c.Slug, c.Name, a.Actor())
	if err == nil {
		_, err = fmt.Fprintf(a.Out, "deployment %s is now %s; its id %d is unchanged\n", d.Slug, renamed.Slug, renamed.ID)
	}
	return errors.Join(err, st.Close())
}

type deploymentSetCmd struct {
	config.Storage
	Slug         string `arg:"" help:"Slug or id of the deployment."`
	OpenRules    *bool  `help:"Serve rules without a token, for semgrep and opengrep; --no-open-rules requires one." negatable:""`
	SecondFactor *bool  `help:"Require two-factor authentication for sign-in by password or link; --no-second-factor makes it optional. Tokens are unaffected." negatable:""`
	Code         string `help:"Store code around findings: on or off; off deletes stored code." enum:"on,off," default:"" placeholder:"on|off"`
}

// Run changes the deployment.
func (c deploymentSetCmd) Run(a *command.App) error {
	if c.OpenRules == nil && c.SecondFactor == nil && c.Code == "" {
		return errors.New(
			"missing setting: use --open-rules, --no-open-rules, --second-factor, --no-second-factor or --code=on|off",
		)
	}
	return command.Tenant{
		Storage:    c.Storage,
		Deployment: c.Slug,
	}.Update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		var done []string
		slug := tx.Deployment().Slug
		if c.OpenRules != nil {
			to := "only with a token"
			if *c.OpenRules {
				to = "without a token"
			}
			done = append(done, fmt.Sprintf("the rules of %s are served %s", slug, to))
			if err := tx.OpenRules(ctx, *c.OpenRules); err != nil {
				return "", err
			}
		}
		if c.SecondFactor != nil {
			text := fmt.Sprintf("users of %s need a second factor; users without one must set one up on their next page", slug)
			if !*c.SecondFactor {
				text = fmt.Sprintf("the second factor is optional in %s", slug)
			}
			done = append(done, text)
			if err := tx.RequireSecondFactor(ctx, *c.SecondFactor); err != nil {
				return "", err
			}
		}
		if c.Code != "" {
			dropped, err := tx.SetCodeStorage(ctx, c.Code == "on")
			if err != nil {
				return "", err
			}
			text := fmt.Sprintf("%s stores code around findings", slug)
			if c.Code == "off" {
				text = fmt.Sprintf("%s stores no code; deleted the code of %d findings", slug, dropped)
			}
			done = append(done, text)
		}
		return strings.Join(done, "; "), nil
	})
}

// DeploymentDeleteCmd deletes a deployment.
type DeploymentDeleteCmd struct {
	command.Tenant
	Yes bool `help:"Confirm the deletion; it cannot be undone." required:""`
}

// Run deletes the deployment.
func (c DeploymentDeleteCmd) Run(a *command.App) error {
	st, d, err := c.Use(a)
	if err != nil {
		return err
	}
	err = st.DeleteDeployment(a.Ctx, d.ID, a.Actor())
	if err == nil {
		if left := (index.Checkpoints{Dir: c.IndexPath()}).Remove(d.ID); left != nil {
			err = fmt.Errorf("the deployment was deleted, but its index files were not: %w", left)
		}
		if busy := command.RemoveRunnerFolder(c.Storage, d.ID); busy != nil {
			fmt.Fprintf(a.Err, "the built-in runner still stores its repositories: a running server removes them within a "+
				"minute (%v)\n", busy)
		}
		_, printErr := fmt.Fprintf(a.Out, "deleted deployment %s with its data\n", d.Slug)
		err = errors.Join(err, printErr)
	}
	return errors.Join(err, st.Close())
}
