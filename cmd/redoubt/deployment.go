package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/redoubt/redoubt/internal/config"
)

type deploymentCmd struct {
	Create deploymentCreateCmd `cmd:"" help:"Create a deployment."`
	List   deploymentListCmd   `cmd:"" help:"List the deployments."`
}

type deploymentCreateCmd struct {
	config.Storage
	Slug string `arg:"" help:"Short name in addresses: a-z, 0-9 and -, not only digits."`
	Name string `help:"Full name; the slug by default."`
}

// Run creates a deployment with its default policies.
func (c deploymentCreateCmd) Run(a *app) error {
	st, err := a.create(c.Storage)
	if err != nil {
		return err
	}
	if c.Name == "" {
		c.Name = c.Slug
	}
	d, err := st.CreateDeployment(a.ctx, c.Slug, c.Name, a.actor())
	if err == nil {
		_, err = fmt.Fprintf(a.out, "created deployment %s (id %d); next: redoubt token create --deployment %s NAME\n", d.Slug, d.ID, d.Slug)
	}
	return errors.Join(err, st.Close())
}

type deploymentListCmd struct{ config.Storage }

// Run lists the deployments.
func (c deploymentListCmd) Run(a *app) error {
	st, err := a.open(c.Storage)
	if err != nil {
		return err
	}
	all, err := st.Deployments(a.ctx)
	if err != nil {
		return errors.Join(err, st.Close())
	}
	rows := make([][]string, len(all))
	for i, d := range all {
		rows[i] = []string{strconv.FormatInt(d.ID, 10), d.Slug, day(d.CreatedAt), d.Name}
	}
	return errors.Join(table(a.out, "ID SLUG CREATED NAME", rows), st.Close())
}
