package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestAliasChangesBeforeFirstMarkAreEvaluated checks alias changes between a deployment's first
// evaluation and its first mark. They must be followed although other deployments prune them.
func TestAliasChangesBeforeFirstMarkAreEvaluated(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		made, err := s.CreateDeployment(t.Context(), "second", "", storetest.Actor)
		d.check(err)
		others := func() {
			tenant{t, s, made.ID}.followAll()
			d.noise().followAll()
		}
		others()
		w := d.vulnerable(d.project("acme/payments"), 1)
		d.except(accepted("GHSA-AAAA"))
		var due exceptions.Due
		d.view(func(ctx context.Context, tx *store.Tx) error {
			due, err = exceptions.FindDue(ctx, tx)
			return err
		})
		putAdvisories(t, s, record("GHSA-AAAA", []string{"npm/p"}, "CVE-2021-44228"))
		publish(t, s)
		others()
		putAdvisories(t, s, record("GHSA-BBBB", []string{"npm/q"}))
		publish(t, s) // deletes the changes that all marked deployments have processed
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.ApplyDue(ctx, tx, due)
			return err
		})
		d.followAll()
		same(t, "the finding with another alias", d.states(w), []string{"ignored"})
	})
}

// TestExpiryBetweenFindAndApplyDue checks that an exception that expires after FindDue and
// before ApplyDue is followed.
func TestExpiryBetweenFindAndApplyDue(t *testing.T) {
	eachTimed(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		d := newTenant(t, s)
		w := d.findings(d.project("acme/payments"), 1, nil)
		e := accepted("rule-1")
		e.Until = clock.Now().Add(time.Hour)
		d.except(e)
		same(t, "before", d.states(w), []string{"ignored"})
		var due exceptions.Due
		d.view(func(ctx context.Context, tx *store.Tx) (err error) {
			due, err = exceptions.FindDue(ctx, tx)
			return err
		})
		clock.Advance(2 * time.Hour)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.ApplyDue(ctx, tx, due)
			return err
		})
		d.followAll()
		same(t, "after its end", d.states(w), []string{"reopened"})
	})
}
