package report

import (
	"time"

	"github.com/redoubt/redoubt/internal/report/read"
)

type sarifTime read.Text

// UnmarshalJSON implements json.Unmarshaler.
func (t *sarifTime) UnmarshalJSON(b []byte) error { return (*read.Text)(t).UnmarshalJSON(b) }

// time returns the time in UTC, or zero when it is none that RFC 3339 can write there.
func (t sarifTime) time() time.Time {
	at, err := time.Parse(time.RFC3339, string(t))
	if at = at.UTC(); err != nil || at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}
