package store_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFirstStart checks that the choices are stored, audited once, and separate per tenant.
func TestFirstStart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		mine := newTenant(t, s)
		other := mine.noise()
		read := func(d tenant) (f model.FirstStart) {
			t.Helper()
			err := s.View(t.Context(), d.id, func(ctx context.Context, tx *store.Tx) (err error) {
				f, err = tx.FirstStart(ctx)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		if f := read(mine); f != (model.FirstStart{}) {
			t.Errorf("a new deployment has %+v", f)
		}
		trail := func() (updates int) {
			err := s.View(t.Context(), mine.id, func(ctx context.Context, tx *store.Tx) error {
				events, err := tx.AuditEvents(ctx, 0, 100)
				for _, e := range events {
					if e.Action == "deployment.update" {
						updates++
					}
				}
				return err
			})
			mine.check(err)
			return updates
		}
		before := trail()
		for _, f := range []model.FirstStart{{BlocksNothing: true}, {BlocksNothing: true, Left: true}, {BlocksNothing: true, Left: true}, {}} {
			if err := s.Update(t.Context(), mine.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error { return tx.SetFirstStart(ctx, f) }); err != nil {
				t.Fatal(err)
			}
			if got := read(mine); got != f {
				t.Errorf("%+v was kept as %+v", f, got)
			}
			if got := read(other); got != (model.FirstStart{}) {
				t.Errorf("another deployment has %+v", got)
			}
		}
		if added := trail() - before; added != 3 {
			t.Errorf("three changes have %d events", added)
		}
	})
}
