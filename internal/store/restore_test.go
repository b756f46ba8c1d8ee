package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// lose resets the deployment to an earlier version, like the restore of a backup while readers
// continue.
func (d tenant) lose(to int64) {
	d.t.Helper()
	d.check(d.s.ExecRaw(d.t.Context(), fmt.Sprintf("DELETE FROM change WHERE deployment_id = %d AND version > %d", d.id, to)))
	d.check(d.s.ExecRaw(d.t.Context(), fmt.Sprintf("UPDATE deployment SET version = %d WHERE id = %d", to, d.id)))
}

// TestLostVersionsAreNotReused checks that commits after a restore do not reuse lost versions,
// and that the feed rejects lost versions.
func TestLostVersionsAreNotReused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		d.findings(p, 1, nil)
		restored := d.version()
		var lost []int64
		for range 5 {
			d.findings(p, 1, nil)
			lost = append(lost, d.version())
		}
		d.lose(restored)
		stale := func(since int64) bool {
			_, stale, err := s.Feed(t.Context(), d.id, since, func(*model.Batch) error { return nil })
			d.check(err)
			d.view(func(ctx context.Context, tx *store.Tx) error {
				if _, err := tx.ChangeSet(ctx, since); (err != nil) != stale {
					t.Errorf("the feed since %d is stale %v, and the change set says %v", since, stale, err)
				}
				return nil
			})
			return stale
		}
		for i := range 8 {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateProject(ctx, model.Project{Name: fmt.Sprint("acme/other-", i)})
				return err
			})
			if stale(restored) || stale(d.version()) {
				t.Fatalf("after %d commits the feed does not tell what changed since the restore", i+1)
			}
			for _, v := range lost {
				if v == d.version() || !stale(v) {
					t.Errorf("after %d commits the lost version %d is known, at %d", i+1, v, d.version())
				}
			}
		}
		if had, want := model.Commits(d.version()), model.Commits(restored)+8; had != want {
			t.Errorf("the version has the number %d, want %d", had, want)
		}
		if faults, _ := checked(t, s, d); faults != "" {
			t.Error(faults)
		}
	})
}

// names returns package names as read by pages, by the matching of advisories and by a filter.
func (d tenant) names(p model.Project) (pages, holdings, filtered []string) {
	d.t.Helper()
	text := func(list []model.Dependency) (out []string) {
		for _, e := range list {
			out = append(out, e.Name+"@"+e.Version)
		}
		slices.Sort(out)
		return out
	}
	pages = text(d.dependencies(model.DependencyFilter{}))
	filtered = text(d.dependencies(model.DependencyFilter{Name: "b-"}))
	d.view(func(ctx context.Context, tx *store.Tx) error {
		refHoldings, err := holdingsOfRef(ctx, tx, p.ID, "refs/heads/main", nil)
		for _, h := range refHoldings {
			for _, e := range h.Dependencies {
				holdings = append(holdings, e.Name+"@"+e.Version)
			}
		}
		slices.Sort(holdings)
		return err
	})
	return pages, holdings, filtered
}

