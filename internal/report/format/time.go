package format

import (
	"time"

	"github.com/redoubt/redoubt/internal/report/read"
)

// Time is a time in RFC 3339, or another text.
type Time read.Text

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error { return (*read.Text)(t).UnmarshalJSON(b) }

// Time returns the time in UTC. It returns the zero time for invalid times and those outside of the
// years 1 to 9999.
func (t Time) Time() time.Time {
	at, err := time.Parse(time.RFC3339, string(t))
	if at = at.UTC(); err != nil || at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}
