package store_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// dep returns a direct dependency.
func dep(ecosystem, name, version string, licenses ...string) model.Dependency {
	return model.Dependency{Ecosystem: ecosystem, Name: name, Version: version, Transitivity: model.Direct, Licenses: licenses}
}

// statement returns a statement about a lockfile on a project's main branch.
func statement(p model.Project, lockfile string, dependencies ...model.Dependency) model.InventoryStatement {
	return model.InventoryStatement{
		ProjectID: p.ID, Ref: "refs/heads/main", Source: "semgrep", ScanID: 1, At: storetest.Epoch,
		Inventory: model.Inventory{Lockfile: lockfile, Dependencies: dependencies},
	}
}

// state stores a statement and returns the numbers of added and removed rows.
func (d tenant) state(s model.InventoryStatement) (added, removed int) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		added, removed, err = tx.PutInventory(ctx, s)
		return err
	})
	return added, removed
}

// dependencies returns all matches of a filter in one page.
func (d tenant) dependencies(f model.DependencyFilter) (list []model.Dependency) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		page, more, err := tx.Dependencies(ctx, f, 0, 100_000)
		if list = page; more {
			d.t.Errorf("more than %d dependencies", len(page))
		}
		return err
	})
	return list
}

// byVersion returns the ids of rows by name@version.
func byVersion(list []model.Dependency) map[string]int64 {
	ids := map[string]int64{}
	for _, d := range list {
		ids[d.Name+"@"+d.Version] = d.ID
	}
	return ids
}

// TestInventoryRetainsUnknownPackages checks that rows of unknown packages stay. A scanner lists the modules of a
// go.mod without the standard library, which only the reader of the lockfile reports.
func TestInventoryRetainsUnknownPackages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		complete := func(version string) model.InventoryStatement {
			return statement(p, "go.mod", dep("gomod", "stdlib", version), dep("gomod", "a", "1"))
		}
		modules := statement(p, "go.mod", dep("gomod", "a", "2"))
		modules.Inventory.UnknownPackages = []string{"stdlib"}
		listed := func(want ...string) {
			t.Helper()
			same(t, "dependencies", slices.Sorted(maps.Keys(byVersion(d.dependencies(model.DependencyFilter{})))), want)
		}
		d.state(modules)
		listed("a@2")
		d.state(complete("1.22"))
		before := byVersion(d.dependencies(model.DependencyFilter{}))["stdlib@1.22"]
		d.state(modules)
		listed("a@2", "stdlib@1.22")
		same(t, "id", byVersion(d.dependencies(model.DependencyFilter{}))["stdlib@1.22"], before)
		d.state(complete("1.23"))
		listed("a@1", "stdlib@1.23")
		d.state(statement(p, "go.mod", dep("gomod", "a", "1")))
		listed("a@1")
	})
}

func TestInventoryRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		want := model.Dependency{
			Ecosystem: "npm", Name: "@angular/core", Version: "17.0.0-rc.1", Transitivity: model.Transitive, Line: 12,
			Licenses: []string{"MIT OR Apache-2.0"}, PURL: "pkg:npm/%40angular/core@17.0.0-rc.1",
			Hashes: []model.Hash{{Algorithm: "SHA-256", Hex: "00ff"}},
		}
		hostile := dep("np\x00m", "left\xffpad", "1\x00")
		stated := statement(p, "web/package-lock.json", want, hostile, hostile)
		stated.Commit = "c0ffee"
		d.state(stated)
		list := d.dependencies(model.DependencyFilter{})
		if len(list) != 2 {
			t.Fatalf("%d rows: %+v", len(list), list)
		}
		want.ID, want.ProjectID, want.Lockfile = list[0].ID, p.ID, "web/package-lock.json"
		want.RepositoryURL, want.Ref, want.Commit = p.URL, "refs/heads/main", "c0ffee"
		same(t, "dependency", list[0], want)
		same(t, "hostile name", list[1].Name, "left\uFFFDpad")
		if list[1].Licenses == nil {
			t.Error("licences are nil")
		}
	})
}

// TestInventoryMergesRepeats checks that duplicates in a lockfile are one row with the fields of
// both.
func TestInventoryMergesRepeats(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		first, second := dep("npm", "a", "1"), dep("npm", "a", "1", "MIT")
		first.Transitivity, first.PURL = model.Transitive, "pkg:npm/a@1"
		second.Line, second.PURL = 7, "pkg:npm/other@1"
		d.state(statement(d.project("acme/payments"), "package-lock.json", first, second))
		list := d.dependencies(model.DependencyFilter{})
		if len(list) != 1 {
			t.Fatalf("%d rows", len(list))
		}
		got := list[0]
		if got.Transitivity != model.Direct || got.Line != 7 || got.PURL != "pkg:npm/a@1" || !slices.Equal(got.Licenses, []string{"MIT"}) {
			t.Errorf("merged: %+v", got)
		}
	})
}

