package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestInventoriesOnRealStores checks that the newest statement about each lockfile is in force,
// regardless of the order of uploads (docs/reference/lockfiles.md). Unchanged rows retain their
// ids, and new ones have greater ids than all earlier ones (docs/reference/dependencies.md).
func TestInventoriesOnRealStores(t *testing.T) {
	storetest.Checks(t, *storeChecks)
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			tenants := 0
			rapid.Check(t, func(t *rapid.T) {
				tenants++
				d, err := s.CreateDeployment(t.Context(), fmt.Sprint("tenant-", tenants), "", storetest.Actor)
				if err != nil {
					t.Fatal(err)
				}
				y := yard{t: t, store: s, tenant: d.ID, scanned: map[string]bool{}, stated: map[string]*modelStatement{}, ids: map[string]int64{}}
				for range rapid.IntRange(1, 10).Draw(t, "steps") {
					clock.Advance(time.Minute)
					y.step(clock.Now())
				}
			})
		})
	}
}

// yard is a project with lockfiles on two branches, in a store and in a model.
type yard struct {
	t        *rapid.T
	store    *store.Store
	tenant   int64
	project  int64
	scanned  map[string]bool            // refs
	stated   map[string]*modelStatement // by ref and lockfile
	ids      map[string]int64           // of rows, by ref, lockfile and package
	greatest int64
}

type modelStatement struct {
	ref, lockfile, source string
	at                    time.Time
	rows                  []string // package and version
}

var (
	yardRefs  = []string{"refs/heads/main", "refs/heads/dev"}
	lockfiles = []string{"a.lock", "b.lock", "c.lock"}
)

func (y *yard) update(fn func(ctx context.Context, tx *store.Tx) error) {
	if err := y.store.Update(y.t.Context(), y.tenant, storetest.Actor, fn); err != nil {
		y.t.Fatal(err)
	}
}

func (y *yard) step(now time.Time) {
	ref := rapid.SampledFrom(yardRefs).Draw(y.t, "ref")
	switch people := rapid.IntRange(0, 9).Draw(y.t, "people"); {
	case people == 0 && y.project != 0:
		y.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.UpdateProject(ctx, y.project, store.ProjectPatch{PrimaryBranch: &ref})
			return err
		})
	case people == 1 && y.scanned[ref]:
		y.deleteRef(ref)
	default:
		y.upload(y.drawUpload(ref, now))
		y.scanned[ref] = true
	}
	y.check()
}

// deleteRef deletes a branch unless it is the primary one.
func (y *yard) deleteRef(ref string) {
	y.update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.Project(ctx, y.project)
		if err != nil || p.Primary() == ref {
			return err
		}
		maps.DeleteFunc(y.stated, func(_ string, statement *modelStatement) bool { return statement.ref == ref })
		return tx.DeleteRef(ctx, y.project, ref)
	})
}

// drawUpload draws a scan of a branch for lockfiles, with random options.
func (y *yard) drawUpload(ref string, now time.Time) Upload {
	t := y.t
	r := &model.Report{Tool: rapid.SampledFrom([]string{"semgrep", "syft"}).Draw(t, "tool"), Products: model.Products(0).With(model.SCA)}
	u := Upload{Project: model.Project{Name: "acme/payments"}, Ref: ref, Report: r}
	u.Full = rapid.Bool().Draw(t, "full")
	u.DeclaredFull = u.Full && rapid.Bool().Draw(t, "declared")
	r.Failed = rapid.IntRange(0, 9).Draw(t, "failed") == 0
	r.StartedAt = now.Add(-time.Duration(rapid.IntRange(0, 4).Draw(t, "ago")) * time.Minute)
	if rapid.Bool().Draw(t, "tells paths") {
		r.Searched = some(t, lockfiles, "searched")
	}
	if rapid.IntRange(0, 3).Draw(t, "skips") == 0 {
		r.Skipped = some(t, lockfiles, "skipped")
	}
	if rapid.IntRange(0, 4).Draw(t, "no supply chain") == 0 {
		r.Products = model.Products(0).With(model.SAST)
		return u
	}
	r.Inventories = []model.Inventory{}
	for _, path := range some(t, lockfiles, "stated") {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p", "q", "r"}), 0, 3, rapid.ID).Draw(t, "held")
		inventory := model.Inventory{Lockfile: path}
		for _, name := range names {
			version := rapid.SampledFrom([]string{"1", "2"}).Draw(t, "version")
			inventory.Dependencies = append(inventory.Dependencies, model.Dependency{Ecosystem: "npm", Name: name, Version: version})
		}
		r.Inventories = append(r.Inventories, inventory)
	}
	return u
}

