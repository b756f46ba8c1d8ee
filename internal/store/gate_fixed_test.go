package store_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFixedFindings checks that the fixed ones of the given findings are returned by the scan that
// fixed them last.
func TestFixedFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/app")
		states := []model.State{model.Fixed, model.Fixed, model.Unresolved, model.Fixed, model.Fixed}
		writes := d.findings(p, len(states), func(i int, w *model.FindingWrite) {
			w.Ref, w.Source, w.State, w.CodeHash = "refs/heads/main", "semgrep", states[i], model.Digest{byte(i + 1)}
			if i == 3 {
				w.Ref = "refs/heads/topic"
			}
		})
		event := func(i int, scan int64, kind model.FindingEventKind) model.FindingEvent {
			return model.FindingEvent{FindingID: writes[i].ID, ScanID: scan, Kind: kind}
		}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddEvents(ctx, []model.FindingEvent{
				event(0, 9, model.EventFixed), event(0, 10, model.EventReturned), event(0, 7, model.EventFixed),
				event(2, 7, model.EventFixed), event(3, 7, model.EventFixed), event(4, 8, model.EventFixed),
			})
		})
		fixedFields := func(i int) model.Finding {
			return model.Finding{Identity: writes[i].Identity, Path: writes[i].Path, Line: writes[i].Line, CodeHash: writes[i].CodeHash}
		}
		d.view(func(ctx context.Context, tx *store.Tx) error {
			ids := []model.Identity{writes[0].Identity, writes[1].Identity, writes[2].Identity, writes[3].Identity}
			got, err := tx.FixedFindings(ctx, p.ID, "refs/heads/main", "semgrep", ids)
			same(t, "fixed", got, map[int64][]model.Finding{7: {fixedFields(0)}, 0: {fixedFields(1)}})
			return err
		})
	})
}
