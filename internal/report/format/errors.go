package format

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// FileError is the error for a file that cannot be read, with its position and advice.
type FileError struct {
	Name   string // of the file; empty if unknown
	Format Format // empty if it was not recognized
	Where  string // invalid member, such as runs[0].results[17]; empty if unknown
	Offset int64  // position of the error, in bytes of the decompressed file; negative if unknown
	Advice string // next step for the user; may be empty
	Err    error
}

// Error returns one sentence for users.
func (e *FileError) Error() string {
	if e.Name == "" {
		return e.Reason()
	}
	return e.Name + ": " + e.Reason()
}

// Reason returns the sentence of Error without the name of the file.
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

// Unwrap returns the cause: model.ErrTooLarge if a limit is exceeded.
func (e *FileError) Unwrap() error { return e.Err }

// ErrUTF16 is the error for text in UTF-16.
var ErrUTF16 = errors.New("the file is UTF-16, not UTF-8")

// NewFileError adds the known properties of the file to an error.
func NewFileError(o Options, offset int64, err error) error {
	out := &FileError{Name: read.Text(o.Name).Name(), Format: o.Format, Offset: offset, Err: err}
	if f := (*read.PositionError)(nil); errors.As(err, &f) {
		out.Where, out.Offset, out.Err = f.Where, f.Offset, f.Err
	}
	if errors.Is(out.Err, io.ErrUnexpectedEOF) || errors.Is(out.Err, io.EOF) {
		out.Err = read.ErrTruncated
	}
	out.Advice = advice(out.Err)
	if errors.Is(out.Err, model.ErrTooLarge) {
		out.Advice = adviceOnSize(o.Format)
	}
	return out
}

// IsNamesake reports whether a file only shares its name with a lockfile and belongs to another
// tool.
func IsNamesake(err error) bool { return read.IsNamesake(err) }

func advice(err error) string {
	other := (*read.FormatError)(nil)
	switch {
	case errors.As(err, &other):
		return "the file was not imported: check its origin, and send the complete file of the package manager"
	case errors.Is(err, read.ErrTruncated):
		return "the file was not imported: check whether the scan or upload was interrupted, and send the complete file"
	case errors.Is(err, read.ErrTrailing):
		return "send one report per file"
	case errors.Is(err, ErrUTF16):
		return "write it as UTF-8 (with an option of the scanner; PowerShell's > writes UTF-16)"
	}
	return ""
}

// adviceOnSize explains how to split a file that is too large. Parts with the same source would
// replace each other.
func adviceOnSize(f Format) string {
	const none = "the file was not imported: "
	switch f {
	case Lockfile:
		return none + "check its origin, or upload a bill of materials instead"
	case CycloneDXJSON, CycloneDXXML, SPDXJSON:
		return none + "split it into files of different names, each in a separate upload"
	}
	return none + "scan with fewer rules or folders, and upload each report with its own category"
}

// cleanedError is an error whose text contained a secret.
type cleanedError struct {
	text string
	err  error
}

func (e *cleanedError) Error() string { return e.text }

func (e *cleanedError) Unwrap() error { return e.err }

// CleanError removes secrets from the parts of an error that quote the file.
func CleanError(r *secrets.Redactor, err error) error {
	of := (*FileError)(nil)
	if !errors.As(err, &of) {
		return err
	}
	known := redact.NewKnown(r.Complete)
	clean := func(s string) string {
		return r.Finder().Name(r.BlankText(redact.Joined(known.Redact(s))))
	}
	of.Name, of.Where = clean(of.Name), clean(of.Where)
	if text := of.Err.Error(); clean(text) != text {
		of.Err = &cleanedError{clean(text), of.Err}
	}
	return err
}
