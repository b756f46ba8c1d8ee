package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestOneAloneAsksForHooks of a repository, until it is done or its time is over.
func TestOneAloneAsksForHooks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		c := d.connection("gitea")
		var r redoubt.Repository
		claim := func(hold time.Duration, want bool) (until time.Time) {
			t.Helper()
			d.check(s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
				until, err = tx.ClaimHook(ctx, r.ID, hold)
				same(t, "claimed", !until.IsZero(), want)
				return err
			}))
			return until
		}
		write := func(do func(ctx context.Context, tx *store.Tx) error) {
			t.Helper()
			d.check(s.Update(t.Context(), d.id, storetest.Actor, do))
		}
		write(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.SaveRepositories(ctx, c.ID, []redoubt.Repository{{HostID: "1", FullName: "acme/one", CloneURL: "https://git.example/acme/one.git"}}, true)
			r = list[0]
			return err
		})
		leave := func(until time.Time) {
			t.Helper()
			write(func(ctx context.Context, tx *store.Tx) error { return tx.LeaveHook(ctx, r.ID, until) })
		}
		first := claim(time.Hour, true)
		claim(time.Hour, false)
		leave(first)
		over := claim(0, true) // whose time is over at once
		claim(time.Hour, true)
		leave(over)
		claim(time.Hour, false)
	})
}
