package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestCheckpointsBelongToOneDeployment(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d, other := storetest.Deployment(t, s), deployment(t, s, storetest.Noise)
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		version, err := s.Version(t.Context(), d.ID)
		check(err)
		knows := func(deployment int64, id string, want bool) {
			t.Helper()
			if got, err := s.HasCheckpoint(t.Context(), deployment, id); got != want || err != nil {
				t.Errorf("checkpoint %s of %d: %v, %v, want %v", id, deployment, got, err, want)
			}
		}
		check(s.RecordCheckpoint(t.Context(), d.ID, "a", version, nil))
		knows(d.ID, "a", true)
		knows(d.ID, "b", false)
		knows(other.ID, "a", false)
		check(s.RecordCheckpoint(t.Context(), other.ID, "c", 1, []string{"a"}))
		knows(d.ID, "a", true)
		check(s.RecordCheckpoint(t.Context(), d.ID, "b", version, []string{"a", "unheard of"}))
		knows(d.ID, "a", false)
		knows(d.ID, "b", true)
		if after, err := s.Version(t.Context(), d.ID); after != version || err != nil {
			t.Errorf("version %d became %d, %v: no answer has changed", version, after, err)
		}
		if err := s.RecordCheckpoint(t.Context(), d.ID, "d", version+1, nil); !errors.Is(err, model.ErrConflict) {
			t.Errorf("a version to come: %v", err)
		}
		knows(d.ID, "d", false)
		if _, err := s.HasCheckpoint(t.Context(), 404, "a"); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("an unknown deployment: %v", err)
		}
		check(s.DeleteDeployment(t.Context(), d.ID, storetest.Actor))
	})
}

// TestCheckpointsAreBounded checks that only the newest checkpoints stay stored.
func TestCheckpointsAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for i := range 70 {
			if err := s.RecordCheckpoint(t.Context(), d.ID, fmt.Sprint(i), 1, nil); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range map[int]bool{0: false, 5: false, 6: true, 69: true} {
			if got, err := s.HasCheckpoint(context.Background(), d.ID, fmt.Sprint(i)); got != want || err != nil {
				t.Errorf("the one of number %d of 70: %v, %v, want %v", i+1, got, err, want)
			}
		}
	})
}

// TestOnCommitIsCalledOncePerVersion checks that OnCommit is called once for each committed version, and not for
// rollbacks or commits without changes.
func TestOnCommitIsCalledOncePerVersion(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		var reported []int64
		s.OnCommit(func(id, version int64) {
			if now, err := s.Version(t.Context(), id); id != d.ID || now != version || err != nil {
				t.Errorf("deployment %d is at version %d, %v; told was %d of %d", id, now, err, version, d.ID)
			}
			reported = append(reported, version)
		})
		before, err := s.Version(t.Context(), d.ID)
		if err != nil {
			t.Fatal(err)
		}
		addProjects(t, s, d, "acme/told")
		made, err := s.Version(t.Context(), d.ID)
		if err != nil || model.Commits(made) != model.Commits(before)+1 {
			t.Fatalf("after version %d comes %d, %v", before, made, err)
		}
		failed := errors.New("no")
		err = s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.CreateProject(ctx, model.Project{Name: "acme/undone"})
			return errors.Join(err, failed)
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if err := s.RecordCheckpoint(t.Context(), d.ID, "nothing changed", before, nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(reported, []int64{made}) {
			t.Errorf("notified of versions %v, want only %d", reported, made)
		}
		versions, err := s.Versions(t.Context(), []int64{d.ID, 404})
		if want := map[int64]int64{d.ID: made}; err != nil || !maps.Equal(versions, want) {
			t.Errorf("versions %v, %v, want %v", versions, err, want)
		}
	})
}

func TestRecentDeployments(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			first := storetest.Deployment(t, s)
			clock.Advance(time.Hour)
			between := clock.Now()
			clock.Advance(time.Hour)
			second, err := s.CreateDeployment(t.Context(), "second", "", storetest.Actor)
			if err != nil {
				t.Fatal(err)
			}
			noise := deployment(t, s, storetest.Noise) // has many commits, one microsecond apart
			for _, c := range []struct {
				since time.Time
				limit int
				want  []int64
			}{
				{storetest.Epoch.Add(-time.Hour), 9, []int64{second.ID, noise.ID, first.ID}},
				{between, 9, []int64{second.ID}},
				{storetest.Epoch.Add(-time.Hour), 1, []int64{second.ID}},
				{clock.Now().Add(time.Hour), 9, nil},
			} {
				if got, err := s.RecentDeployments(t.Context(), c.since, c.limit); err != nil || !slices.Equal(got, c.want) {
					t.Errorf("since %v, %d at most: %v, %v, want %v", c.since, c.limit, got, err, c.want)
				}
			}
		})
	}
}
