package store_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestFixedFindings are those of the asked that are fixed, by the scan that fixed them
// last, whatever happened to them besides.
func TestFixedFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/app")
		states := []redoubt.State{redoubt.Fixed, redoubt.Fixed, redoubt.Unresolved, redoubt.Fixed, redoubt.Fixed}
		writes := d.findings(p, len(states), func(i int, w *redoubt.FindingWrite) {
			w.Ref, w.Source, w.State, w.CodeHash = "refs/heads/main", "semgrep", states[i], redoubt.Digest{byte(i + 1)}
			if i == 3 {
				w.Ref = "refs/heads/topic"
			}
		})
		event := func(i int, scan int64, kind redoubt.FindingEventKind) redoubt.FindingEvent {
			return redoubt.FindingEvent{FindingID: writes[i].ID, ScanID: scan, Kind: kind}
		}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddEvents(ctx, []redoubt.FindingEvent{
				event(0, 9, redoubt.EventFixed), event(0, 10, redoubt.EventReturned), event(0, 7, redoubt.EventFixed),
				event(2, 7, redoubt.EventFixed), event(3, 7, redoubt.EventFixed), event(4, 8, redoubt.EventFixed),
			})
		})
		place := func(i int) redoubt.Finding {
			return redoubt.Finding{Identity: writes[i].Identity, Path: writes[i].Path, Line: writes[i].Line, CodeHash: writes[i].CodeHash}
		}
		d.view(func(ctx context.Context, tx *store.Tx) error {
			ids := []redoubt.Identity{writes[0].Identity, writes[1].Identity, writes[2].Identity, writes[3].Identity}
			got, err := tx.FixedFindings(ctx, p.ID, "refs/heads/main", "semgrep", ids)
			same(t, "fixed", got, map[int64][]redoubt.Finding{7: {place(0)}, 0: {place(1)}})
			return err
		})
	})
}
