package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestLargeCommitNeedsFewFeedRows checks that a large commit needs few feed rows. The feed must return each
// change, including single deletions next to other rows.
func TestLargeCommitNeedsFewFeedRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		replica := feedOf(d, 0)
		before := d.version()
		added := d.findings(p, 300, nil)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			rows, err := store.In[int64](ctx, tx, "change", "version", []int64{tx.Version()})
			if len(rows) == 0 || len(rows) > 10 {
				t.Errorf("%d rows of the feed for 300 findings", len(rows))
			}
			return err
		})
		before = replica.follow(d, before)
		same(t, "after many were added", replica, feedOf(d, 0))

		var some []model.FindingWrite
		for _, i := range []int{0, 1, 2, 50, 52, 299} {
			added[i].State = model.Fixed
			some = append(some, added[i])
		}
		others := slices.Clone(added[40:60]) // two of these are also in some
		for i := range others {
			others[i].Line += 1000
		}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			if err := tx.UpdateFindings(ctx, some); err != nil {
				return err
			}
			return tx.UpdateFindings(ctx, others)
		})
		before = replica.follow(d, before)
		same(t, "after some changed", replica, feedOf(d, 0))

		// A merge deletes lineages between others and changes both findings.
		d.update(func(ctx context.Context, tx *store.Tx) error {
			into, err := tx.Lineages(ctx, []int64{added[12].LineageID})
			if err != nil {
				return err
			}
			from := []int64{added[10].LineageID, added[11].LineageID, added[13].LineageID}
			return tx.MergeLineages(ctx, []model.LineageMerge{{Into: into[added[12].LineageID], From: from}})
		})
		replica.follow(d, before)
		same(t, "after lineages were merged", replica, feedOf(d, 0))
	})
}