func TestNewestInventoryApplies(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		one := statement(p, "package-lock.json", dep("npm", "a", "1"), dep("npm", "b", "1"))
		one.Digest = model.Digest{1}
		if added, removed := d.state(one); added != 2 || removed != 0 {
			t.Errorf("first: %d came, %d went", added, removed)
		}
		before := byVersion(d.dependencies(model.DependencyFilter{}))

		older := statement(p, "package-lock.json", dep("npm", "z", "1"))
		older.At, older.Digest = one.At.Add(-time.Second), model.Digest{9}
		if added, removed := d.state(older); added != 0 || removed != 0 {
			t.Errorf("older: %d came, %d went", added, removed)
		}
		same(t, "after an older statement", byVersion(d.dependencies(model.DependencyFilter{})), before)

		// An equal statement of another source changes only the source.
		equal := one
		equal.Source, equal.ScanID, equal.At = "trivy", 2, one.At.Add(time.Second)
		if added, removed := d.state(equal); added != 0 || removed != 0 {
			t.Errorf("equal: %d came, %d went", added, removed)
		}
		same(t, "drop by the first source", d.drop(p, "semgrep"), []string{})
		between := older
		between.At = one.At.Add(time.Millisecond)
		d.state(between)
		same(t, "after a statement before the equal one", byVersion(d.dependencies(model.DependencyFilter{})), before)

		newer := statement(p, "package-lock.json", dep("npm", "b", "1"), dep("npm", "b", "2"))
		newer.At = one.At.Add(time.Hour)
		if added, removed := d.state(newer); added != 1 || removed != 1 {
			t.Errorf("newer: %d came, %d went", added, removed)
		}
		after := byVersion(d.dependencies(model.DependencyFilter{}))
		if after["b@1"] != before["b@1"] || after["b@2"] <= before["b@1"] || len(after) != 2 {
			t.Errorf("ids were %v, are %v", before, after)
		}
	})
}

// drop deletes the statements of a source about the main branch and returns the paths.
func (d tenant) drop(p model.Project, source string, exclude ...string) (paths []string) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		var dependencies int
		paths, dependencies, err = tx.DropInventories(ctx, p.ID, "refs/heads/main", source, tx.Now(), exclude)
		if dependencies != len(paths) { // each test lockfile has one dependency
			d.t.Errorf("%d dependencies went with %v", dependencies, paths)
		}
		return err
	})
	return paths
}

func TestDropInventories(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		for _, path := range []string{"b.lock", "a.lock", "kept.lock"} {
			d.state(statement(p, path, dep("npm", path, "1")))
		}
		foreign := statement(p, "other-source.lock", dep("npm", "other", "1"))
		foreign.Source = "syft"
		d.state(foreign)
		ref := statement(p, "a.lock", dep("npm", "branch", "1"))
		ref.Ref = "refs/heads/topic"
		d.state(ref)
		later := statement(p, "later.lock", dep("npm", "later", "1"))
		later.At = later.At.Add(time.Hour)
		d.state(later)

		same(t, "dropped", d.drop(p, "semgrep", "kept.lock", "other-source.lock"), []string{"a.lock", "b.lock"})
		same(t, "dropped again", d.drop(p, "semgrep", "kept.lock"), []string{})
		left := slices.Sorted(maps.Keys(byVersion(d.dependencies(model.DependencyFilter{}))))
		same(t, "left", left, []string{"kept.lock@1", "later@1", "other@1"})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			branch, err := tx.AllDependencies(ctx, p.ID, "refs/heads/topic")
			same(t, "on the branch", len(branch), 1)
			return err
		})
	})
}

// TestInventoryIDsAreStable checks random lockfiles. Rows that stay must keep their ids, new ids
// must be greater than all earlier ones, and the list must match the last statement.
func TestInventoryIDsAreStable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		lockfiles := 0
		rapid.Check(t, func(rt *rapid.T) {
			lockfiles++
			d := tenant{rt, d.s, d.id}
			p := d.project("acme/payments")
			path := time.Duration(lockfiles).String()
			dependencies := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.Dependency {
				entry := dep("npm", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "version"))
				entry.Line = rapid.IntRange(0, 2).Draw(t, "line")
				return entry
			}), 0, 6)
			ids, greatest := map[string]int64{}, int64(0)
			for i := range rapid.IntRange(1, 4).Draw(rt, "statements") {
				inventory := statement(p, path, dependencies.Draw(rt, "held")...)
				inventory.At = inventory.At.Add(time.Duration(i) * time.Second)
				d.state(inventory)
				now := byVersion(d.dependencies(model.DependencyFilter{Lockfile: path}))
				want := map[string]bool{}
				for _, entry := range inventory.Inventory.Dependencies {
					want[entry.Name+"@"+entry.Version] = true
				}
				if len(now) != len(want) {
					rt.Fatalf("said %v, listed %v", want, now)
				}
				for key, id := range now {
					before, stayed := ids[key]
					if !want[key] || stayed && id != before || !stayed && id <= greatest {
						rt.Fatalf("%s: id %d, before %d; the greatest was %d", key, id, before, greatest)
					}
				}
				ids = now
				for _, id := range now {
					greatest = max(greatest, id)
				}
			}
		})
	})
}