// upload applies a report to the store and, if it counts, to the model.
func (y *yard) upload(u Upload) {
	var sum Summary
	y.update(func(ctx context.Context, tx *store.Tx) (err error) {
		sum, err = Apply(ctx, tx, exceptions.ForImport{Store: tx}, u)
		return err
	})
	y.project = sum.ProjectID
	if sum.Repeat || sum.Outcome != model.ScanApplied {
		return
	}
	r, started := u.Report, u.Report.StartedAt
	for _, inventory := range r.Inventories {
		key := u.Ref + " " + inventory.Lockfile
		if before := y.stated[key]; before != nil && started.Before(before.at) {
			continue
		}
		statement := &modelStatement{ref: u.Ref, lockfile: inventory.Lockfile, source: r.Tool, at: started}
		for _, d := range inventory.Dependencies {
			statement.rows = append(statement.rows, d.Name+"@"+d.Version)
		}
		y.stated[key] = statement
	}
	if !u.Full || r.Failed || r.Inventories == nil || r.Searched == nil && !u.DeclaredFull {
		return
	}
	for key, statement := range y.stated {
		stated := slices.ContainsFunc(r.Inventories, func(i model.Inventory) bool { return i.Lockfile == statement.lockfile })
		if statement.ref == u.Ref && statement.source == r.Tool && !statement.at.After(started) && !stated &&
			!slices.Contains(r.Searched, statement.lockfile) && !slices.Contains(r.Skipped, statement.lockfile) {
			delete(y.stated, key)
		}
	}
}

// check compares the inventories in force on each branch and the listed ones.
func (y *yard) check() {
	if y.project == 0 {
		return
	}
	err := y.store.View(y.t.Context(), y.tenant, func(ctx context.Context, tx *store.Tx) error {
		ids := map[string]int64{}
		for _, ref := range yardRefs {
			rows, err := tx.AllDependencies(ctx, y.project, ref)
			if err != nil {
				return err
			}
			y.compare(ref, rows, ids)
		}
		y.ids = ids
		for _, id := range ids {
			y.greatest = max(y.greatest, id)
		}
		p, err := tx.Project(ctx, y.project)
		if err != nil {
			return err
		}
		listed, _, err := tx.Dependencies(ctx, model.DependencyFilter{}, 0, 1000)
		y.compare(p.Primary(), listed, map[string]int64{})
		return err
	})
	if err != nil {
		y.t.Fatal(err)
	}
}

// compare checks the rows of a branch against the model, and records their ids.
func (y *yard) compare(ref string, rows []model.Dependency, ids map[string]int64) {
	want, got := []string{}, []string{}
	for _, statement := range y.stated {
		for _, row := range statement.rows {
			if statement.ref == ref {
				want = append(want, statement.lockfile+" "+row)
			}
		}
	}
	for _, d := range rows {
		row := d.Lockfile + " " + d.Name + "@" + d.Version
		got = append(got, row)
		before, stayed := y.ids[ref+" "+row]
		if stayed && d.ID != before || !stayed && d.ID <= y.greatest {
			y.t.Fatalf("%s on %s has id %d, before %d; the greatest was %d", row, ref, d.ID, before, y.greatest)
		}
		ids[ref+" "+row] = d.ID
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		y.t.Fatalf("in force on %s (-model +got):\n%s", ref, diff)
	}
}
