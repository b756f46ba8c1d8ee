package store_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestMain(m *testing.M) {
	if isChild() {
		return // see durability_test.go
	}
	storetest.Main(m)
}

// update runs fn in a transaction that must succeed.
func update(t testing.TB, s *store.Store, d model.Deployment, fn func(context.Context, *store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), d.ID, storetest.Actor, fn); err != nil {
		t.Fatal(err)
	}
}

// view runs fn on a snapshot and must succeed.
func view(t testing.TB, s *store.Store, d model.Deployment, fn func(context.Context, *store.Tx) error) {
	t.Helper()
	if err := s.View(t.Context(), d.ID, fn); err != nil {
		t.Fatal(err)
	}
}

// deployment returns the current row of a tenant.
func deployment(t testing.TB, s *store.Store, id string) model.Deployment {
	t.Helper()
	d, err := s.Deployment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// events returns a tenant's audit trail.
func events(t testing.TB, s *store.Store, d model.Deployment) (list []model.AuditEvent) {
	t.Helper()
	view(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.AuditEvents(ctx, 0, 10_000)
		return err
	})
	return list
}

// same fails the test if two values differ. Empty and nil lists are equal.
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

// invalid fails the test unless the error is about one field at a location.
func invalid(t testing.TB, what string, err error, location string) {
	t.Helper()
	var bad *model.InvalidError
	if !errors.As(err, &bad) || len(bad.Fields) != 1 || bad.Fields[0].Location != location {
		t.Errorf("%s: got error %v, want an invalid %s", what, err, location)
	}
}

// TestExclusiveAcrossProcesses runs Exclusive in several processes concurrently.
func TestExclusiveAcrossProcesses(t *testing.T) {
	config := storetest.Database(t, "postgres", storetest.NewClock())
	var inside, most atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		s := storetest.Open(t, config)
		all.Go(func() {
			err := s.Exclusive(t.Context(), func(ctx context.Context) error {
				most.Store(max(most.Load(), inside.Add(1)))
				defer inside.Add(-1)
				for range 20 { // long enough for another one to enter
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
