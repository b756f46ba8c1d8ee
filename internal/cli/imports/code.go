package imports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/cli/checkout"
)

// checkoutCode reads code that reports do not contain. The source is the checkout in which the import
// runs, or that --root names. It only reads files that are certainly those that were scanned. They
// belong to the commit of --commit, which is checked out, and are unchanged since the commit and
// since the report was written.
type checkoutCode struct {
	none   string // why no code can be read; empty if it can
	commit string // full id of the commit of --commit; empty if it is not checked out
	reader checkout.Reader
	prefix string          // of the working directory in the checkout, with a trailing slash
	files  map[string]bool // unchanged files of the commit
	left   map[string]string
}

// openCheckout opens the checkout. An error is only reported if a report needs code.
func (c Command) openCheckout(ctx context.Context) *checkoutCode {
	b := &checkoutCode{left: map[string]string{}}
	if err := b.Open(ctx, c.Root, c.Commit); err != nil {
		b.none = err.Error()
	}
	return b
}

func (b *checkoutCode) Open(ctx context.Context, dir, commit string) error {
	top, err := checkout.Git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil && dir != "" { // the root may be a directory of the scanning machine
		dir = ""
		top, err = checkout.Git(ctx, dir, "rev-parse", "--show-toplevel")
	}
	if err != nil {
		return errors.New("not a checkout")
	}
	if full, err := checkout.Git(ctx, top, "rev-parse", "--verify", "--quiet", commit+"^{commit}"); err == nil &&
		commit != "" &&
		strings.HasPrefix(full, commit) {
		b.commit, commit = full, full
	}
	head, err := checkout.Git(ctx, top, "rev-parse", "HEAD")
	switch {
	case err != nil:
		return errors.New("the checkout has no commits")
	case commit == "":
		return errors.New("--commit is required to identify the scanned commit")
	case commit != head:
		return fmt.Errorf("%s is checked out, but --commit is %s", head, commit)
	}
	if b.prefix, err = checkout.Git(ctx, dir, "rev-parse", "--show-prefix"); err != nil {
		return err
	}
	if b.files, err = committedFiles(ctx, top); err != nil {
		return err
	}
	b.reader.Root, err = os.OpenRoot(top)
	return err
}

// committedFiles returns the files of HEAD that are unchanged in the working tree. Links and
// submodules are excluded.
func committedFiles(ctx context.Context, top string) (map[string]bool, error) {
	tree, err := checkout.Git(ctx, top, "ls-tree", "-r", "-z", "HEAD")
	if err != nil {
		return nil, err
	}
	changed, err := checkout.Git(ctx, top, "diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", "HEAD")
	if err != nil {
		return nil, err
	}
	files := map[string]bool{}
	for entry := range strings.SplitSeq(tree, "\x00") {
		if about, name, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(about, "100") { // a file, not a link
			files[name] = true
		}
	}
	for name := range strings.SplitSeq(changed, "\x00") {
		delete(files, name)
	}
	return files, nil
}

func (b *checkoutCode) close() {
	if b.reader.Root != nil {
		_ = b.reader.Root.Close() // read only
	}
}

// source returns a function that reads files for a report that was written at a time.
func (b *checkoutCode) source(written time.Time) func(name string) string {
	return func(name string) string {
		text, err := b.read(name, written)
		if err != nil {
			b.note(name, err.Error())
		}
		return text
	}
}

// note records the first reason why a file's code is not read.
func (b *checkoutCode) note(name, why string) {
	b.left[name] = cmp.Or(b.left[name], why)
}

func (b *checkoutCode) read(name string, written time.Time) (string, error) {
	if b.none != "" {
		return "", errors.New(b.none)
	}
	name, err := b.Find(name)
	if err != nil {
		return "", err
	}
	text, err := b.reader.ReadBytes(name)
	if err != nil {
		return "", err
	}
	if info, err := b.reader.Root.Lstat(name); err != nil || info.ModTime().After(written) {
		return "", errors.New("the report is older than the file")
	}
	return string(text), nil
}

// Find returns the path of a file from the top of the checkout. Reports name files from there, or
// from the directory in which the scanner ran.
func (b *checkoutCode) Find(name string) (string, error) {
	top, below := path.Clean(name), path.Join(b.prefix, name)
	switch inTop, inBelow := b.files[top], b.files[below]; {
	case inTop && inBelow && top != below:
		return "", fmt.Errorf("ambiguous path %s or %s: import from the top of the checkout", top, below)
	case inTop:
		return top, nil
	case inBelow:
		return below, nil
	}
	return "", errors.New("not found in the commit, or changed since")
}

// printOmitted prints which code was not read, one line per reason.
func (b *checkoutCode) printOmitted(w io.Writer) {
	why := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(b.left)) {
		why[b.left[name]] = append(why[b.left[name]], name)
	}
	for _, reason := range slices.Sorted(maps.Keys(why))[:min(len(why), checkout.MaxListedFiles)] {
		more := ""
		if n := len(why[reason]) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(w, "redoubt import: the report contains no code of %q%s, and reading it failed: %s\n",
			why[reason][0], more, reason)
	}
}
