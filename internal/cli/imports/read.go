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

// importReader reads the files of an import, and notes those that it cannot.
type importReader struct {
	o       report.Options
	code    *besideCode // that reports do not tell; nil reads none
	strict  bool
	reading report.Reading
	read    int
	unread  []unreadFile
	passed  []string // links and what else is no file
	others  []string // files in folders that only have the name of a lockfile or bill of materials
	// blind says that more than lockfiles could not be read: what is in them is
	// not known, so nothing counts as gone.
	blind bool
	left  []string // lockfiles of earlier imports that stay in force
}

// unreadFile is a file that could not be read.
type unreadFile struct {
	api.UnreadFile
	disk string // as people know it
	err  error
}

// readAll reads the files one after the other. A lockfile that cannot be read, or
// what nobody named, keeps no others out; any other file does, for what a report
// says without it might close what it holds.
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
		return r.none("nothing to import: the folder has neither lockfiles nor bills of materials")
	}
	return nil
}

// leaveOut notes a file that cannot be read.
func (r *importReader) leaveOut(disk, name string, reason error, isLockfile bool) {
	r.unread = append(r.unread, unreadFile{
		api.UnreadFile{Name: name, Reason: reason.Error()},
		disk,
		fmt.Errorf("%s: %w", disk, reason),
	})
	r.blind = r.blind || !isLockfile
}

// strictly is the first that could not be read, where that is to end all.
func (r *importReader) strictly() error {
	if !r.strict || len(r.unread) == 0 {
		return nil
	}
	return r.unread[0].err
}

// none says why there is nothing to import: the files that could not be read, or
// what is given where there are none.
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

// tells reports whether a refusal is of a file that is told anyway.
func (r *importReader) tells(refused model.Refusal) bool {
	for _, f := range r.unread {
		if f.Name == refused.Item {
			return true
		}
	}
	return false
}

// tell says which files could not be read, why, and what that means.
func (r *importReader) tell(w io.Writer) {
	for _, name := range r.passed {
		fmt.Fprintf(w, "redoubt: %s is left out: in a folder, only files are read, no links\n", name)
	}
	for _, name := range r.others {
		fmt.Fprintf(w, "redoubt: %s is left out: it only has the name of a lockfile or bill of materials\n", name)
	}
	if len(r.unread) == 0 {
		return
	}
	fmt.Fprintf(w, "redoubt: %d of %d files could not be read:\n", len(r.unread), r.read+len(r.unread))
	for _, f := range r.unread {
		fmt.Fprintf(w, "  %s: %s\n", f.disk, f.Reason)
	}
	fmt.Fprintln(w, "What was known of them stays as it was. Repair them, or leave them out, and import again.")
	if r.blind {
		fmt.Fprintln(w, "Since they may state any lockfile, nothing counts as removed by this import.")
	}
}

// Add opens and reads a file. A pipe may keep both waiting, so the end of the
// command ends them.
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

// errOther is for a file that is no bill of materials, though it is called like one.
var errOther = errors.New("it is a report of another kind")

// isOther reports whether a file called like a bill of materials is a report of another
// kind: of a folder, none is taken. It leaves the file at its start.
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
