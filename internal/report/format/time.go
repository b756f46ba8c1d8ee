package format

import (
	"time"

	"github.com/redoubt/redoubt/internal/report/read"
)

// Time is a time as reports write it: RFC 3339, or a text that is no time.
type Time read.Text

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error { return (*read.Text)(t).UnmarshalJSON(b) }

// Time returns the time in UTC, or zero when it is none that RFC 3339 can write there.
func (t Time) Time() time.Time {
	at, err := time.Parse(time.RFC3339, string(t))
	if at = at.UTC(); err != nil || at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}
