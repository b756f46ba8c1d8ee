package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/version"
)

// Names, versions and licenses in the lockfiles of world, for filters.
var (
	worldNames    = []string{"lodash", "Lodash", "lodash.merge", "react", "@a/react-dom", "left-pad"}
	worldVersions = []string{"1.0.0", "1.2.0", "1.10.0", "2.0.0-rc.1", "2.0.0", "latest", "10"}
	worldLicenses = [][]string{nil, {"MIT"}, {"MIT-0"}, {"(MIT OR Apache-2.0)"}, {"Apache-2.0", "ISC"}}
)

// manyVersions exceeds the number of versions that are looked up by id.
const manyVersions = 1100

// world states lockfiles of many projects, with rows on other refs too. It returns the dependencies
// on primary branches in the order of their ids, and the projects' names.
func (d tenant) world() (inForce []model.Dependency, names map[int64]string) {
	names = map[int64]string{}
	n := 0
	inventory := func(p model.Project, lockfile string, count int) model.InventoryStatement {
		s := statement(p, lockfile)
		for range count {
			entry := dep([]string{"npm", "pypi", "opam"}[n%3], worldNames[n%len(worldNames)], worldVersions[n%len(worldVersions)], worldLicenses[n%len(worldLicenses)]...)
			entry.Transitivity = []model.Transitivity{0, model.Direct, model.Transitive, model.TransitivityUnknown}[n%4]
			s.Inventory.Dependencies = append(s.Inventory.Dependencies, entry)
			n++
		}
		return s
	}
	d.update(func(ctx context.Context, tx *store.Tx) error {
		for i := range 70 {
			p, err := tx.ProjectForScan(ctx, nil, model.Project{Name: fmt.Sprintf("%s/p%d", []string{"acme", "other"}[i%2], i)})
			if err != nil {
				return err
			}
			names[p.ID] = p.Name
			branch := inventory(p, "package-lock.json", 3)
			branch.Ref = "refs/heads/topic"
			for _, s := range []model.InventoryStatement{inventory(p, "package-lock.json", 5), branch, inventory(p, fmt.Sprintf("dir%d/poetry.lock", i%5), 2)} {
				if i == 0 && s.Ref != branch.Ref && s.Inventory.Lockfile == "package-lock.json" {
					for v := range manyVersions {
						s.Inventory.Dependencies = append(s.Inventory.Dependencies, dep("npm", "many", fmt.Sprintf("3.%d.0", v), "MIT"))
					}
				}
				if _, _, err := tx.PutInventory(ctx, s); err != nil {
					return err
				}
				for _, entry := range s.Inventory.Dependencies {
					entry.ProjectID, entry.Lockfile = p.ID, s.Inventory.Lockfile
					if s.Ref != branch.Ref {
						inForce = append(inForce, entry)
					}
				}
			}
		}
		return nil
	})
	return inForce, names
}

// matchesDependencyFilter is a simple implementation of the filter.
func matchesDependencyFilter(f model.DependencyFilter, d model.Dependency, project string) bool {
	contains := func(text, part string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(part)) }
	if !contains(d.Name, f.Name) || f.Version != "" && f.Version != d.Version || f.Lockfile != "" && f.Lockfile != d.Lockfile {
		return false
	}
	if len(f.Ecosystems) > 0 && !slices.Contains(f.Ecosystems, d.Ecosystem) {
		return false
	}
	if len(f.Transitivities) > 0 && !slices.Contains(f.Transitivities, cmp.Or(d.Transitivity, model.TransitivityUnknown)) {
		return false
	}
	if len(f.ProjectIDs) > 0 && !slices.Contains(f.ProjectIDs, d.ProjectID) || !f.Projects.Allows(project) {
		return false
	}
	// The expressions of world separate licenses by spaces and parentheses.
	words := strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(strings.Join(d.Licenses, " ")))
	if len(f.Licenses) > 0 && !slices.ContainsFunc(f.Licenses, func(l string) bool { return slices.Contains(words, l) }) {
		return false
	}
	order := version.OrderOf(d.Ecosystem)
	return len(f.Packages) == 0 || slices.ContainsFunc(f.Packages, func(p model.PackageFilter) bool {
		switch {
		case p.ExactName && p.Name != d.Name, !p.ExactName && !contains(d.Name, p.Name):
			return false
		case p.Version != "":
			return p.Version == d.Version
		case p.Lower == "" && p.Upper == "":
			return true
		}
		return order.IsVersion(d.Version) && (p.Lower == "" || order.IsVersion(p.Lower) && order.Compare(d.Version, p.Lower) >= 0) &&
			(p.Upper == "" || order.Compare(d.Version, strings.TrimPrefix(p.Upper, "<")) < 0)
	})
}

