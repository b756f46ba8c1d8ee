package store_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestLineagesOf(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p, other := d.project("acme/payments"), d.project("acme/web-shop")
		writes := d.findings(p, 3, nil)
		d.findings(other, 1, func(_ int, w *model.FindingWrite) { w.Identity = writes[0].Identity })
		// The same hash with another kind is another identity.
		twin := model.Identity{Kind: model.IdentityTool, Hash: writes[1].Identity.Hash}
		moved := model.Identity{Kind: model.IdentityOwn, Hash: model.Digest{0, 1}}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddIdentities(ctx, p.ID, []model.IdentityLink{
				{Identity: twin, LineageID: writes[2].LineageID},
				{Identity: moved, LineageID: writes[0].LineageID},
				{Identity: moved, LineageID: writes[1].LineageID},
			})
		})
		unknown := model.Identity{Kind: model.IdentitySecret, Hash: writes[0].Identity.Hash}
		d.view(func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.LineagesOf(ctx, p.ID, []model.Identity{writes[0].Identity, writes[1].Identity, twin, moved, unknown})
			ids := map[model.Identity]int64{}
			for id, l := range got {
				ids[id] = l.ID
			}
			same(t, "lineages", ids, map[model.Identity]int64{
				writes[0].Identity: writes[0].LineageID, writes[1].Identity: writes[1].LineageID,
				twin: writes[2].LineageID, moved: writes[1].LineageID,
			})
			d.check(err)
			none, err := tx.LineagesOf(ctx, p.ID, nil)
			same(t, "of no identities", none, map[model.Identity]model.Lineage{})
			return err
		})
	})
}

func TestMergeLineages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		writes := d.findings(p, 4, nil)
		into, from, apart := writes[0].LineageID, []int64{writes[1].LineageID, writes[2].LineageID}, writes[3]
		decided := model.Triage{State: model.TriageIgnored, At: storetest.Epoch}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.UpdateTriage(ctx, []model.TriageEvent{{LineageID: from[0], At: tx.Now(), After: decided, Note: "kept"}})
		})
		d.update(func(ctx context.Context, tx *store.Tx) error {
			stays := model.Lineage{ID: into, Annotations: model.Annotations{EPSS: &model.EPSS{Score: 1}}}
			return tx.MergeLineages(ctx, []model.LineageMerge{{Into: stays, From: append(from, into)}})
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			for _, w := range writes[:3] {
				o, err := tx.Finding(ctx, w.ID)
				d.check(err)
				same(t, "lineage", o.Lineage.ID, into)
				same(t, "annotations", o.Lineage.Annotations.EPSS, &model.EPSS{Score: 1})
				of, err := tx.LineagesOf(ctx, p.ID, []model.Identity{w.Identity})
				d.check(err)
				same(t, "lineage of its identity", of[w.Identity].ID, into)
			}
			o, err := tx.Finding(ctx, apart.ID)
			d.check(err)
			same(t, "a lineage apart", o.Lineage.ID, apart.LineageID)
			trail, err := tx.TriageTrail(ctx, into)
			d.check(err)
			if len(trail) != 1 || trail[0].Note != "kept" {
				t.Errorf("trail: %+v", trail)
			}
			left, err := tx.Lineages(ctx, from)
			same(t, "merged lineages", left, map[int64]model.Lineage{})
			return err
		})
		feed := feedOf(d, 0)
		same(t, "lineages in the feed", feed.lineageIDs(), []int64{into, apart.LineageID})
	})
}
