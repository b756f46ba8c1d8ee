package core

import (
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestInstantSchema checks that the schema accepts exactly the instants that can be parsed,
// except for nonexistent dates.
func TestInstantSchema(t *testing.T) {
	for _, day := range []string{"2024-05-28", "0000-01-01", "9999-12-31"} {
		for _, clock := range []string{"", "T00:00", "T23:59:59", "T06:38:54.9", "T06:38:54,962941123"} {
			for _, zone := range []string{"", "Z", "+02:00", "-2359", "+00:00"} {
				text := day + clock + zone
				_, err := api.Instant(text).Time()
				if matches := instantPattern.MatchString(text); matches != (err == nil) || matches == (clock == "" && zone != "") {
					t.Errorf("%s: the schema accepts it: %t, but it is read as %v", text, matches, err)
				}
			}
		}
	}
}
