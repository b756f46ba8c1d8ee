package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// benchEach runs a benchmark on a new store of each engine.
func benchEach(b *testing.B, bench func(b *testing.B, d tenant)) {
	for _, engine := range storetest.Engines {
		b.Run(engine, func(b *testing.B) { bench(b, newTenant(b, storetest.New(b, engine))) })
	}
}

// BenchmarkAddFindings10k measures storing a first scan of 10,000 findings in one commit: lineages,
// identities, rows, bodies and changes.
func BenchmarkAddFindings10k(b *testing.B) {
	benchEach(b, func(b *testing.B, d tenant) {
		p := d.project("acme/payments")
		for b.Loop() {
			d.findings(p, 10_000, nil)
		}
	})
}

// BenchmarkUpdateFindings10k measures closing and reopening 10,000 findings.
func BenchmarkUpdateFindings10k(b *testing.B) {
	benchEach(b, func(b *testing.B, d tenant) {
		writes := d.findings(d.project("acme/payments"), 10_000, nil)
		for n := 0; b.Loop(); n++ {
			for i := range writes {
				writes[i].State, writes[i].Body = model.State(n%2+2), nil
			}
			d.update(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateFindings(ctx, writes) })
		}
	})
}

// BenchmarkMergeLineages measures the merge after a rename of a file with many findings. Another
// ref already has them under the new name. Use -benchtime 1x, because a second run has nothing to
// merge.
func BenchmarkMergeLineages(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchEach(b, func(b *testing.B, d tenant) {
				p := d.project("acme/payments")
				stay := d.findings(p, n, nil)
				other := d.findings(p, n, func(_ int, w *model.FindingWrite) { w.Ref = "refs/heads/topic" })
				merges := make([]model.LineageMerge, n)
				for i := range merges {
					merges[i] = model.LineageMerge{Into: model.Lineage{ID: stay[i].LineageID}, From: []int64{other[i].LineageID}}
				}
				for b.Loop() {
					d.update(func(ctx context.Context, tx *store.Tx) error { return tx.MergeLineages(ctx, merges) })
				}
			})
		})
	}
}

// BenchmarkFeed100k measures reading all of 100,000 findings.
func BenchmarkFeed100k(b *testing.B) {
	benchEach(b, func(b *testing.B, d tenant) {
		p := d.project("acme/payments")
		for range 10 {
			d.findings(p, 10_000, nil)
		}
		for b.Loop() {
			_, _, err := d.s.Feed(b.Context(), d.id, 0, func(*model.Batch) error { return nil })
			d.check(err)
		}
	})
}

// BenchmarkDependencies measures pages of 200,000 dependencies of 20 projects, with as many on
// other refs.
func BenchmarkDependencies(b *testing.B) {
	pages := []struct {
		name   string
		filter model.DependencyFilter
		limit  int
	}{
		{"page of 10000", model.DependencyFilter{}, 10_000},
		{"page of 1000", model.DependencyFilter{}, 1000},
		{"of a project", model.DependencyFilter{ProjectIDs: []int64{1}}, 1000},
		{"name without a match", model.DependencyFilter{Name: "nowhere"}, 1000},
		{"name with few", model.DependencyFilter{Name: "package-77"}, 1000},
		{"range", model.DependencyFilter{Packages: []model.PackageFilter{{Name: "package-777", ExactName: true, Lower: "1.2.0"}}}, 1000},
		{"rare licence", model.DependencyFilter{Licenses: []string{"Rare"}}, 1000},
	}
	benchEach(b, func(b *testing.B, d tenant) {
		for i := range 20 {
			p := d.project(fmt.Sprintf("acme/p%d", i))
			pages[2].filter.ProjectIDs[0] = p.ID
			for _, ref := range []string{"refs/heads/main", "refs/heads/topic"} {
				s := statement(p, "package-lock.json")
				s.Ref = ref
				for n := range 10_000 {
					licence := "MIT"
					if n == 5000 {
						licence = "Rare"
					}
					s.Inventory.Dependencies = append(s.Inventory.Dependencies,
						dep("npm", fmt.Sprintf("package-%d", (n*7+i)%20_000), fmt.Sprintf("1.%d.0", (n+i)%5), licence))
				}
				d.state(s)
			}
		}
		for _, page := range pages {
			b.Run(page.name, func(b *testing.B) {
				for b.Loop() {
					d.view(func(ctx context.Context, tx *store.Tx) error {
						_, _, err := tx.Dependencies(ctx, page.filter, 0, page.limit)
						return err
					})
				}
			})
		}
	})
}
