package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestLastCommit checks that the time differs exactly for every commit. The clock may stand still,
// and commits may change no finding.
func TestLastCommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		seen := func() (at time.Time) {
			t.Helper()
			err := s.View(t.Context(), d.id, func(_ context.Context, tx *store.Tx) error {
				at = tx.LastCommit()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		first := seen()
		if repeated := seen(); !repeated.Equal(first) {
			t.Errorf("%v, and then %v", first, repeated)
		}
		d.state(statement(d.project("acme/payments"), "go.mod", dep("gomod", "a", "1")))
		if later := seen(); !later.After(first) {
			t.Errorf("%v, and after a commit %v", first, later)
		}
	})
}