// anyFilter draws filters that match some rows.
func anyFilter(projects map[int64]string) *rapid.Generator[model.DependencyFilter] {
	ids := slices.Sorted(maps.Keys(projects))
	sometimes := func(t *rapid.T, label string, values ...string) string {
		return rapid.SampledFrom(append(make([]string, len(values)+1), values...)).Draw(t, label)
	}
	return rapid.Custom(func(t *rapid.T) model.DependencyFilter {
		f := model.DependencyFilter{
			Name:     sometimes(t, "name", "LODASH", "react", "many", "none"),
			Version:  sometimes(t, "version", "1.2.0"),
			Lockfile: sometimes(t, "lockfile", "package-lock.json", "dir3/poetry.lock", "gone.lock"),
		}
		if rapid.IntRange(0, 2).Draw(t, "licensed") == 0 {
			f.Licenses = rapid.SliceOfN(rapid.SampledFrom([]string{"MIT", "Apache-2.0", "ISC", "GPL-3.0"}), 1, 2).Draw(t, "licenses")
		}
		if rapid.IntRange(0, 2).Draw(t, "of projects") == 0 {
			f.ProjectIDs = rapid.SliceOfN(rapid.SampledFrom(append(ids, 1<<40)), 1, 3).Draw(t, "projects")
		}
		if rapid.IntRange(0, 2).Draw(t, "bound") == 0 {
			f.Projects = model.ProjectGlobs{rapid.SampledFrom([]string{"acme/*", "other/p1*", "none/*", "**"}).Draw(t, "glob")}
		}
		if rapid.IntRange(0, 3).Draw(t, "of ecosystems") == 0 {
			f.Ecosystems = rapid.SliceOfN(rapid.SampledFrom([]string{"npm", "pypi", "opam", "cargo"}), 1, 2).Draw(t, "ecosystems")
		}
		if rapid.IntRange(0, 3).Draw(t, "of kinds") == 0 {
			f.Transitivities = rapid.SliceOfN(rapid.SampledFrom([]model.Transitivity{model.Direct, model.Transitive, model.TransitivityUnknown}), 1, 2).Draw(t, "kinds")
		}
		for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "packages") {
			p := model.PackageFilter{
				Name: rapid.SampledFrom(append(worldNames, "many")).Draw(t, "package"), ExactName: rapid.Bool().Draw(t, "exact"),
				Version: sometimes(t, "exact version", "1.10.0"), Lower: sometimes(t, "lower", "1.2.0", "2.0.0-rc.1", "10"),
			}
			if upper := sometimes(t, "upper", "2.0.0", "3.7.0"); upper != "" {
				p.Upper = "<" + upper
			}
			f.Packages = append(f.Packages, p)
		}
		return f
	})
}

// described returns texts of rows without their ids.
func described(list []model.Dependency) (lines []string) {
	for _, d := range list {
		lines = append(lines, fmt.Sprintf("%d %s %s %s %s", d.ProjectID, d.Lockfile, d.Ecosystem, d.Name, d.Version))
	}
	slices.Sort(lines)
	return slices.Compact(lines) // a lockfile may contain duplicates
}

// TestDependencyFilters checks that every filter returns the same rows as keeps, for any page size,
// and that lockfile counts match.
func TestDependencyFilters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		inForce, projects := d.world()
		storetest.Checks(t, 40)
		rapid.Check(t, func(rt *rapid.T) {
			d := tenant{rt, d.s, d.id}
			f := anyFilter(projects).Draw(rt, "filter")
			var want []model.Dependency
			for _, entry := range inForce {
				if matchesDependencyFilter(f, entry, projects[entry.ProjectID]) {
					want = append(want, entry)
				}
			}
			got := d.walk(f, rapid.SampledFrom([]int{7, 100, 5000}).Draw(rt, "page"))
			if listed, wanted := described(got), described(want); !slices.Equal(listed, wanted) {
				rt.Fatalf("%d rows kept, want %d:\n%s\nwant\n%s", len(listed), len(wanted), strings.Join(listed, "\n"), strings.Join(wanted, "\n"))
			}
			d.countsLockfiles(f, got)
		})
	})
}

// walk returns all pages of a filter.
func (d tenant) walk(f model.DependencyFilter, limit int) (list []model.Dependency) {
	d.t.Helper()
	after := int64(0)
	for more := true; more; {
		var page []model.Dependency
		d.view(func(ctx context.Context, tx *store.Tx) (err error) {
			page, more, err = tx.Dependencies(ctx, f, after, limit)
			return err
		})
		for _, entry := range page {
			if entry.ID <= after {
				d.t.Fatalf("id %d comes after %d", entry.ID, after)
			}
			after = entry.ID
		}
		if len(page) > limit || more && len(page) < limit {
			d.t.Fatalf("a page of %d rows, limit %d, more %v", len(page), limit, more)
		}
		list = append(list, page...)
	}
	return list
}

// countsLockfiles compares the lockfile summaries of the first project with the rows.
func (d tenant) countsLockfiles(f model.DependencyFilter, rows []model.Dependency) {
	d.t.Helper()
	if len(rows) == 0 {
		return
	}
	project := rows[0].ProjectID
	want, got := map[string]int{}, map[string]int{}
	for _, r := range rows {
		if r.ProjectID == project {
			want[r.Lockfile]++
		}
	}
	d.view(func(ctx context.Context, tx *store.Tx) error {
		after := int64(0)
		for more := true; more; {
			page, m, err := tx.Lockfiles(ctx, project, f, after, 1)
			if more = m; err != nil {
				return err
			}
			for _, l := range page {
				got[l.Path] += l.Dependencies
				after = l.ID
			}
		}
		return nil
	})
	if !maps.Equal(got, want) {
		d.t.Fatalf("lockfiles %v, want %v", got, want)
	}
}

