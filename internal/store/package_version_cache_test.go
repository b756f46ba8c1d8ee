package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestUncommittedNamesAreNotCached checks that names of uncommitted rows are not cached. On SQLite,
// a rollback releases their ids for other names.
func TestUncommittedNamesAreNotCached(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		changed := errors.New("changed its mind")
		err := s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, _, err := tx.PutInventory(ctx, statement(p, "a.lock", dep("npm", "gone", "1")))
			d.check(err)
			list, _, err := tx.Dependencies(ctx, model.DependencyFilter{}, 0, 10)
			d.check(err)
			if len(list) != 1 || list[0].Name != "gone" {
				t.Errorf("within the transaction: %+v", list)
			}
			return changed
		})
		fails(t, "the transaction", err, changed)
		d.state(statement(p, "a.lock", dep("npm", "stays", "1")))
		for _, when := range []string{"first", "remembered"} {
			list := d.dependencies(model.DependencyFilter{})
			if len(list) != 1 || list[0].Name != "stays" {
				t.Errorf("%s: %+v", when, list)
			}
		}
	})
}
