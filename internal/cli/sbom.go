package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
)

// SBOMCmd downloads an SBOM.
type SBOMCmd struct {
	webapi.Flags
	Project string `arg:"" optional:"" help:"Project (default: the whole deployment)."`
	Ref     string `help:"Branch or other ref (default: the primary branch)." placeholder:"REF"`
	Format  string `help:"Format: cyclonedx, spdx or openvex." enum:"cyclonedx,spdx,openvex" default:"cyclonedx" placeholder:"FORMAT"`
	XML     bool   `name:"xml" help:"Write CycloneDX as XML."`
	Author  string `help:"Author of the document (default: the deployment)." placeholder:"NAME"`
	To      string `name:"to" short:"o" help:"Output file (default: standard output)." placeholder:"FILE"`
}

// Run requests an SBOM and downloads it.
func (c SBOMCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	r := api.CreateSBOMExportRequest{
		Ref:           c.Ref,
		FormatVersion: &api.FormatVersion{Format: "SBOM_FORMAT_" + strings.ToUpper(c.Format)},
	}
	if c.XML {
		r.SBOMOutputFormat = "SBOM_OUTPUT_FORMAT_CYCLONEDX"
	}
	if c.Author != "" {
		r.MetadataSupplier = &api.Supplier{Name: c.Author}
	}
	if c.Project != "" {
		p, err := findProject(a, client, deployment, c.Project)
		if err != nil {
			return err
		}
		r.RepositoryID = api.ID(strconv.FormatInt(p.ID, 10))
	}
	if a.ExportInProcess != nil {
		a.ExportInProcess()
	}
	started, err := client.CreateSBOMExport(a.Ctx, deployment, r)
	if err != nil {
		return err
	}
	address, err := exported(a, client, deployment, started.TaskToken)
	if err != nil {
		return err
	}
	document, _, err := client.DownloadSBOM(a.Ctx, address)
	if err != nil {
		return err
	}
	if c.To == "" {
		_, err = command.Exact(a.Out).Write(document)
		return err
	}
	if err := command.ReplaceFile(c.To, document); err != nil { // only readable by the owner, as it contains comments
		return err
	}
	_, err = fmt.Fprintf(a.Out, "wrote %s, %d bytes\n", c.To, len(document))
	return err
}

// pollEvery is the interval between requests for the state of an export.
const pollEvery = 300 * time.Millisecond

// exported waits for an export and returns the address of its document.
func exported(a *command.App, client *api.Client, deployment, task string) (string, error) {
	for {
		s, err := client.GetSBOMExport(a.Ctx, deployment, task)
		switch {
		case err != nil:
			return "", err
		case s.Status == "SBOM_EXPORT_STATUS_COMPLETED":
			return s.DownloadURL, nil
		case s.Status == "SBOM_EXPORT_STATUS_FAILED":
			return "", fmt.Errorf("the export failed: %s", s.ErrorMessage)
		}
		select {
		case <-time.After(pollEvery):
		case <-a.Ctx.Done():
			return "", a.Ctx.Err()
		}
	}
}
