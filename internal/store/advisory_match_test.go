package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// holdingsOfRef calls Holdings for one ref.
func holdingsOfRef(ctx context.Context, tx *store.Tx, projectID int64, ref string, packages []int64) ([]model.Holding, error) {
	lists, err := tx.Holdings(ctx, []model.ProjectRef{{ProjectID: projectID, Ref: ref}}, packages)
	if err != nil {
		return nil, err
	}
	return lists[0], nil
}

func TestHoldingsReturnsCurrentLockfiles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/shop")
		d.state(statement(p, "b.lock", dep("npm", "lodash", "1.0.0"), dep("npm", "axios", "1.0.0")))
		first := statement(p, "a.lock", dep("npm", "lodash", "2.0.0"))
		first.Commit, first.ScanID = "abc", 7
		d.state(first)
		other := statement(p, "a.lock", dep("npm", "axios", "3.0.0"))
		other.Ref = "refs/heads/dev"
		d.state(other)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			all, err := holdingsOfRef(ctx, tx, p.ID, main, nil)
			d.check(err)
			if len(all) != 2 || all[0].Lockfile != "a.lock" || all[0].Commit != "abc" || all[0].ScanID != 7 || len(all[0].Dependencies) != 1 || len(all[1].Dependencies) != 2 {
				t.Errorf("%+v", all)
			}
			var lodash []int64
			d.check(tx.EachPackage(ctx, func(id int64, ecosystem, name string) {
				if ecosystem+"/"+name == "npm/lodash" {
					lodash = append(lodash, id)
				}
			}))
			some, err := holdingsOfRef(ctx, tx, p.ID, main, lodash)
			d.check(err)
			if len(some) != 2 || len(some[1].Dependencies) != 1 || some[1].Dependencies[0].Version != "1.0.0" {
				t.Errorf("%+v", some)
			}
			refs, err := tx.HoldingRefs(ctx, nil)
			same(t, "refs", refs, []model.ProjectRef{{ProjectID: p.ID, Ref: "refs/heads/dev"}, {ProjectID: p.ID, Ref: main}})
			d.check(err)
			refs, err = tx.HoldingRefs(ctx, lodash)
			same(t, "refs with lodash", refs, []model.ProjectRef{{ProjectID: p.ID, Ref: main}})
			return err
		})
	})
}

// TestHoldingsOfSeveralRefs checks that reading several refs returns the same as
// reading each of them.
func TestHoldingsOfSeveralRefs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		shop, blog := d.project("acme/shop"), d.project("acme/blog")
		refs := []model.ProjectRef{{ProjectID: blog.ID, Ref: main}, {ProjectID: shop.ID, Ref: "refs/heads/dev"}, {ProjectID: shop.ID, Ref: "refs/heads/none"}, {ProjectID: shop.ID, Ref: main}}
		for i, at := range refs {
			if at.Ref == "refs/heads/none" {
				continue
			}
			for _, lock := range []string{"b.lock", "a.lock"}[:1+i%2] {
				inventory := statement(model.Project{ID: at.ProjectID}, lock, dep("npm", "lodash", fmt.Sprint(i, ".0.0")), dep("npm", "axios", "1.0.0"))
				inventory.Ref = at.Ref
				d.state(inventory)
			}
		}
		d.view(func(ctx context.Context, tx *store.Tx) error {
			var lodash []int64
			d.check(tx.EachPackage(ctx, func(id int64, _, name string) {
				if name == "lodash" {
					lodash = append(lodash, id)
				}
			}))
			sizes, err := tx.RefSizes(ctx, refs, 10)
			d.check(err)
			for i, want := range []int{2, 4, 0, 4} {
				if sizes[i] < want || want == 0 && sizes[i] != 0 {
					t.Errorf("%v: %d rows, at least %d are there", refs[i], sizes[i], want)
				}
			}
			for _, packages := range [][]int64{nil, lodash} {
				together, err := tx.Holdings(ctx, refs, packages)
				d.check(err)
				for i, at := range refs {
					alone, err := holdingsOfRef(ctx, tx, at.ProjectID, at.Ref, packages)
					d.check(err)
					same(t, fmt.Sprint(at, " together with others"), together[i], alone)
				}
				if n := len(together[1]); n != 2 || together[1][0].Dependencies[0].Version != "1.0.0" {
					t.Errorf("the second ref has %+v", together[1])
				}
			}
			return nil
		})
	})
}

// TestHoldingsIncludeUncommittedChanges checks that a transaction reads its own changes.
func TestHoldingsIncludeUncommittedChanges(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/shop")
		d.state(statement(p, "a.lock", dep("npm", "lodash", "1.0.0"), dep("npm", "axios", "1.0.0")))
		d.update(func(ctx context.Context, tx *store.Tx) error {
			var lodash []int64
			d.check(tx.EachPackage(ctx, func(id int64, _, name string) {
				if name == "lodash" {
					lodash = append(lodash, id)
				}
			}))
			for version := range 3 {
				holdings, err := holdingsOfRef(ctx, tx, p.ID, main, lodash)
				if want := fmt.Sprint(version+1, ".0.0"); err != nil || len(holdings) != 1 || len(holdings[0].Dependencies) != 1 || holdings[0].Dependencies[0].Version != want {
					t.Fatalf("want lodash %s: %+v %v", want, holdings, err)
				}
				if none, err := holdingsOfRef(ctx, tx, p.ID, main, []int64{}); err != nil || len(none) != 1 || len(none[0].Dependencies) != 0 {
					t.Errorf("of no package: %+v %v", none, err)
				}
				next := statement(p, "a.lock", dep("npm", "lodash", fmt.Sprint(version+2, ".0.0")), dep("npm", "axios", "1.0.0"))
				_, _, err = tx.PutInventory(ctx, next)
				d.check(err)
			}
			return nil
		})
	})
}