// TestLostNamesAreNotReturned checks that names from commits lost by a restore are not returned,
// regardless of the commits that replace them.
func TestLostNamesAreNotReturned(t *testing.T) {
	cases := map[string]struct {
		lost, replacement []string
		more              int  // further commits after the restore, before the first read
		prune             bool // prune the feed too
	}{
		"one other":                {[]string{"b-safe"}, []string{"b-lodash"}, 0, false},
		"the last stays":           {[]string{"b-evil", "lodash", "zlast"}, []string{"b-abc", "lodash", "zlast"}, 0, false},
		"all others":               {[]string{"b-evil", "b-2"}, []string{"good", "b-pad"}, 0, false},
		"nothing in its place":     {[]string{"b-evil"}, nil, 0, false},
		"after more commits":       {[]string{"b-safe"}, []string{"b-lodash"}, 3, false},
		"a pruned feed":            {[]string{"b-safe"}, []string{"b-lodash"}, 2, true},
		"more packages than there": {[]string{"b-1"}, []string{"b-4", "b-3", "b-2", "5"}, 0, false},
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		for name, c := range cases {
			lock := name + ".lock"
			lockfile := func(names []string) {
				inventory := statement(p, lock)
				for _, n := range names {
					inventory.Inventory.Dependencies = append(inventory.Inventory.Dependencies, dep("npm", n+"-"+name, "1"))
				}
				d.update(func(ctx context.Context, tx *store.Tx) error {
					_, _, err := tx.PutInventory(ctx, inventory)
					d.check(err)
					refHoldings, err := holdingsOfRef(ctx, tx, p.ID, inventory.Ref, nil) // as in the matching of an upload
					for _, h := range refHoldings {
						if h.Lockfile != lock {
							continue
						}
						var got []string
						for _, e := range h.Dependencies {
							got = append(got, strings.TrimSuffix(e.Name, "-"+name))
						}
						if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(names))) {
							t.Errorf("%s: who stores %q holds %q", name, names, got)
						}
					}
					return err
				})
			}
			before, _, _ := d.names(p)
			restored, ids := d.version(), d.lastIDs()
			lockfile(c.lost)
			pages, _, _ := d.names(p) // cached from here on
			if len(pages) != len(before)+len(c.lost) {
				t.Fatalf("%s: %q before the restore", name, pages)
			}
			d.lose(restored)
			d.loseNames(lock, ids)
			lockfile(c.replacement)
			for i := range c.more {
				d.project(fmt.Sprint("acme/", name, i))
			}
			if c.prune {
				d.check(s.PruneChanges(t.Context(), d.id, 0))
			}
			want := slices.Clone(before)
			for _, n := range c.replacement {
				want = append(want, n+"-"+name+"@1")
			}
			slices.Sort(want)
			wantFiltered := slices.DeleteFunc(slices.Clone(want), func(n string) bool { return !strings.Contains(n, "b-") })
			for _, when := range []string{"first", "remembered"} {
				pages, holdings, filtered := d.names(p)
				slices.Sort(holdings)
				if !slices.Equal(pages, want) || !slices.Equal(holdings, want) || !slices.Equal(filtered, wantFiltered) {
					t.Errorf("%s, %s:\npages    %q\nholdings %q\nfiltered %q\nwant     %q", name, when, pages, holdings, filtered, want)
				}
			}
		}
	})
}

// lastIDs returns the last ids of packages and package versions.
func (d tenant) lastIDs() (last [2]int64) {
	d.t.Helper()
	for i, table := range []string{"package", "package_version"} {
		d.check(d.s.DB().QueryRowContext(d.t.Context(), `SELECT COALESCE(MAX(id), 0) FROM `+table).Scan(&last[i]))
	}
	return last
}

// loseNames deletes a lockfile and the packages after the last ids, whose ids are then reused.
func (d tenant) loseNames(lockfile string, last [2]int64) {
	d.t.Helper()
	run := func(query string, args ...any) { d.check(d.s.ExecRaw(d.t.Context(), fmt.Sprintf(query, args...))) }
	inventory := fmt.Sprintf("(SELECT id FROM inventory WHERE lockfile = '%s')", lockfile)
	for _, table := range []string{"dependency", "inventory_graph", "inventory_content"} {
		run("DELETE FROM %s WHERE inventory_id IN %s", table, inventory)
	}
	run("DELETE FROM inventory WHERE lockfile = '%s'", lockfile)
	for i, table := range []string{"package_version", "package"} {
		id := last[1-i]
		run("DELETE FROM %s WHERE id > %d", table, id)
		if d.s.Engine() == "postgres" {
			run("SELECT setval('%s_id_seq', %d)", table, max(id, 1))
		} else {
			run("UPDATE sequence SET next = %d WHERE name = '%s'", id+1, table)
		}
	}
}

// TestLostAdvisoryVersionsAreNotReused checks that loads after a restore do not reuse lost
// versions. Caches of advisories and scores are keyed by version.
func TestLostAdvisoryVersionsAreNotReused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		versions := func(name string) (got [3]int64) {
			t.Helper()
			check := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			putAdvisories(t, s, record(name, []string{"npm/a"}))
			publish(t, s)
			check(s.PutScores(t.Context(), func(func(model.EPSSScore) error) error { return nil }))
			var err error
			got[0], got[1], err = s.AdvisoryVersions(t.Context())
			check(err)
			check(s.PutExploited(t.Context(), nil))
			_, got[2], err = s.AdvisoryVersions(t.Context())
			check(err)
			return got
		}
		first := versions("A-1")
		lost := versions("B-1")
		for _, restore := range []string{
			fmt.Sprintf("UPDATE advisory_state SET version = %d, scores_version = %d", first[0], first[2]),
			fmt.Sprintf("DELETE FROM advisory_change WHERE version > %d", first[0]),
		} {
			if err := s.ExecRaw(t.Context(), restore); err != nil {
				t.Fatal(err)
			}
		}
		repeated := versions("C-1")
		for i := range repeated {
			if repeated[i] == lost[i] || repeated[i] <= first[i] || model.Commits(repeated[i]) != model.Commits(lost[i]) {
				t.Errorf("version %d after the restore, %d was lost, %d stayed", repeated[i], lost[i], first[i])
			}
		}
	})
}