func TestInvalidDependencyBounds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		f := model.DependencyFilter{Packages: []model.PackageFilter{{Lower: "1"}, {Lower: ">=", Upper: "1 < 2"}}}
		err := s.View(t.Context(), d.id, func(ctx context.Context, tx *store.Tx) error {
			_, _, err := tx.Dependencies(ctx, f, 0, 10)
			return err
		})
		var bad *model.InvalidError
		if !errors.As(err, &bad) {
			t.Fatalf("error %v", err)
		}
		var locations []string
		for _, field := range bad.Fields {
			locations = append(locations, field.Location)
		}
		const entry = "body.dependencyFilter.packageFilters[1]."
		same(t, "places", locations, []string{entry + "versionLowerBound", entry + "versionUpperBound"})
	})
}

// TestDependencyPagesDuringChanges checks that paging neither repeats nor skips rows that stay
// while other rows change.
func TestDependencyPagesDuringChanges(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		var stays, removed []model.Dependency
		for i := range 60 {
			if name := fmt.Sprintf("p%02d", i); i%3 == 0 {
				removed = append(removed, dep("npm", name, "1"))
			} else {
				stays = append(stays, dep("npm", name, "1"))
			}
		}
		inventory := statement(p, "package-lock.json", append(slices.Clone(stays), removed...)...)
		d.state(inventory)
		seen := map[string]int{}
		after, more := int64(0), true
		for step := 0; more; step++ {
			d.view(func(ctx context.Context, tx *store.Tx) error {
				page, m, err := tx.Dependencies(ctx, model.DependencyFilter{}, after, 9)
				more = m
				for _, entry := range page {
					seen[entry.Name]++
					after = entry.ID
				}
				return err
			})
			if step < 4 { // a scan replaces some rows
				removed = removed[min(len(removed), 5):]
				inventory.At = inventory.At.Add(1)
				stays = append(stays, dep("npm", fmt.Sprintf("new%d", step), "1"))
				inventory.Inventory.Dependencies = append(slices.Clone(stays), removed...)
				d.state(inventory)
			}
		}
		for name, times := range seen {
			if times != 1 {
				t.Errorf("%s came %d times", name, times)
			}
		}
		for _, entry := range stays {
			if seen[entry.Name] == 0 {
				t.Errorf("%s was lost", entry.Name)
			}
		}
	})
}

// TestDependenciesFollowPrimaryBranch checks that dependencies follow a change of the primary
// branch.
func TestDependenciesFollowPrimaryBranch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		d.state(statement(p, "a.lock", dep("npm", "main", "1")))
		topic := statement(p, "a.lock", dep("npm", "topic", "1"))
		topic.Ref = "refs/heads/topic"
		d.state(topic)
		same(t, "on main", slices.Collect(maps.Keys(byVersion(d.dependencies(model.DependencyFilter{})))), []string{"main@1"})
		branch := "refs/heads/topic"
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.UpdateProject(ctx, p.ID, store.ProjectPatch{PrimaryBranch: &branch})
			return err
		})
		same(t, "on topic", slices.Collect(maps.Keys(byVersion(d.dependencies(model.DependencyFilter{ProjectIDs: []int64{p.ID}})))), []string{"topic@1"})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			primary, err := tx.AllDependencies(ctx, p.ID, "")
			d.check(err)
			same(t, "all of the primary branch", slices.Collect(maps.Keys(byVersion(primary))), []string{"topic@1"})
			_, err = tx.AllDependencies(ctx, 1<<40, "")
			fails(t, "all of an unknown project", err, model.ErrNotFound)
			return nil
		})
	})
}

func TestDependenciesOfOtherTenantsAreHidden(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		noise := d.noise()
		foreign := noise.dependencies(model.DependencyFilter{})
		if len(foreign) == 0 {
			t.Fatal("the noisy tenant makes no noise")
		}
		project := foreign[0].ProjectID
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, _, err := tx.Dependencies(ctx, model.DependencyFilter{ProjectIDs: []int64{project}}, 0, 10)
			d.check(err)
			same(t, "dependencies", list, []model.Dependency{})
			lockfiles, _, err := tx.Lockfiles(ctx, project, model.DependencyFilter{}, 0, 10)
			d.check(err)
			same(t, "lockfiles", lockfiles, []model.LockfileSummary{})
			_, err = tx.AllDependencies(ctx, project, "")
			fails(t, "all dependencies", err, model.ErrNotFound)
			return nil
		})
		same(t, "dropped", d.drop(model.Project{ID: project}, "semgrep"), []string{})
		same(t, "their rows", noise.dependencies(model.DependencyFilter{}), foreign)
	})
}
