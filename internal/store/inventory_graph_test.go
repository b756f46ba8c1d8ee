package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// graphOf returns the edges on the primary branch as "file: a > b".
func (d tenant) graphOf(projectID int64) []string {
	d.t.Helper()
	descriptions := []string{}
	d.view(func(ctx context.Context, tx *store.Tx) error {
		list, edges, err := tx.DependencyGraph(ctx, projectID, "")
		d.check(err)
		by := map[int64]model.Dependency{}
		for _, dep := range list {
			by[dep.ID] = dep
		}
		for _, e := range edges {
			from, to := by[e.From], by[e.To]
			if from.Lockfile != to.Lockfile || from.Name == "" {
				d.t.Errorf("an edge leads from %+v to %+v", from, to)
			}
			descriptions = append(descriptions, fmt.Sprintf("%s: %s > %s@%s", from.Lockfile, from.Name, to.Name, to.Version))
		}
		return nil
	})
	slices.Sort(descriptions)
	return descriptions
}

func TestDependencyGraph(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/graph")
		state := 0
		put := func(lockfile string, edges [][2]int, names ...string) {
			var dependencies []model.Dependency
			for i, name := range names {
				dependencies = append(dependencies, model.Dependency{Ecosystem: "npm", Name: name, Version: fmt.Sprint(i), Transitivity: model.Transitive, Supplier: "Acme"})
			}
			state++
			d.update(func(ctx context.Context, tx *store.Tx) error {
				_, _, err := tx.PutInventory(ctx, model.InventoryStatement{
					ProjectID: p.ID, Ref: p.Primary(), Source: "lockfile", At: tx.Now(), Digest: model.Digest{byte(state)},
					Inventory: model.Inventory{Lockfile: lockfile, Dependencies: dependencies, Edges: edges},
				})
				return err
			})
		}
		check := func(want ...string) {
			t.Helper()
			if diff := cmp.Diff(append([]string{}, want...), d.graphOf(p.ID)); diff != "" {
				t.Errorf("who asks for whom (-want +got):\n%s", diff)
			}
		}
		put("a/yarn.lock", [][2]int{{0, 1}, {1, 2}, {2, 0}}, "x", "y", "z") // a cycle
		put("b/yarn.lock", [][2]int{{1, 0}}, "x", "y")
		put("go.mod", nil, "x", "y")
		check("a/yarn.lock: x > y@1", "a/yarn.lock: y > z@2", "a/yarn.lock: z > x@0", "b/yarn.lock: y > x@0")
		put("a/yarn.lock", [][2]int{{0, 2}, {0, 2}}, "x", "y", "z")
		check("a/yarn.lock: x > z@2", "b/yarn.lock: y > x@0")
		put("b/yarn.lock", nil, "x", "y")
		check("a/yarn.lock: x > z@2")
		d.update(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.AllDependencies(ctx, p.ID, "")
			for _, dep := range list {
				if dep.Supplier != "Acme" {
					t.Errorf("%s is supplied by %q", dep.Name, dep.Supplier)
				}
			}
			d.check(err)
			_, _, err = tx.DropInventories(ctx, p.ID, p.Primary(), "", tx.Now(), []string{"go.mod"})
			return err
		})
		check()
	})
}
