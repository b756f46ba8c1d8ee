package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// timeLayout is RFC 3339 in UTC with six fractional digits (docs/reference/requests.md).
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Time is a date-time. It is written in UTC with six fractional digits, and read in any RFC 3339
// format.
type Time struct{ time.Time }

// NewTime returns a pointer for a nullable member, or nil for the zero time.
func NewTime(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(timeLayout) + `"`), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return errors.New("expected an RFC 3339 date-time in a string")
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("expected an RFC 3339 date-time, got %q", text)
	}
	t.Time = parsed
	return nil
}

// Instant is a point in time in a request. It is an ISO 8601 date, which means its start, or a date
// and time, in UTC if there is no zone. Both may have the basic format, and a space for the T
// (docs/reference/scans.md).
type Instant string

// instantLayouts are the formats of an Instant. Go parses fractions of seconds after a point or a
// comma even if the layout has none.
var instantLayouts = []string{
	time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05",
	"2006-01-02T15:04Z07:00", time.RFC3339, "2006-01-02T15:04Z0700", "2006-01-02T15:04:05Z0700",
	"20060102", "20060102T1504", "20060102T150405",
	"20060102T1504Z07:00", "20060102T150405Z07:00", "20060102T1504Z0700", "20060102T150405Z0700",
}

// Time parses the instant as UTC. It returns the zero time for an empty instant.
func (i Instant) Time() (time.Time, error) {
	if i == "" {
		return time.Time{}, nil
	}
	text := string(i)
	if date := len(time.DateOnly); len(text) > date && text[date] == ' ' { // the format that Python prints
		text = text[:date] + "T" + text[date+1:]
	}
	for _, layout := range instantLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf(
		"expected an ISO 8601 date or date and time, such as 2024-05-28 or 2024-05-28T06:38:54Z, got %.80q", string(i),
	)
}

// ID is a member that requests may contain as a string or as a number. Clients do so with ids,
// cursors and epoch seconds (docs/reference/requests.md). It is sent as a string.
type ID string

// UnmarshalJSON reads a string or a number.
func (id *ID) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(id))
	}
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("expected a string or a number, got %s", b)
	}
	*id = ID(n)
	return nil
}

// Int is an integer that requests may contain as a number or as a string of digits. It is sent as a
// number.
type Int int64

// UnmarshalJSON reads a number or a string of digits.
func (n *Int) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	if err != nil {
		return fmt.Errorf("expected an integer, got %s", b)
	}
	*n = Int(v)
	return nil
}

// Flag is a boolean that the contract defines as an integer. It is sent as 0 or 1, and read as 0,
// 1, false or true (docs/reference/scans.md).
type Flag bool

// MarshalJSON writes 0 or 1.
func (f Flag) MarshalJSON() ([]byte, error) {
	if f {
		return []byte("1"), nil
	}
	return []byte("0"), nil
}

// UnmarshalJSON reads 0, 1, false or true.
func (f *Flag) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "0", "false":
		*f = false
	case "1", "true":
		*f = true
	default:
		return fmt.Errorf("expected 0, 1, false or true, got %s", b)
	}
	return nil
}

// List is a list that requests may contain as one comma-separated string. It is sent as a list.
type List[T ~string] []T

// UnmarshalJSON reads a list or a comma-separated string.
func (l *List[T]) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || b[0] != '"' {
		return json.Unmarshal(b, (*[]T)(l))
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	*l = List[T]{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l = append(*l, T(part))
		}
	}
	return nil
}

// Optional is a query parameter that distinguishes absent from zero.
type Optional[T any] struct {
	Value T
	Set   bool
}

// Some returns a parameter that is present.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Set: true} }

// Pointer returns the value, or nil if it is absent.
func (o Optional[T]) Pointer() *T {
	if !o.Set {
		return nil
	}
	return &o.Value
}

// Receiver returns the value into which a decoder writes.
func (o *Optional[T]) Receiver() reflect.Value { return reflect.ValueOf(&o.Value).Elem() }

// OnParamSet is called by a decoder after it wrote the value.
func (o *Optional[T]) OnParamSet(set bool, _ any) { o.Set = set }
