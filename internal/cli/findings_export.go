package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/export"
)

type findingsExportCmd struct {
	webapi.Reach
	Format string   `help:"Format: csv, jsonl, sarif or xlsx (default: by file extension, or csv)." placeholder:"FORMAT"`
	To     string   `short:"o" help:"Output file (default: standard output)." placeholder:"FILE" default:"" type:"path"`
	Output string   `hidden:"" default:"" type:"path"` // the former name of --to
	Type   []string `help:"Types: sast, sca, secrets (default: all); repeatable." aliases:"issue-type" enum:"sast,sca,secrets" placeholder:"TYPE"`
	Dedup  bool     `help:"Export each finding once: on the primary branch, or the newest."`
	Status []string `help:"Limit by status: open, fixed, ignored, reviewing, fixing (default: all)." enum:"open,fixed,ignored,reviewing,fixing" placeholder:"STATUS"`
	FindingFlags
}

// Run exports the findings. A file is written completely or not at all.
func (c findingsExportCmd) Run(a *command.App) error {
	c.To = cmp.Or(c.To, c.Output)
	format, err := c.format()
	if err != nil {
		return err
	}
	selection, err := c.selection(c.Status)
	if err != nil {
		return err
	}
	selection.IssueType, selection.Dedup = c.Type, c.Dedup
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	client.HTTP.Timeout = 0                // large exports take long
	for i, name := range selection.Repos { // a misspelled project must not yield an empty file
		p, err := findProject(a, client, deployment, name)
		if err != nil {
			return err
		}
		selection.Repos[i] = p.Name
	}
	write := func(w io.Writer) error {
		query := api.ExportFindingsQuery{Format: string(format), FindingsSelection: selection}
		body, err := client.ExportFindings(a.Ctx, deployment, query)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, body)
		return errors.Join(err, body.Close())
	}
	if c.To == "" {
		return write(command.Exact(a.Out))
	}
	n, err := client.CountFindings(a.Ctx, deployment, api.CountFindingsQuery{FindingsSelection: selection})
	if err != nil {
		return err
	}
	if err := command.ReplaceFileWith(c.To, write); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Err, "exported %d findings to %s\n", n.Total, c.To)
	return err
}

// format returns the format of the flag or, if it is not set, of the file extension.
func (c findingsExportCmd) format() (export.Format, error) {
	f := export.Format(c.Format)
	if f == "" {
		f = export.CSV
		if end := export.Format(strings.TrimPrefix(filepath.Ext(c.To), ".")); slices.Contains(export.Formats(), end) {
			f = end
		}
	}
	if !slices.Contains(export.Formats(), f) {
		return "", fmt.Errorf("invalid --format %s: use csv, jsonl, sarif or xlsx", f)
	}
	if f == export.XLSX && c.To == "" && term.IsTerminal(int(os.Stdout.Fd())) {
		return "", errors.New("xlsx cannot be written to a terminal: set a file with --to")
	}
	return f, nil
}
