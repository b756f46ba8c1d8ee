package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/runner"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestRunsOfDeploymentsTakeTurns: never more at once than there are places for, none that is
// free while somebody waits, and while one waits, each other gets one place at most that it
// asked for later.
func TestRunsOfDeploymentsTakeTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 4).Draw(t, "places")
		places := newRunPlaces(most)
		asked := map[int]*runPlace{} // by deployment: what it asked for and did not give back
		since := map[int]int{}       // when it did
		ready := func(w *runPlace) bool {
			select {
			case <-w.ready:
				return true
			default:
				return false
			}
		}
		for step := range rapid.IntRange(1, 200).Draw(t, "steps") {
			d := rapid.IntRange(1, 6).Draw(t, "deployment")
			before := map[int]bool{}
			for of, w := range asked {
				before[of] = ready(w)
			}
			if w := asked[d]; w == nil {
				asked[d], since[d] = places.ask(), step
			} else { // its run is over, or somebody else was first
				w.leave()
				w.leave()
				delete(asked, d)
			}
			taken, waiting := 0, []int{}
			for of, w := range asked {
				if ready(w) {
					taken++
				} else {
					waiting = append(waiting, since[of])
				}
			}
			if taken > most || taken < most && len(waiting) > 0 {
				t.Fatalf("%d of %d places are taken while %d wait", taken, most, len(waiting))
			}
			for of, w := range asked {
				if ready(w) && !before[of] && slices.ContainsFunc(waiting, func(at int) bool { return at < since[of] }) {
					t.Fatalf("deployment %d came before one that asked first", of)
				}
			}
		}
	})
}

// TestABuiltInRunnerWaitsForItsTurn: people see that it is there while others have all
// places; it takes one where it has something to do, and begins anew where its token is gone.
func TestABuiltInRunnerWaitsForItsTurn(t *testing.T) {
	s := storetest.New(t, "sqlite")
	d := storetest.Deployment(t, s)
	places := newRunPlaces(1)
	r := &ownRunner{
		service: &service{store: s}, deployment: d, clock: func() time.Time { return storetest.Epoch }, places: places, name: "built-in",
		runner: &runner.Runner{Config: runner.Config{Name: "built-in"}},
	}
	if _, err := r.mintToken(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := places.ask()
	err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		on, err := repositoryOf(ctx, tx, "acme/on", "trunk", redoubt.ManagedScan{Full: true}, redoubt.RunWeekly)
		if err == nil {
			_, err = tx.QueueRun(ctx, redoubt.Run{ProjectID: on.ProjectID, Kind: redoubt.RunFull, Cause: redoubt.RunByHand})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	waits, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := r.turn(waits)
		ended <- err
	}()
	for seen := 0; seen == 0; {
		if err := s.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Runners(ctx)
			seen = len(list)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("one that is stopped while it waits: %v", err)
	}
	other.leave()
	over, err := r.turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if free := places.free; free != 0 {
		t.Errorf("%d places are free while it has the one", free)
	}
	over()
	if err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, r.tokenID) }); err != nil {
		t.Fatal(err)
	}
	r.seenAt = time.Time{}
	if _, err := r.turn(t.Context()); !errors.Is(err, errRevoked) {
		t.Errorf("with a token that was revoked: %v", err)
	}
	if free := places.free; free != 1 {
		t.Errorf("%d places are free afterwards", free)
	}
}
