package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// rowFaults returns the faults of CheckRows.
func (d tenant) rowFaults() (faults string) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		return tx.CheckRows(ctx, func(check string, found []string) {
			for _, f := range found {
				faults += check + ": " + f + "\n"
			}
		})
	})
	return faults
}

// TestLockfileContentsMatchRows checks that lockfile contents match the rows after changes, and when
// lockfiles or the project are deleted.
func TestLockfileContentsMatchRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/a")
		inventory := statement(p, "a.lock", dep("npm", "a", "1", "MIT"), dep("npm", "b", "1", "ISC"))
		inventory.ScanID = 0
		licensed := func(licence string, want ...string) {
			t.Helper()
			var names []string
			for _, dependency := range d.dependencies(model.DependencyFilter{Licenses: []string{licence}}) {
				names = append(names, dependency.Name)
			}
			same(t, "with "+licence, names, want)
			if faults := d.rowFaults(); faults != "" {
				t.Error(faults)
			}
		}
		step := func(dependencies ...model.Dependency) {
			inventory.At = inventory.At.Add(1000)
			inventory.Inventory.Dependencies = dependencies
			d.state(inventory)
		}
		step(dep("npm", "a", "1", "MIT"), dep("npm", "b", "1", "ISC"))
		licensed("mit", "a")
		step(dep("npm", "a", "1", "ISC"), dep("npm", "b", "1", "ISC"), dep("npm", "c", "1", "MIT"))
		licensed("mit", "c")
		licensed("isc", "a", "b")
		step(dep("npm", "b", "1", "ISC"))
		licensed("mit")
		step()
		licensed("isc")
		step(dep("npm", "b", "1", "ISC"))
		d.drop(p, "semgrep")
		licensed("isc")
		step(dep("npm", "b", "1", "ISC"))
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, p.ID) })
		licensed("isc")
	})
}

// TestCheckRowsReportsContentMismatch checks that CheckRows reports contents that differ from the rows.
func TestCheckRowsReportsContentMismatch(t *testing.T) {
	for name, damage := range map[string]string{
		"another licence": `UPDATE dependency SET licenses_json = '["BSD"]' WHERE deployment_id = %d`,
		"no content":      `DELETE FROM inventory_content WHERE deployment_id = %d`,
		"another content": `UPDATE inventory_content SET last_id = last_id + 1 WHERE deployment_id = %d`,
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				d := newTenant(t, s)
				inventory := statement(d.project("acme/a"), "a.lock", dep("npm", "a", "1", "MIT"), dep("npm", "b", "1", "ISC"))
				inventory.ScanID = 0
				d.state(inventory)
				if faults := d.rowFaults(); faults != "" {
					t.Fatal(faults)
				}
				d.check(s.ExecRaw(t.Context(), fmt.Sprintf(damage, d.id)))
				if faults := d.rowFaults(); !strings.Contains(faults, "content") {
					t.Errorf("the check has %q", faults)
				}
			})
		})
	}
}

// TestRolledBackNamesAreNotCached checks that new names are found. Names of rolled-back transactions
// must not be cached, because their ids are reused.
func TestRolledBackNamesAreNotCached(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/a")
		inventory := statement(p, "a.lock", dep("npm", "first", "1"))
		put := func(ctx context.Context, tx *store.Tx, names ...string) error {
			inventory.At = inventory.At.Add(1000)
			inventory.Inventory.Dependencies = nil
			for _, name := range names {
				inventory.Inventory.Dependencies = append(inventory.Inventory.Dependencies, dep("npm", name, "1"))
			}
			_, _, err := tx.PutInventory(ctx, inventory)
			return err
		}
		named := func(ctx context.Context, tx *store.Tx, name string) (found []string) {
			t.Helper()
			list, _, err := tx.Dependencies(ctx, model.DependencyFilter{Name: name}, 0, 10)
			d.check(err)
			for _, dependency := range list {
				found = append(found, dependency.Name)
			}
			return found
		}
		seen := func(name string) (found []string) {
			t.Helper()
			d.view(func(ctx context.Context, tx *store.Tx) error { found = named(ctx, tx, name); return nil })
			return found
		}
		d.update(func(ctx context.Context, tx *store.Tx) error { return put(ctx, tx, "first") })
		same(t, "the first", seen("first"), []string{"first"})
		undone := errors.New("undone")
		err := s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			d.check(put(ctx, tx, "first", "undone"))
			same(t, "what the transaction itself wrote", named(ctx, tx, "undone"), []string{"undone"})
			return undone
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		same(t, "undone scans", len(seen("undone")), 0)
		d.update(func(ctx context.Context, tx *store.Tx) error { return put(ctx, tx, "first", "second") })
		same(t, "the second", seen("second"), []string{"second"})
		same(t, "the first again", seen("first"), []string{"first"})
		d.check(s.ExecRaw(t.Context(), fmt.Sprintf(`UPDATE package SET name = 'restored' WHERE deployment_id = %d AND name = 'second'`, d.id)))
		same(t, "lost scans", len(seen("second")), 0)
		same(t, "scans with its id", len(seen("restored")), 1)
	})
}

// TestDependencyProjectsWithoutScan checks that the primary branch of a project without a full
// scan is refs/heads/main.
func TestDependencyProjectsWithoutScan(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		var p model.Project
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			p, err = tx.ProjectForScan(ctx, nil, model.Project{Name: "acme/unscanned"})
			return err
		})
		if p.DefaultBranch != "" {
			t.Fatalf("the default branch is %q", p.DefaultBranch)
		}
		d.state(statement(p, "a.lock", dep("npm", "a", "1")))
		same(t, "dependencies", len(d.dependencies(model.DependencyFilter{})), 1)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, more, err := tx.DependencyProjects(ctx, model.DependencyFilter{}, 0, 10)
			same(t, "projects", list, []model.DependencyProject{{ID: p.ID, Name: p.Name, Dependencies: 1}})
			same(t, "more", more, false)
			return err
		})
	})
}

// TestDependencyProjectCountsMatchRows checks that the listed projects and counts match the rows for
// several filters, in pages.
func TestDependencyProjectCountsMatchRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		d.world()
		for _, f := range []model.DependencyFilter{
			{},
			{Licenses: []string{"mit"}},
			{Name: "many"},
			{Name: "react", Licenses: []string{"ISC"}},
			{Lockfile: "dir3/poetry.lock"},
			{Projects: model.ProjectGlobs{"acme/p1*"}},
			{Transitivities: []model.Transitivity{model.Direct}},
			{Licenses: []string{"none"}},
			{Lockfile: "nul\x00"},
		} {
			want, got := map[int64]int{}, map[int64]int{}
			for _, dependency := range d.dependencies(f) {
				want[dependency.ProjectID]++
			}
			var order []int64
			after := int64(0)
			for more := true; more; {
				d.view(func(ctx context.Context, tx *store.Tx) error {
					list, m, err := tx.DependencyProjects(ctx, f, after, 3)
					more = m
					for _, p := range list {
						got[p.ID], after = p.Dependencies, p.ID
						order = append(order, p.ID)
					}
					return err
				})
			}
			same(t, fmt.Sprintf("projects of %+v", f), got, want)
			if !slices.IsSorted(order) {
				t.Errorf("%+v: out of order: %v", f, order)
			}
		}
	})
}
