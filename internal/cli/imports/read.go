package imports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/checkout"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// importReader reads the files of an import and records unreadable ones.
type importReader struct {
	o       report.Options
	code    *checkoutCode // code that reports do not contain; nil reads none
	strict  bool
	reading report.Reading
	read    int
	unread  []unreadFile
	passed  []string // links and other non-regular files
	others  []string // files in directories that are only named like a lockfile or bill of materials
	// blind reports that files other than lockfiles could not be read. Their contents are unknown,
	// so no lockfile counts as removed.
	incomplete bool
	left       []string // lockfiles of earlier imports that stay unchanged
}

// unreadFile is a file that could not be read.
type unreadFile struct {
	api.UnreadFile
	disk string // path on disk
	err  error
}

// readAll reads the files in order. An unreadable lockfile, or any file that was not named, is
// recorded and the import continues. Other unreadable files end the import, as the remaining
// reports could close their findings.
func (r *importReader) readAll(ctx context.Context, list []importFile, bar *progress) error {
	for i, f := range list {
		bar.reading(i+1, len(list))
		err := r.Add(ctx, f, bar)
		switch {
		case err == nil:
			r.read++
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errOther), f.found && report.IsNamesake(err):
			r.others = append(r.others, f.disk)
			continue
		case r.strict:
			return err
		}
		reason := checkout.Unreadable(err)
		if bad, ok := errors.AsType[*report.FileError](err); ok {
			reason = errors.New(bad.Reason())
		}
		o := r.o
		o.Name = f.name
		name, isLockfile := r.reading.Unread(o, reason.Error())
		if !isLockfile && !f.found {
			return err
		}
		if !isLockfile {
			name = f.name
		}
		r.leaveOut(f.disk, name, reason, isLockfile)
		r.unread[len(r.unread)-1].err = err
	}
	if r.read == 0 {
		return r.none("nothing to import: the folder contains no lockfiles or bills of materials")
	}
	return nil
}

// leaveOut records an unreadable file.
func (r *importReader) leaveOut(disk, name string, reason error, isLockfile bool) {
	r.unread = append(r.unread, unreadFile{
		api.UnreadFile{Name: name, Reason: reason.Error()},
		disk,
		fmt.Errorf("%s: %w", disk, reason),
	})
	r.incomplete = r.incomplete || !isLockfile
}

// strictly returns the first read error in strict mode, or nil.
func (r *importReader) strictly() error {
	if !r.strict || len(r.unread) == 0 {
		return nil
	}
	return r.unread[0].err
}

// none returns the error of an import without files: the read errors, or otherwise if there are
// none.
func (r *importReader) none(otherwise string) error {
	switch len(r.unread) {
	case 0:
		return errors.New(otherwise)
	case 1:
		return r.unread[0].err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "nothing was imported: none of the %d files could be read", len(r.unread))
	for _, f := range r.unread {
		fmt.Fprintf(&text, "\n  %s: %s", f.disk, f.Reason)
	}
	return errors.New(text.String())
}

// isUnread reports whether a refusal concerns a file that is already reported as unreadable.
func (r *importReader) isUnread(refused model.Refusal) bool {
	for _, f := range r.unread {
		if f.Name == refused.Item {
			return true
		}
	}
	return false
}

// printUnread prints the unreadable files, the reasons and the effects.
func (r *importReader) printUnread(w io.Writer) {
	for _, name := range r.passed {
		fmt.Fprintf(w, "redoubt: %s is skipped: in a folder, only regular files are read\n", name)
	}
	for _, name := range r.others {
		fmt.Fprintf(w, "redoubt: %s is skipped: the content is not a lockfile or bill of materials\n", name)
	}
	if len(r.unread) == 0 {
		return
	}
	fmt.Fprintf(w, "redoubt: %d of %d files could not be read:\n", len(r.unread), r.read+len(r.unread))
	for _, f := range r.unread {
		fmt.Fprintf(w, "  %s: %s\n", f.disk, f.Reason)
	}
	fmt.Fprintln(w, "Their stored state is unchanged. Repair or omit them, and import again.")
	if r.incomplete {
		fmt.Fprintln(w, "They may describe any lockfile, so this import marks none as removed.")
	}
}

// Add opens and reads a file. Both may block on a pipe, so the end of ctx aborts them.
func (r *importReader) Add(ctx context.Context, file importFile, bar *progress) error {
	type opened struct {
		f   *os.File
		err error
	}
	open := make(chan opened, 1)
	go func() {
		f, err := os.Open(file.disk)
		open <- opened{f, err}
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case got := <-open:
		if got.err != nil {
			return got.err
		}
		defer context.AfterFunc(ctx, func() { _ = got.f.Close() })()
		defer got.f.Close()
		o := r.o
		o.Name = file.name
		if info, err := got.f.Stat(); err == nil && r.code != nil {
			o.Source, o.Unlooked = r.code.source(info.ModTime()), r.code.note
		}
		if file.found && o.Format == "" {
			if other, err := isOther(got.f, file.name); err != nil || other {
				return cmp.Or(err, errOther)
			}
		}
		return r.reading.Add(bar.reader(got.f), o)
	}
}

// errOther is the error of a file that is only named like a bill of materials.
var errOther = errors.New("report of another kind")

// isOther reports whether a file named like a bill of materials is a report of another format. Such
// files are not imported from a directory. It seeks back to the start of the file.
func isOther(f *os.File, name string) (bool, error) {
	if lockfile.Is(name) || !checkout.IsBOM(name) {
		return false, nil
	}
	head, err := io.ReadAll(io.LimitReader(f, checkout.DetectBytes))
	if err != nil {
		return false, err
	}
	format, unknown := report.Detect(name, head)
	_, err = f.Seek(0, io.SeekStart)
	return unknown == nil && !slices.Contains(checkout.BOMFormats, format), err
}
