package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

func TestCheckpointsAreKnownOfTheirDeploymentOnly(t *testing.T) {
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
		check(s.KeepCheckpoint(t.Context(), d.ID, "a", version, nil))
		knows(d.ID, "a", true)
		knows(d.ID, "b", false)
		knows(other.ID, "a", false)
		check(s.KeepCheckpoint(t.Context(), other.ID, "c", 1, []string{"a"}))
		knows(d.ID, "a", true)
		check(s.KeepCheckpoint(t.Context(), d.ID, "b", version, []string{"a", "unheard of"}))
		knows(d.ID, "a", false)
		knows(d.ID, "b", true)
		if after, err := s.Version(t.Context(), d.ID); after != version || err != nil {
			t.Errorf("version %d became %d, %v: no answer has changed", version, after, err)
		}
		if err := s.KeepCheckpoint(t.Context(), d.ID, "d", version+1, nil); !errors.Is(err, redoubt.ErrConflict) {
			t.Errorf("a version to come: %v", err)
		}
		knows(d.ID, "d", false)
		if _, err := s.HasCheckpoint(t.Context(), 404, "a"); !errors.Is(err, redoubt.ErrNotFound) {
			t.Errorf("an unknown deployment: %v", err)
		}
		check(s.DeleteDeployment(t.Context(), d.ID, storetest.Actor))
	})
}

// However many servers come and go, few checkpoints are remembered, the newest.
func TestRememberedCheckpointsHaveABound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for i := range 70 {
			if err := s.KeepCheckpoint(t.Context(), d.ID, fmt.Sprint(i), 1, nil); err != nil {
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
