package model

import (
	"errors"
	"fmt"
	"time"
)

// Errors that callers tell apart. Wrap them with what failed and what to do.
var (
	// ErrNotFound means that there is none, or that it belongs to another
	// tenant: the answer is the same (docs/reference/addressing.md).
	ErrNotFound = errors.New("not found")
	// ErrConflict means that the write does not fit what is stored by now.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable means that trying again later may work.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooLarge means that the input is over a limit.
	ErrTooLarge = errors.New("too large")
)

// BusyError means that somebody asks too often, or for too much at once: 429 with
// Retry-After (docs/reference/errors.md).
type BusyError struct {
	Text string        // for people: who does what too often
	Wait time.Duration // until the next request may pass; a second at least
}

// Error is the text.
func (e *BusyError) Error() string { return e.Text }

// FieldError is one bad member of a request or of an input file.
type FieldError struct {
	Location string // as query.page_size, body.issue_ids[3]
	Message  string
	Value    any // as received; nil when absent or not to be shown
}

// InvalidError gathers all bad members of one input.
type InvalidError struct {
	Fields []FieldError
}

// Error names the first fault and counts the others.
func (e *InvalidError) Error() string {
	switch len(e.Fields) {
	case 0:
		return "invalid input"
	case 1:
		return fmt.Sprintf("%s: %s", e.Fields[0].Location, e.Fields[0].Message)
	}
	return fmt.Sprintf("%s: %s (and %d more)", e.Fields[0].Location, e.Fields[0].Message, len(e.Fields)-1)
}

// Invalid returns an error about a single member.
func Invalid(location, format string, args ...any) error {
	return &InvalidError{Fields: []FieldError{{Location: location, Message: fmt.Sprintf(format, args...)}}}
}

// OutageError is why storage cannot do its part (docs/reference/errors.md). It is an error, and
// an ErrUnavailable: repeating the request may work once its cause is gone.
type OutageError string

// Outages. The words are labels of metrics: never give one another meaning.
const (
	ErrBusy        OutageError = "busy"         // others hold the lock
	ErrUnreachable OutageError = "unreachable"  // no answer from PostgreSQL, or the connection broke
	ErrCancelled   OutageError = "cancelled"    // PostgreSQL ended the statement: by a limit of its own, or on request
	ErrDiskFull    OutageError = "disk_full"    // no room left; what is there can be read
	ErrDiskFailed  OutageError = "disk_failed"  // the system could not read or write
	ErrReadOnly    OutageError = "read_only"    // a disk, file or server that takes no writes
	ErrDamaged     OutageError = "damaged"      // what is stored is not what was written
	ErrOutOfFiles  OutageError = "out_of_files" // a file of the database cannot be opened
	ErrOutOfMemory OutageError = "out_of_memory"
	ErrReplaced    OutageError = "replaced" // a newer program has migrated the database
)

// Error is the text.
func (o OutageError) Error() string { return o.Text() }

// Is reports whether the target is ErrUnavailable, which every outage is.
func (OutageError) Is(target error) bool { return target == ErrUnavailable }

// Text says to a client what is wrong and what to do. Nothing of the inside gets
// into it.
func (o OutageError) Text() string {
	switch o {
	case ErrUnreachable:
		return "The database does not answer, or the connection to it broke. " +
			"What was being written may have been stored or not; try again shortly."
	case ErrCancelled:
		return "The database ended this before it was done, as it took more time or room than the database allows. " +
			"Try again, or ask for less; whoever runs the server finds the database's own words in its log."
	case ErrDiskFull:
		return "The disk of the database is full. Nothing was written; what is stored can be read. " +
			"Whoever runs the server must make room."
	case ErrDiskFailed:
		return "The disk of the database fails. Whoever runs the server finds the system's own words in its log."
	case ErrReadOnly:
		return "The database takes no writes: its disk, its file or its server only reads. " +
			"Whoever runs the server must change that."
	case ErrDamaged:
		return "The database is damaged. Whoever runs the server should stop it, run redoubt check, and restore a backup."
	case ErrOutOfFiles:
		return "The server cannot open the files of its database: it may have too many open, or the folder is gone. " +
			"Try again; if it stays so, whoever runs the server must raise the limit."
	case ErrOutOfMemory:
		return "There is not enough memory for this right now. Try again shortly, or send less at once."
	case ErrReplaced:
		return "A newer Redoubt has taken over the database, and this server is about to be replaced. Try again shortly."
	case ErrBusy:
	}
	return "The server is busy or shutting down. Try again shortly."
}

// RetryAfter is when to try again: soon where it passes by itself, later where
// a person has to do something.
func (o OutageError) RetryAfter() time.Duration {
	switch o {
	case ErrDiskFull, ErrDiskFailed, ErrReadOnly, ErrDamaged:
		return 30 * time.Second
	case ErrBusy, ErrUnreachable, ErrCancelled, ErrOutOfFiles, ErrOutOfMemory, ErrReplaced:
	}
	return time.Second
}

// OutageOf returns the outage in an error's chain. What is unavailable for
// another reason, such as a server that stops, is busy.
func OutageOf(err error) OutageError {
	if o, ok := errors.AsType[OutageError](err); ok {
		return o
	}
	return ErrBusy
}
