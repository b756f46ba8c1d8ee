package storetest_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestNewStoreContainsOnlyNoiseTenant(t *testing.T) {
	for range 2 { // the second run does not see rows of the first
		storetest.Each(t, func(t *testing.T, s *store.Store) {
			list, err := s.Deployments(t.Context())
			if err != nil || len(list) != 1 || list[0].Slug != storetest.Noise {
				t.Fatalf("a fresh store has %v, %v", list, err)
			}
			err = s.View(t.Context(), list[0].ID, func(ctx context.Context, tx *store.Tx) error {
				for _, name := range storetest.ProjectNames {
					p, err := tx.ProjectByName(ctx, name)
					if err != nil {
						return err
					}
					scans, _, err := tx.Scans(ctx, model.ScanFilter{ProjectID: p.ID}, store.ScanCursor{}, 1)
					if err != nil || len(scans) == 0 {
						t.Errorf("%s has no scans: %v", name, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			storetest.Deployment(t, s)
		})
	}
}

// TestOpenTransactions checks that an active reader is counted, and no longer after its end.
func TestOpenTransactions(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			c := storetest.Database(t, engine, storetest.NewClock())
			s := storetest.Open(t, c)
			d := storetest.Deployment(t, s)
			err := s.View(t.Context(), d.ID, func(ctx context.Context, _ *store.Tx) error {
				if _, err := s.CreateDeployment(ctx, "beside", "", storetest.Actor); err != nil {
					return err
				}
				if n := storetest.OpenTransactions(t, c); n != 1 {
					t.Errorf("%d while one reads", n)
				}
				return nil
			})
			if n := storetest.OpenTransactions(t, c); err != nil || n != 0 {
				t.Errorf("%d, %v after the end", n, err)
			}
		})
	}
}
