package read

import (
	"errors"
	"fmt"
)

// PlaceError is an error with its place in the file, before the file is known.
type PlaceError struct {
	Where  string // the member at fault, as runs[0].results[17]; empty when not known
	Offset int64  // in bytes of the inflated file
	Err    error  // never nil
}

// Error says what is wrong, without the place.
func (f *PlaceError) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *PlaceError) Unwrap() error { return f.Err }

// What can be wrong with a file of any format.
var (
	ErrTruncated = errors.New("the file ends too early")
	ErrTrailing  = errors.New("more text follows the end of the report")
	ErrNotList   = errors.New("a list was expected")
)

// FormatError says why a file is not what its name says: an empty list of
// dependencies would be taken for the truth, and drop those that are known
// (docs/reference/uploads.md).
type FormatError struct {
	// Namesake says that the file is another tool's: several use its name, and it has
	// nothing of this one's. It is then no lockfile, and no failure.
	Namesake bool
	reason   string
}

// Error says what the file lacks or has, and what it therefore is not.
func (a *FormatError) Error() string { return a.reason }

// NotA is the error for a file that is not what its name says, with what it
// lacks or has.
func NotA(what, format string, args ...any) error {
	return &FormatError{reason: OneLine(fmt.Sprintf(format, args...), MaxName) + ", so it is no " + what}
}

// Namesake is NotA for a name that several tools use, and a file without any of the
// members that this tool always writes.
func Namesake(what, format string, args ...any) error {
	return &FormatError{Namesake: true, reason: OneLine(fmt.Sprintf(format, args...), MaxName) + ", so it is no " + what}
}

// IsNamesake reports whether an error is one of Namesake.
func IsNamesake(err error) bool {
	bad := (*FormatError)(nil)
	return errors.As(err, &bad) && bad.Namesake
}

// CutOff is the error for a file that ends before what its tool always writes.
func CutOff(format string, args ...any) error {
	return fmt.Errorf("%s: %w", OneLine(fmt.Sprintf(format, args...), MaxName), ErrTruncated)
}
