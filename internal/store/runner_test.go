package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestProgressUpdatesRunnerLastSeen checks that progress reports update the last-seen time of a runner.
// New runners must not replace a working one.
func TestProgressUpdatesRunnerLastSeen(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.queue(addProjects(w.t, w.Store, w.d, "acme/payments")[0].ID, "refs/heads/main", nil)
		var worker model.Runner
		var run model.Run
		update(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) (err error) {
			if worker, err = tx.RecordRunnerContact(ctx, model.Runner{Name: "worker", TokenID: 1}); err != nil {
				return err
			}
			run, _, err = tx.LeaseRun(ctx, worker.ID, nil)
			return err
		})
		seen := func() (at time.Time) {
			view(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
				r, err := tx.Runner(ctx, worker.ID)
				at = r.SeenAt
				return err
			})
			return at
		}
		for range 9 {
			w.clock.Advance(model.RunLease / 2)
			if err := w.progress(&run, model.RunScanning, 0, ""); err != nil {
				w.t.Fatal(err)
			}
		}
		if ago := w.clock.Now().Sub(seen()); ago > time.Minute {
			w.t.Errorf("a runner that works was seen %s ago", ago)
		}
		before := seen()
		w.clock.Advance(model.RunLease / 2)
		if err := w.ProgressRun(w.t.Context(), w.d.ID, run.ID, run.Claim+1, saying(model.RunScanning, 0, "")); !errors.Is(err, model.ErrConflict) || !seen().Equal(before) {
			w.t.Errorf("another's claim: %v, seen at %s, was %s", err, seen(), before)
		}
		update(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
			for i := range model.MaxRunners + 5 {
				if _, err := tx.RecordRunnerContact(ctx, model.Runner{Name: fmt.Sprint("idle-", i), TokenID: 3}); err != nil {
					return err
				}
			}
			return nil
		})
		if seen().IsZero() {
			w.t.Error("a runner that works was forgotten")
		}
		if err := w.finish(&run, model.RunOutcome{State: model.RunDone}); err != nil {
			w.t.Fatal(err)
		}
		update(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.RecordRunnerContact(ctx, model.Runner{Name: "one more", TokenID: 3}); err != nil {
				return err
			}
			if _, err := tx.Runner(ctx, worker.ID); !errors.Is(err, model.ErrNotFound) {
				w.t.Errorf("a runner that is silent longest and works on nothing is kept: %v", err)
			}
			return nil
		})
	})
}
