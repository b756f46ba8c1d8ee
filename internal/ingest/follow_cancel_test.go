package ingest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// advisedMatch returns the advisories' match for npm package a 1 in a.lock.
func advisedMatch(projectID int64, ref string) model.Advised {
	return model.Advised{ProjectID: projectID, Ref: ref, InLockfile: map[int64]bool{}, Lockfiles: []string{"a.lock"}, Matches: []model.Match{{
		Group: 1, Package: "npm/a", Severity: model.SeverityHigh, Rule: &model.Rule{Name: "CVE-2024-1", IssueType: model.SCA}, Message: "affected",
		Dependency: model.Vulnerable{Ecosystem: "npm", Package: "a", Version: "1", Lockfile: "a.lock", Vulnerability: "CVE-2024-1", Group: 1},
	}}}
}

// asking returns an upload of a lockfile that evaluates the advisories.
func asking(project string, advised func(ctx context.Context, projectID int64, ref string, stated []model.Holding) (model.Advised, error)) Upload {
	report := model.Report{Tool: "inventory", Products: model.Products(0).With(model.SCA), Inventories: []model.Inventory{
		{Lockfile: "a.lock", Dependencies: []model.Dependency{{Ecosystem: "npm", Name: "a", Version: "1"}}},
	}}
	return Upload{Project: model.Project{Name: project}, Ref: "refs/heads/main", Full: true, Report: &report, Advised: advised}
}

// TestFollowStopsOnCancel uses a store that ignores contexts.
func TestFollowStopsOnCancel(t *testing.T) {
	f := newFollowed()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Apply(ctx, f, f, asking(followedProject, func(_ context.Context, id int64, ref string, _ []model.Holding) (model.Advised, error) {
		cancel()
		return advisedMatch(id, ref), nil
	}))
	if !errors.Is(err, context.Canceled) || len(f.rows) != 0 {
		t.Errorf("%v, and %d findings", err, len(f.rows))
	}
}

// TestCanceledUploadStoresNothing cancels the request while advisories are evaluated.
// Nothing of the upload is stored, and the next upload can lock the database.
func TestCanceledUploadStoresNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for turn := range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			project := fmt.Sprint("acme/left-", turn)
			upload := func(ctx context.Context, leave func()) error {
				return s.Update(ctx, d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
					_, err := Apply(ctx, tx, exceptions.ForImport{Store: tx}, asking(project, func(_ context.Context, id int64, ref string, _ []model.Holding) (model.Advised, error) {
						leave()
						return advisedMatch(id, ref), nil
					}))
					return err
				})
			}
			if err := upload(ctx, cancel); !errors.Is(err, context.Canceled) {
				t.Fatalf("the upload ended with %v", err)
			}
			err := s.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ProjectByName(ctx, project)
				return err
			})
			if !errors.Is(err, model.ErrNotFound) {
				t.Errorf("the project of the upload: %v", err)
			}
			if err := upload(t.Context(), func() {}); err != nil {
				t.Errorf("the next upload: %v", err)
			}
		}
	})
}
