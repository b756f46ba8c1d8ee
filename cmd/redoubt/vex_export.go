package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/sbom"
	"github.com/redoubt/redoubt/internal/store"
)

type vexExportCmd struct {
	tenant
	Project string `help:"Only this project; by default all." placeholder:"NAME"`
	Ref     string `help:"Branch or ref; by default the primary branch." placeholder:"REF"`
	Format  string `help:"openvex, or cyclonedx: the bill of materials with its analyses." enum:"openvex,cyclonedx" default:"openvex" placeholder:"FORMAT"`
	Author  string `help:"Who says so; by default the deployment." placeholder:"NAME"`
	Output  string `short:"o" help:"Write to this file instead of standard output." placeholder:"FILE"`
}

// Run writes the document, whole or not at all. A file is its owner's alone:
// who gives it out decides to whom.
func (c vexExportCmd) Run(a *app) error {
	request := redoubt.SBOMRequest{Format: redoubt.OpenVEX, Version: "0.2.0", Ref: c.Ref, ComponentType: "application"}
	if c.Format == "cyclonedx" {
		request.Format, request.Version = redoubt.CycloneDX, "1.6"
	}
	request.Supplier.Name = c.Author
	var document []byte
	err := c.view(a, func(ctx context.Context, tx *store.Tx) error {
		if c.Project != "" {
			p, err := tx.ProjectByName(ctx, c.Project)
			if errors.Is(err, redoubt.ErrNotFound) {
				return fmt.Errorf("there is no project %q; redoubt projects list shows what there is", c.Project)
			}
			if err != nil {
				return err
			}
			request.ProjectID = p.ID
		}
		var err error
		document, _, err = sbom.Export(ctx, tx, request, sbom.Options{Created: a.clock(), Tool: version})
		var bad *redoubt.InvalidError
		if errors.As(err, &bad) && len(bad.Fields) == 1 {
			return errors.New(bad.Fields[0].Message)
		}
		return err
	})
	if err != nil {
		return err
	}
	if c.Output == "" {
		_, err := io.Copy(exact(a.out), bytes.NewReader(document))
		return err
	}
	return replaceFile(c.Output, document)
}
