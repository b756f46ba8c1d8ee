package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestExpiredRefsAreDeleted scans a primary branch and two others long ago, and one of these again
// recently. Only the third must be deleted.
func TestExpiredRefsAreDeleted(t *testing.T) {
	const lively, stale = "refs/heads/lively", "refs/heads/stale"
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p, onMain := furnished(d, "acme/a")
		onLively := d.findings(p, 1, func(_ int, w *model.FindingWrite) { w.Ref = lively })
		onStale := d.findings(p, 1, func(_ int, w *model.FindingWrite) { w.Ref = stale })
		var now time.Time
		d.update(func(ctx context.Context, tx *store.Tx) error {
			now = tx.Now()
			for _, scan := range []struct {
				ref string
				age time.Duration
			}{{main, 1000 * time.Hour}, {lively, 1000 * time.Hour}, {lively, time.Hour}, {stale, 721 * time.Hour}} {
				row := model.Scan{
					ProjectID: p.ID, Ref: scan.ref, StartedAt: now.Add(-scan.age), Source: "semgrep",
					Outcome: model.ScanApplied, Digest: model.Digest{7},
				}
				if _, err := tx.AddScan(ctx, row); err != nil {
					return err
				}
			}
			return nil
		})
		expire := func(want int) {
			t.Helper()
			d.update(func(ctx context.Context, tx *store.Tx) error {
				n, err := tx.ExpireRefs(ctx, now.Add(-720*time.Hour))
				if n != want {
					t.Errorf("%d refs expired, want %d", n, want)
				}
				return err
			})
		}
		expire(1)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			for id, want := range map[int64]model.State{
				onMain[0].ID: model.Unresolved, onLively[0].ID: model.Unresolved, onStale[0].ID: model.StateRemoved,
			} {
				if got, err := tx.Finding(ctx, id); err != nil || got.State != want {
					t.Errorf("finding %d is %s, %v; want %s", id, got.State, err, want)
				}
			}
			// A repeated upload must be processed, or its findings would not return.
			stream, err := tx.Stream(ctx, p.ID, stale, "semgrep", "")
			if err != nil || stream.LastScanID == 0 || stream.LastDigest != (model.Digest{}) {
				t.Errorf("the stream of the expired ref is %+v, %v; want its scan without a digest", stream, err)
			}
			return nil
		})
		expire(0)
	})
}
