package redoubt_test

import (
	"testing"
	"time"

	"github.com/redoubt/redoubt"
)

// TestEndOfDay reads last days, and none whose end nobody could name or would mean never.
func TestEndOfDay(t *testing.T) {
	for day, want := range map[string]string{
		"2027-01-31": "2027-02-01T00:00:00Z", "0001-01-01": "0001-01-02T00:00:00Z", "9999-12-30": "9999-12-31T00:00:00Z",
		"9999-12-31": "", "0000-12-31": "", "0000-01-01": "", "2027-02-30": "", "2027-1-31": "", "": "",
	} {
		end, ok := redoubt.EndOfDay(day)
		if ok != (want != "") || ok && end.Format(time.RFC3339) != want {
			t.Errorf("%q ends at %v, %t, want %q", day, end, ok, want)
		}
		if back := redoubt.LastDay(end); ok && back != day {
			t.Errorf("%q came back as %q", day, back)
		}
	}
}
