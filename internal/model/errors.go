package model

import (
	"errors"
	"fmt"
	"time"
)

// Errors that callers tell apart. Wrap them with what failed and what to do.
var (
	// ErrNotFound means that there is none, or that it belongs to another
	// tenant: the answer is the same (semantics §1).
	ErrNotFound = errors.New("not found")
	// ErrConflict means that the write does not fit what is stored by now.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable means that trying again later may work.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooLarge means that the input is over a limit.
	ErrTooLarge = errors.New("too large")
)

// BusyError means that somebody asks too often, or for too much at once: 429 with
// Retry-After (semantics §3).
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
