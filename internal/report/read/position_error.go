package read

import (
	"errors"
	"fmt"
)

// PositionError is an error with its position in the file.
type PositionError struct {
	Where  string // invalid member, such as runs[0].results[17]; empty if unknown
	Offset int64  // in bytes of the decompressed file
	Err    error  // never nil
}

// Error returns the error without its position.
func (f *PositionError) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *PositionError) Unwrap() error { return f.Err }

// Errors of files of any format.
var (
	ErrTruncated = errors.New("the file ends too early")
	ErrTrailing  = errors.New("the report is followed by more text")
	ErrNotList   = errors.New("expected a list")
)

// FormatError is the error for a file that does not have the format of its name. An empty list of
// dependencies would remove the known ones (docs/reference/uploads.md).
type FormatError struct {
	// Namesake reports that the file belongs to another tool with the same file name. It is then
	// ignored and not an error.
	Namesake bool
	reason   string
}

// Error implements error.
func (a *FormatError) Error() string { return a.reason }

// NotA returns the error for a file that does not have the format of its name. what is the expected
// format, and format is the reason.
func NotA(what, format string, args ...any) error {
	return &FormatError{reason: OneLine(fmt.Sprintf(format, args...), MaxName) + ", so it is not a valid " + what}
}

// Namesake is NotA for a file name that several tools use. The file lacks the members that the
// expected tool always writes.
func Namesake(what, format string, args ...any) error {
	return &FormatError{
		Namesake: true, reason: OneLine(fmt.Sprintf(format, args...), MaxName) + ", so it is not a valid " + what,
	}
}

// IsNamesake reports whether an error is from Namesake.
func IsNamesake(err error) bool {
	bad := (*FormatError)(nil)
	return errors.As(err, &bad) && bad.Namesake
}

// CutOff returns the error for a truncated file.
func CutOff(format string, args ...any) error {
	return fmt.Errorf("%s: %w", OneLine(fmt.Sprintf(format, args...), MaxName), ErrTruncated)
}
