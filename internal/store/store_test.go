package store_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

func TestMain(m *testing.M) {
	if isChild() {
		return // see durability_test.go
	}
	storetest.Main(m)
}

// update runs fn in a transaction that must succeed.
func update(t testing.TB, s *store.Store, d redoubt.Deployment, fn func(context.Context, *store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), d.ID, storetest.Actor, fn); err != nil {
		t.Fatal(err)
	}
}

// view runs fn on a snapshot that must be readable.
func view(t testing.TB, s *store.Store, d redoubt.Deployment, fn func(context.Context, *store.Tx) error) {
	t.Helper()
	if err := s.View(t.Context(), d.ID, fn); err != nil {
		t.Fatal(err)
	}
}

// deployment reads a tenant's row as it is now.
func deployment(t testing.TB, s *store.Store, id string) redoubt.Deployment {
	t.Helper()
	d, err := s.Deployment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// events reads a tenant's audit trail.
func events(t testing.TB, s *store.Store, d redoubt.Deployment) (list []redoubt.AuditEvent) {
	t.Helper()
	view(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.AuditEvents(ctx, 0, 10_000)
		return err
	})
	return list
}

// same fails the test where two values differ; empty and nil lists are the same.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// fails fails the test unless the error is of a kind.
func fails(t testing.TB, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: got error %v, want %v", what, err, kind)
	}
}

// invalid fails the test unless the error names a bad member.
func invalid(t testing.TB, what string, err error, location string) {
	t.Helper()
	var bad *redoubt.InvalidError
	if !errors.As(err, &bad) || len(bad.Fields) != 1 || bad.Fields[0].Location != location {
		t.Errorf("%s: got error %v, want an invalid %s", what, err, location)
	}
}

// TestARunIsClaimedOnce has several servers look at once whether something is due. One that
// is gone before it has ended its run holds it for a while, and one that ends it says until when.
func TestARunIsClaimedOnce(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			config := storetest.Database(t, engine, clock)
			servers := []*store.Store{storetest.Open(t, config), storetest.Open(t, config), storetest.Open(t, config)}
			claims := func() (n int64) {
				var claimed atomic.Int64
				var all sync.WaitGroup
				for _, s := range servers {
					all.Go(func() {
						due, err := s.ClaimRun(t.Context(), "advisories", time.Minute)
						if err != nil {
							t.Error(err)
						}
						if due {
							claimed.Add(1)
						}
					})
				}
				all.Wait()
				return claimed.Load()
			}
			const ends, never = time.Hour, time.Duration(-1)
			for i, step := range []struct {
				after time.Duration
				want  int64
				ended time.Duration // and due again after it
			}{
				{0, 1, never},
				{0, 0, never},
				{time.Minute - time.Microsecond, 0, never},
				{time.Microsecond, 1, ends},
				{time.Minute, 0, never},
				{time.Hour - time.Minute, 1, 0},
				{0, 1, never},
				{0, 0, never},
			} {
				clock.Advance(step.after)
				if n := claims(); n != step.want {
					t.Errorf("at look %d it is due on %d servers, want %d", i, n, step.want)
				}
				if step.ended == never {
					continue
				}
				if err := servers[0].EndRun(t.Context(), "advisories", step.ended); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestExclusiveIsOneAtATime has several processes in what only one may do.
func TestExclusiveIsOneAtATime(t *testing.T) {
	config := storetest.Database(t, "postgres", storetest.NewClock())
	var inside, most atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		s := storetest.Open(t, config)
		all.Go(func() {
			err := s.Exclusive(t.Context(), func(ctx context.Context) error {
				most.Store(max(most.Load(), inside.Add(1)))
				defer inside.Add(-1)
				for range 20 { // longer than another one takes to come in
					if err := s.PutSetting(ctx, "exclusive", nil); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	same(t, "how many were inside at once", most.Load(), int64(1))
}
