package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestArgumentsMatchTheStatement passes one argument too many and too few. SQLite's driver silently
// accepts the former.
func TestArgumentsMatchTheStatement(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for name, args := range map[string][]any{"too many": {"a", "b"}, "too few": {}} {
			err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.Exec(ctx, `DELETE FROM project_alias WHERE deployment_id = $1 AND name = $2`, args...)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "a statement uses 2 arguments but has") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
