package bench

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

const (
	listedRows = 350_000 // stored dependencies; a hundredth with -short
	listedPage = 1000
	listedRefs = 301
)

// BenchmarkDependencyFilters reads a page of 1,000 of 350,000 dependencies with filters that match
// many, few and none. The shapes are 350 projects, one project with 301 refs, and lockfiles in
// which all packages and licenses differ. The baseline is reading as many rows by id with the same
// driver.
func BenchmarkDependencyFilters(b *testing.B) {
	n := listedRows
	if testing.Short() {
		n /= 100
	}
	for _, engine := range storetest.Engines {
		for _, shape := range []struct {
			name       string
			inventory  func(i int) (project int, ref string)
			dependency func(i int) model.Dependency
		}{
			{"350 projects", func(i int) (int, string) { return i, "refs/heads/main" }, commonDependency},
			{"301 refs", func(i int) (int, string) {
				return 0, []string{"refs/heads/main", fmt.Sprint("refs/heads/", i)}[min(i%listedRefs, 1)]
			}, commonDependency},
			{"all different", func(i int) (int, string) { return i, "refs/heads/main" }, differentDependency},
		} {
			b.Run(engine+"/"+shape.name, func(b *testing.B) {
				l := newListed(b, engine)
				l.fill(n, shape.inventory, shape.dependency)
				for _, f := range listedFilters {
					b.Run(f.name, func(b *testing.B) { l.page(b, f.filter, f.last) })
				}
			})
		}
	}
}

// listedFilters contains the measured filters.
var listedFilters = []struct {
	name   string
	filter model.DependencyFilter
	last   bool // the last page
}{
	{"all", model.DependencyFilter{}, false},
	{"all, last page", model.DependencyFilter{}, true},
	{"licence of none", model.DependencyFilter{Licenses: []string{"WTFPL"}}, false},
	{"licence of half", model.DependencyFilter{Licenses: []string{"MIT"}}, false},
	{"name of few", model.DependencyFilter{Name: "package-777"}, false},
	{"name of half", model.DependencyFilter{Name: "even"}, false},
	{"halves that do not meet", model.DependencyFilter{Name: "odd", Licenses: []string{"MIT"}}, false},
	{"no version so high", model.DependencyFilter{Packages: []model.PackageFilter{{Name: "package", Lower: "900.0.0"}}}, false},
	{"no such kind", model.DependencyFilter{Transitivities: []model.Transitivity{model.TransitivityUnknown}}, false},
	{"projects of a token", model.DependencyFilter{Projects: model.ProjectGlobs{"acme/service-1*"}, Licenses: []string{"WTFPL"}}, false},
}

// commonDependency returns a version of one of 10,000 packages with four versions each. The license
// depends on whether the number of the package is even.
func commonDependency(i int) model.Dependency {
	p := (i*7919 + i/1000*31) % 10_000
	return model.Dependency{
		Ecosystem: "npm", Name: fmt.Sprint([]string{"even", "odd"}[p%2], "-package-", p), Version: fmt.Sprintf("1.%d.0", i/1000%4),
		Licenses: [][]string{{"MIT"}, {"(Apache-2.0 OR BSD-3-Clause)"}}[p%2], Transitivity: model.Direct + model.Transitivity(i%2),
	}
}

// differentDependency returns a dependency with a unique package, version and license.
func differentDependency(i int) model.Dependency {
	return model.Dependency{
		Ecosystem: "npm", Name: fmt.Sprint([]string{"even", "odd"}[i%2], "-package-", i), Version: fmt.Sprintf("1.%d.%d", i/1000, i%1000),
		Licenses: []string{[]string{"MIT", "Apache-2.0"}[i%2], fmt.Sprint("LicenseRef-", i)}, Transitivity: model.Direct + model.Transitivity(i%2),
	}
}

// listed is a store with dependencies to list.
type listed struct {
	b          *testing.B
	store      *store.Store
	db         *sql.DB
	deployment model.Deployment
}

func newListed(b *testing.B, engine string) *listed {
	b.Helper()
	c := storetest.Database(b, engine, nil)
	c.Clock = time.Now
	l := &listed{b: b, store: storetest.Open(b, c)}
	l.deployment = storetest.Deployment(b, l.store)
	driver, source := "pgx", c.DatabaseURL
	if source == "" {
		driver, source = "sqlite", filepath.Join(c.Dir, store.FileName)
	}
	var err error
	l.db, err = sql.Open(driver, source)
	l.check(err)
	b.Cleanup(func() { l.db.Close() })
	return l
}

func (l *listed) check(err error) {
	l.b.Helper()
	if err != nil {
		l.b.Fatal(err)
	}
}

// fill stores lockfiles with 1,000 dependencies each.
func (l *listed) fill(n int, inventory func(int) (int, string), dependency func(int) model.Dependency) {
	l.b.Helper()
	projects := map[int]model.Project{}
	for i := range n / perLockfile {
		at, ref := inventory(i)
		l.check(l.store.Update(l.b.Context(), l.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
			p, known := projects[at]
			if !known {
				if p, err = tx.ProjectForScan(ctx, nil, model.Project{Name: fmt.Sprint("acme/service-", at)}); err != nil {
					return err
				}
				projects[at] = p
			}
			s := model.InventoryStatement{ProjectID: p.ID, Ref: ref, Source: "bench", At: tx.Now(), Inventory: model.Inventory{Lockfile: fmt.Sprintf("part-%d/package-lock.json", i)}}
			for j := range perLockfile {
				s.Inventory.Dependencies = append(s.Inventory.Dependencies, dependency(i*perLockfile+j))
			}
			_, _, err = tx.PutInventory(ctx, s)
			return err
		}))
	}
	_, err := l.db.Exec(`ANALYZE`)
	l.check(err)
}

// page reads the first or the last page of a filter.
func (l *listed) page(b *testing.B, f model.DependencyFilter, last bool) {
	after := int64(0)
	if last {
		l.check(l.db.QueryRow(`SELECT MIN(id) FROM (SELECT d.id FROM dependency d JOIN inventory i ON i.deployment_id = d.deployment_id AND i.id = d.inventory_id
			WHERE d.deployment_id = $1 AND i.ref = 'refs/heads/main' ORDER BY d.id DESC LIMIT $2) AS last_ones`, l.deployment.ID, listedPage/2).Scan(&after))
	}
	compare(b, timed(func() {
		l.check(l.store.View(b.Context(), l.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
			_, _, err := tx.Dependencies(ctx, f, after, listedPage)
			return err
		}))
	}), limit{unit: perLimit, run: timed(func() {
		rows, err := l.db.Query(`SELECT * FROM dependency WHERE deployment_id = $1 ORDER BY id LIMIT $2`, l.deployment.ID, listedPage)
		l.check(err)
		defer rows.Close()
		columns, err := rows.Columns()
		l.check(err)
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			l.check(rows.Scan(into...))
		}
		l.check(rows.Err())
	})})
}
