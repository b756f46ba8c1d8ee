package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/export"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/server"
	"github.com/redoubt/redoubt/internal/store"
)

type exportCmd struct {
	tenant
	Format    string   `help:"csv, jsonl, sarif or xlsx; by default what the name of the file ends with, else csv." placeholder:"FORMAT"`
	Output    string   `short:"o" help:"Write to this file instead of standard output." placeholder:"FILE" type:"path"`
	IssueType []string `help:"sast, sca or secrets, several too; by default all." enum:"sast,sca,secrets" placeholder:"TYPE"`
	Dedup     bool     `help:"Each finding once for all branches: on the primary one, else the newest."`
	Status    []string `help:"Only open, fixed, ignored, reviewing or fixing. Default: all." enum:"open,fixed,ignored,reviewing,fixing" placeholder:"STATUS"`
	findingFlags
}

// Run writes the file, whole or not at all.
func (c exportCmd) Run(a *app) error {
	format, err := c.format()
	if err != nil {
		return err
	}
	filters, err := c.filters(a.clock())
	if err != nil {
		return err
	}
	st, d, err := c.use(a)
	if err != nil {
		return err
	}
	return errors.Join(c.export(a, st, d, format, filters), st.Close())
}

// format is the one that is named, or that the file's name ends with.
func (c exportCmd) format() (export.Format, error) {
	f := export.Format(c.Format)
	if f == "" {
		f = export.CSV
		if end := export.Format(strings.TrimPrefix(filepath.Ext(c.Output), ".")); slices.Contains(export.Formats(), end) {
			f = end
		}
	}
	if !slices.Contains(export.Formats(), f) {
		return "", fmt.Errorf("--format %s is none of csv, jsonl, sarif, xlsx", f)
	}
	if f == export.XLSX && c.Output == "" && term.IsTerminal(int(os.Stdout.Fd())) {
		return "", errors.New("a workbook is nothing for a terminal: name a file with --output")
	}
	return f, nil
}

func (c exportCmd) filters(now time.Time) ([]redoubt.FindingFilter, error) {
	selection, err := c.selection(c.Status)
	if err != nil {
		return nil, err
	}
	selection.IssueType, selection.Dedup = c.IssueType, c.Dedup
	return server.FindingFilters(selection, now)
}

func (c exportCmd) export(a *app, st *store.Store, d redoubt.Deployment, format export.Format, filters []redoubt.FindingFilter) error {
	if err := c.knownProjects(a, st, d); err != nil {
		return err
	}
	view, err := index.New(st, index.Options{Clock: a.clock}).Deployment(a.ctx, d.ID)
	if err != nil {
		return err
	}
	parts := export.Parts(view, format, filters...)
	bar := newExportProgress(raw(a.err), parts)
	defer bar.close()
	written := 0
	write := func(w io.Writer) error {
		return export.Write(a.ctx, w, format, parts, export.Options{Version: version, Progress: func(n int) {
			written = n
			bar.set(n)
		}})
	}
	if c.Output == "" {
		return write(exact(a.out))
	}
	if err := replaceFileWith(c.Output, write); err != nil {
		return err
	}
	bar.close()
	_, err = fmt.Fprintf(a.err, "exported %d findings to %s\n", written, c.Output)
	return err
}

// knownProjects refuses a project that there is not: an empty file would pass for
// one without findings.
func (c exportCmd) knownProjects(a *app, st *store.Store, d redoubt.Deployment) error {
	return st.View(a.ctx, d.ID, func(ctx context.Context, tx *store.Tx) error {
		for i, name := range c.Project {
			p, err := tx.ProjectByName(ctx, name)
			if errors.Is(err, redoubt.ErrNotFound) {
				return fmt.Errorf("there is no project %q; redoubt projects list shows what there is", name)
			}
			if err != nil {
				return err
			}
			c.Project[i] = p.Name // an old name leads to it
		}
		return nil
	})
}

// exportProgress shows on a terminal how far an export is.
type exportProgress struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

func newExportProgress(w io.Writer, parts []export.Selection) *exportProgress {
	p := &exportProgress{}
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	total := 0
	for _, part := range parts {
		total += part.Total()
	}
	p.container = mpb.New(mpb.WithOutput(w), mpb.WithWidth(48))
	p.bar = p.container.AddBar(int64(total)+1, mpb.BarRemoveOnComplete(), // the last step is to close the file
		mpb.PrependDecorators(decor.Name("exporting ")),
		mpb.AppendDecorators(decor.CountersNoUnit("%d / %d"), decor.Name("  "), decor.Elapsed(decor.ET_STYLE_GO)))
	return p
}

func (p *exportProgress) set(n int) {
	if p.bar != nil {
		p.bar.SetCurrent(int64(n))
	}
}

// close takes the bar off the terminal.
func (p *exportProgress) close() {
	if p.container != nil {
		p.bar.Abort(true)
		p.container.Wait()
		p.container = nil
	}
}
