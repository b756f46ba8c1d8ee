package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// lose takes the deployment back to an earlier version, as the restore of a backup does
// to those who read on: the later commits never were.
func (d tenant) lose(to int64) {
	d.t.Helper()
	d.check(d.s.ExecRaw(d.t.Context(), fmt.Sprintf("DELETE FROM change WHERE deployment_id = %d AND version > %d", d.id, to)))
	d.check(d.s.ExecRaw(d.t.Context(), fmt.Sprintf("UPDATE deployment SET version = %d WHERE id = %d", to, d.id)))
}

// TestLostVersionsNeverComeAgain: after a restore as many commits as were lost, and
// more, come to none of their versions, and the feed tells nothing since one of these.
func TestLostVersionsNeverComeAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		d.findings(p, 1, nil)
		restored := d.version()
		var lost []int64
		for range 5 {
			d.findings(p, 1, nil)
			lost = append(lost, d.version())
		}
		d.lose(restored)
		stale := func(since int64) bool {
			_, stale, err := s.Feed(t.Context(), d.id, since, func(*redoubt.Batch) error { return nil })
			d.check(err)
			d.view(func(ctx context.Context, tx *store.Tx) error {
				if _, err := tx.ChangeSet(ctx, since); (err != nil) != stale {
					t.Errorf("the feed since %d is stale %v, and the change set says %v", since, stale, err)
				}
				return nil
			})
			return stale
		}
		for i := range 8 {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateProject(ctx, redoubt.Project{Name: fmt.Sprint("acme/other-", i)})
				return err
			})
			if stale(restored) || stale(d.version()) {
				t.Fatalf("after %d commits the feed does not tell what changed since the restore", i+1)
			}
			for _, v := range lost {
				if v == d.version() || !stale(v) {
					t.Errorf("after %d commits the lost version %d is known, at %d", i+1, v, d.version())
				}
			}
		}
		if had, want := redoubt.Commits(d.version()), redoubt.Commits(restored)+8; had != want {
			t.Errorf("the version has the number %d, want %d", had, want)
		}
		if faults, _ := checked(t, s, d); faults != "" {
			t.Error(faults)
		}
	})
}
