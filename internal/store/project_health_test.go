package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestProjectHealth(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		never, old, fresh := d.project("acme/never"), d.project("acme/old"), d.project("acme/fresh")
		now := storetest.Epoch
		scan := func(p model.Project, at time.Time, status model.ScanStatus) (id int64) {
			d.update(func(ctx context.Context, tx *store.Tx) (err error) {
				if id, err = tx.AddScan(ctx, model.Scan{ProjectID: p.ID, Ref: "refs/heads/main", StartedAt: at, CompletedAt: at, Status: status, Full: true}); err != nil {
					return err
				}
				return tx.ScanApplied(ctx, p.ID, "refs/heads/main", true, at)
			})
			return id
		}
		scan(old, now.AddDate(0, 0, -30), model.ScanCompleted)
		scan(fresh, now.Add(-2*time.Hour), model.ScanError)
		scan(fresh, now.Add(-time.Hour), model.ScanCompleted)
		failed := scan(old, now.AddDate(0, 0, -20), model.ScanError)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			silent, total, err := tx.ProjectsWithoutScan(ctx, now.AddDate(0, 0, -14), 10)
			d.check(err)
			same(t, "silent", []any{len(silent), total, silent[0].Name, silent[1].Name}, []any{2, 2, never.Name, old.Name})
			silent, total, err = tx.ProjectsWithoutScan(ctx, now.AddDate(0, 0, -14), 1)
			d.check(err)
			same(t, "at most one", []any{len(silent), total}, []any{1, 2})
			failing, err := tx.FailingScans(ctx, now.AddDate(0, 0, -60), 10)
			d.check(err)
			same(t, "failing", len(failing), 1)
			same(t, "the failing scan", failing[0].ID, failed)
			failing, err = tx.FailingScans(ctx, now.AddDate(0, 0, -10), 10)
			d.check(err)
			same(t, "failing lately", len(failing), 0)
			names, err := tx.ProjectNames(ctx, []int64{old.ID, fresh.ID, 1 << 40})
			d.check(err)
			same(t, "names", names, map[int64]string{old.ID: "acme/old", fresh.ID: "acme/fresh"})
			return nil
		})
	})
}
