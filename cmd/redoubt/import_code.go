package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/redoubt/redoubt/internal/report"
)

// beside has code that a report does not tell read from the checkout in which the import
// runs, or which its root names. A file counts that was not written since the reports
// were, and none where another commit is checked out than they are said to be of. The
// function returned is called when all is read.
func (c importCmd) beside(ctx context.Context, o *report.Options, list []importFile) (closed func(), err error) {
	top, err := git(ctx, c.Root, "rev-parse", "--show-toplevel")
	if err != nil {
		return func() {}, nil //nolint:nilerr // there is no checkout, which is as good
	}
	if head, err := git(ctx, top, "rev-parse", "HEAD"); err == nil && c.Commit != "" && c.Commit != head {
		return func() {}, nil
	}
	scanned, err := oldest(list)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	reader := codeReader{root: root}
	o.Source = func(name string) string {
		text, err := reader.read(name)
		if err != nil {
			return "" // the report goes without it, as any that is imported elsewhere
		}
		if info, err := root.Stat(filepath.FromSlash(name)); err != nil || info.ModTime().After(scanned) {
			return ""
		}
		return text
	}
	return func() { _ = root.Close() }, nil // nothing is written
}

// oldest is when the file was written that was written first.
func oldest(list []importFile) (first time.Time, err error) {
	for _, f := range list {
		info, err := os.Stat(f.disk)
		if err != nil {
			return first, err
		}
		if first.IsZero() || info.ModTime().Before(first) {
			first = info.ModTime()
		}
	}
	return first, nil
}
