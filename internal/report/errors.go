package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redoubt/redoubt"
)

// FileError says that a file as a whole cannot be taken, where, why and what
// to do about it.
type FileError struct {
	Name   string // of the file; empty when not known
	Format Format // empty when it was not recognised
	Where  string // the member at fault, as runs[0].results[17]; empty when not known
	Offset int64  // of the fault, in bytes of the inflated file; negative when not known
	Advice string // what to do next; may be empty
	Err    error
}

// Error returns one sentence for a person.
func (e *FileError) Error() string {
	if e.Name == "" {
		return e.Reason()
	}
	return e.Name + ": " + e.Reason()
}

// Reason returns the sentence without the file's name, for where that stands
// beside it.
func (e *FileError) Reason() string {
	var b strings.Builder
	if e.Format != "" {
		fmt.Fprintf(&b, "not readable as %s: ", e.Format)
	}
	b.WriteString(e.Err.Error())
	if e.Where != "" {
		b.WriteString(", in " + e.Where)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, ", at byte %d", e.Offset)
	}
	if e.Advice != "" {
		b.WriteString("; " + e.Advice)
	}
	return b.String()
}

// Unwrap returns the cause: redoubt.ErrTooLarge for a file over a limit.
func (e *FileError) Unwrap() error { return e.Err }

// fault is an error with its place in the file, before the file is known.
type fault struct {
	where  string
	offset int64
	err    error
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

var (
	errTruncated = errors.New("the file ends too early")
	errTrailing  = errors.New("more text follows the end of the report")
	errNotList   = errors.New("a list was expected")
	errUTF16     = errors.New("the file is UTF-16, not UTF-8")
)

// alien says why a file is not what its name says: an empty list of
// dependencies would be taken for the truth, and drop those that are known
// (semantics §15).
type alien struct{ reason string }

func (a *alien) Error() string { return a.reason }

// notA is the error for a file that is not what its name says, with what it
// lacks or has.
func notA(what, format string, args ...any) error {
	return &alien{oneLine(fmt.Sprintf(format, args...), maxName) + ", so it is no " + what}
}

// cutOff is the error for a file that ends before what its tool always writes.
func cutOff(format string, args ...any) error {
	return fmt.Errorf("%s: %w", oneLine(fmt.Sprintf(format, args...), maxName), errTruncated)
}

// fileError completes an error with what is known of the file.
func fileError(o Options, offset int64, err error) error {
	out := &FileError{Name: text(o.Name).name(), Format: o.Format, Offset: offset, Err: err}
	if f := (*fault)(nil); errors.As(err, &f) {
		out.Where, out.Offset, out.Err = f.where, f.offset, f.err
	}
	if errors.Is(out.Err, io.ErrUnexpectedEOF) || errors.Is(out.Err, io.EOF) {
		out.Err = errTruncated
	}
	out.Advice = advice(out.Err)
	return out
}

func advice(err error) string {
	other := (*alien)(nil)
	switch {
	case errors.As(err, &other):
		return "nothing was taken from it: see what wrote this file, and send the whole file as the package manager wrote it"
	case errors.Is(err, errTruncated):
		return "nothing was taken from it: see whether the scanner or the upload was cut off, and send the whole file"
	case errors.Is(err, errTrailing):
		return "send one report per file"
	case errors.Is(err, errUTF16):
		return "write it as UTF-8 (let the scanner write the file itself; PowerShell's > writes UTF-16)"
	case errors.Is(err, redoubt.ErrTooLarge):
		return "split it, or scan with fewer rules or folders at a time"
	}
	return ""
}
