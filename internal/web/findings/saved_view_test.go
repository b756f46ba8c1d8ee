package findings

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestFollowable checks that invalid parts are removed from a stored query.
func TestFollowable(t *testing.T) {
	for name, query := range map[string]string{"a value": "severities=high&severities=terrible&sort=oldest", "a word": "colour=red&sort=oldest", "an order": "sort=size"} {
		q, lost := followable(model.SAST, query)
		if len(lost) != 1 || q.Has("colour") || q.Get("sort") == "size" {
			t.Errorf("%s: %v is left, %v is lost", name, q, lost)
		}
	}
}
