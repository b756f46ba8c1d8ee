package model

import (
	"errors"
	"fmt"
	"time"
)

// Errors that callers distinguish. Wrap them with the cause and the required action.
var (
	// ErrNotFound means that the object does not exist or belongs to another tenant. Responses do
	// not distinguish the two (docs/reference/addressing.md).
	ErrNotFound = errors.New("not found")
	// ErrConflict means that the write conflicts with the stored state.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable means that a later retry may succeed.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooLarge means that the input exceeds a limit.
	ErrTooLarge = errors.New("too large")
)

// BusyError reports too many or too large concurrent requests. It results in status 429 with
// Retry-After (docs/reference/errors.md).
type BusyError struct {
	Text string        // message that describes the limit
	Wait time.Duration // until the next attempt; at least one second
}

// Error returns the text.
func (e *BusyError) Error() string { return e.Text }

// FieldError describes an invalid field of a request or an input file.
type FieldError struct {
	Location string // such as query.page_size or body.issue_ids[3]
	Message  string
	Value    any // as received; nil if absent or confidential
}

// InvalidError contains all invalid fields of an input.
type InvalidError struct {
	Fields []FieldError
}

// Error describes the first invalid field and counts the others.
func (e *InvalidError) Error() string {
	switch len(e.Fields) {
	case 0:
		return "invalid input"
	case 1:
		return fmt.Sprintf("%s: %s", e.Fields[0].Location, e.Fields[0].Message)
	}
	return fmt.Sprintf("%s: %s (and %d more)", e.Fields[0].Location, e.Fields[0].Message, len(e.Fields)-1)
}

// Invalid returns an error about a single field.
func Invalid(location, format string, args ...any) error {
	return &InvalidError{Fields: []FieldError{{Location: location, Message: fmt.Sprintf(format, args...)}}}
}

// OutageError is the reason for which storage is unavailable (docs/reference/errors.md). It matches
// ErrUnavailable: a retry may succeed after the cause is removed.
type OutageError string

// Outages. The texts are labels of metrics and must not change.
const (
	ErrBusy        OutageError = "busy"         // another process holds the lock
	ErrUnreachable OutageError = "unreachable"  // PostgreSQL did not respond, or the connection broke
	ErrCancelled   OutageError = "cancelled"    // PostgreSQL canceled the statement due to a limit or a request
	ErrDiskFull    OutageError = "disk_full"    // no space left; reads still work
	ErrDiskFailed  OutageError = "disk_failed"  // an I/O error of the operating system
	ErrReadOnly    OutageError = "read_only"    // a disk, file or server that rejects writes
	ErrDamaged     OutageError = "damaged"      // stored data is corrupt
	ErrOutOfFiles  OutageError = "out_of_files" // a database file cannot be opened
	ErrOutOfMemory OutageError = "out_of_memory"
	ErrReplaced    OutageError = "replaced" // a newer version of the program has migrated the database
)

// Error returns the text.
func (o OutageError) Error() string { return o.Text() }

// Is reports whether the target is ErrUnavailable.
func (OutageError) Is(target error) bool { return target == ErrUnavailable }

// Text returns a message for clients with the problem and the required action. It contains no
// internal details.
func (o OutageError) Text() string {
	switch o {
	case ErrUnreachable:
		return "The database does not respond, or its connection was lost. " +
			"The change may or may not have been stored; try again shortly."
	case ErrCancelled:
		return "The database canceled the operation: it exceeded a time or memory limit. " +
			"Try again, or request less; the server log contains the message of the database."
	case ErrDiskFull:
		return "The disk of the database is full. Nothing was written; stored data can be read. " +
			"The server operator must free disk space."
	case ErrDiskFailed:
		return "The disk of the database failed. The server log contains the error of the system."
	case ErrReadOnly:
		return "The database is read-only: its disk, its file or its server rejects writes. " +
			"The server operator must make it writable."
	case ErrDamaged:
		return "The database is damaged. The server operator must stop it, run redoubt check, and restore a backup."
	case ErrOutOfFiles:
		return "The server cannot open the database files: too many files are open, or the folder is missing. " +
			"Try again; if it persists, the server operator must raise the limit."
	case ErrOutOfMemory:
		return "The server is out of memory. Try again shortly, or send less at once."
	case ErrReplaced:
		return "A newer Redoubt uses the database, and this server is being replaced. Try again shortly."
	case ErrBusy:
	}
	return "The server is busy or shutting down. Try again shortly."
}

// RetryAfter returns the time until a retry. It is longer if the outage requires an administrator.
func (o OutageError) RetryAfter() time.Duration {
	switch o {
	case ErrDiskFull, ErrDiskFailed, ErrReadOnly, ErrDamaged:
		return 30 * time.Second
	case ErrBusy, ErrUnreachable, ErrCancelled, ErrOutOfFiles, ErrOutOfMemory, ErrReplaced:
	}
	return time.Second
}

// OutageOf returns the outage in an error's chain. Other causes of unavailability, such as a server
// that is shutting down, are reported as busy.
func OutageOf(err error) OutageError {
	if o, ok := errors.AsType[OutageError](err); ok {
		return o
	}
	return ErrBusy
}
