package bench

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/version"
)

var (
	stored = flag.Int("dependencies", benchDeps, "how many stored dependencies to match; with -short a hundredth")
	spread = flag.Int("refs", 0, "on how many refs they are; 0 for one in 5,000")
)

// Sizes of the stored data: a ref has five lockfiles.
const (
	lockfiles     = 5
	inUse         = 40_000 // of all packages, in four versions each
	changedAtOnce = 100    // records of a small update
)

// followed is a store with advisories and dependencies to match.
type followed struct {
	b          *testing.B
	config     store.Config
	store      *store.Store
	deployment model.Deployment
	sweep      advisory.Sweep[*store.Tx]
	turn       int
	longest    time.Duration // of a transaction
}

// BenchmarkSweep matches a million stored dependencies with the stored advisories on each engine.
// It matches all records, and 100 changed ones that concern about 500 dependencies. The baseline is
// one map lookup for each dependency. "first-s" is the duration of the first match, which opens a
// finding for one dependency in forty.
func BenchmarkSweep(b *testing.B) {
	for _, engine := range storetest.Engines {
		b.Run(engine, func(b *testing.B) {
			n := *stored
			if testing.Short() {
				n /= 100
			}
			f := newFollowed(b, engine)
			known, names := f.fill(evenly(n), inUse)
			f.load(0, advised)
			began := time.Now()
			if done := f.follow(); done.Refs != refsOf(n) || done.Changed < n/100 {
				b.Fatalf("the first match did %+v", done)
			}
			first := time.Since(began).Seconds()
			lookup := limit{unit: perLookup, run: timed(func() { countKnown(known, names) })}
			b.Run("all records", func(b *testing.B) {
				took := compare(b, func() time.Duration { f.restart(); return timed(func() { f.follow() })() }, lookup)
				b.ReportMetric(rate(n, took), matched)
				b.ReportMetric(first, "first-s")
			})
			b.Run("100 changed", func(b *testing.B) {
				compare(b, func() time.Duration {
					f.turn++
					f.load(f.turn*changedAtOnce, changedAtOnce)
					return timed(func() { f.follow() })()
				}, lookup)
			})
		})
	}
}

func newFollowed(b *testing.B, engine string) *followed {
	b.Helper()
	c := storetest.Database(b, engine, nil)
	c.Clock = time.Now
	f := &followed{b: b, config: c, store: storetest.Open(b, c)}
	f.deployment = storetest.Deployment(b, f.store)
	f.sweep = advisory.Sweep[*store.Tx]{
		Store: f.store, Library: advisory.NewLibrary(func(e string) advisory.Order { return version.OrderOf(e) }),
		Update: func(ctx context.Context, id int64, fn func(context.Context, *store.Tx) error) error {
			began := time.Now()
			defer func() { f.longest = max(f.longest, time.Since(began)) }()
			return f.store.Update(ctx, id, storetest.Actor, fn)
		},
		Follow: func(ctx context.Context, tx *store.Tx, advised []model.Advised, most int) ([]model.Followed, error) {
			return ingest.FollowAll(ctx, tx, exceptions.ForImport{Store: tx}, advised, tx.Now(), most)
		},
	}
	return f
}

func (f *followed) check(err error) {
	f.b.Helper()
	if err != nil {
		f.b.Fatal(err)
	}
}

// evenly returns the number of dependencies of each ref.
func evenly(n int) []int { return slices.Repeat([]int{n / refsOf(n)}, refsOf(n)) }

// fill stores dependencies on each ref. It returns the input of the baseline: the packages with
// records, and the package of each dependency.
func (f *followed) fill(refs []int, packages int) (known map[string]bool, names []string) {
	f.b.Helper()
	g := newGenerator()
	for at, n := range refs {
		reading := &report.Reading{}
		for i := range lockfiles {
			var lock strings.Builder
			lock.WriteString(`{"name":"app","lockfileVersion":3,"packages":{"":{"name":"app","version":"1.0.0"}`)
			for j := range n / lockfiles {
				name := packageOf(g.rnd.IntN(packages))
				names = append(names, "npm/"+name)
				fmt.Fprintf(&lock, `,"node_modules/tree-%d/node_modules/%s":{"version":"1.%d.0"}`, j, name, 10*g.rnd.IntN(4))
			}
			f.check(reading.Add(strings.NewReader(lock.String()+"}}"), report.Options{Name: fmt.Sprintf("part-%d/package-lock.json", i)}))
		}
		project := fmt.Sprint("acme/service-", at)
		upload := ingest.Upload{Project: model.Project{Name: project, URL: "https://git.example/" + project}, Ref: "main", Commit: "1", Full: true}
		f.check(f.store.Update(f.b.Context(), f.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			reports, err := conceal.Resolve(ctx, tx, reading.Clean(nil))
			if err == nil {
				_, err = ingest.ApplyAll(ctx, tx, exceptions.ForImport{Store: tx}, upload, reports)
			}
			return err
		}))
	}
	known = map[string]bool{}
	for i := range advised {
		known[fmt.Sprint("npm/package-", i)] = true
	}
	return known, names
}

// packageOf returns the name of a used package.
func packageOf(i int) string { return fmt.Sprint("package-", i*(benchPackages/inUse)) }

// refsOf returns the number of refs with dependencies.
func refsOf(n int) int {
	if *spread > 0 {
		return *spread
	}
	return n / perLockfile / lockfiles
}

// countKnown is the least work of a match.
func countKnown(known map[string]bool, names []string) (found int) {
	for _, name := range names {
		if known[name] {
			found++
		}
	}
	return found
}

// load stores n new or changed records, starting with one.
func (f *followed) load(from, n int) {
	f.b.Helper()
	var list [][]byte
	for i := from; i < from+n; i++ {
		list = append(list, osv(i%advised, fmt.Sprint("turn ", f.turn)))
	}
	f.publish(list)
}

// publish stores records, each of which is new or changed.
func (f *followed) publish(list [][]byte) {
	f.b.Helper()
	loaded, err := advisory.Load(f.b.Context(), f.store, advisory.Zip(zipped(f.b, list)), nil)
	f.check(err)
	if loaded.Changed != len(list) {
		f.b.Fatalf("%d of %d records changed", loaded.Changed, len(list))
	}
	_, err = f.store.PublishAdvisories(f.b.Context())
	f.check(err)
}

func (f *followed) follow() advisory.SweepResult {
	f.b.Helper()
	done, err := f.sweep.Deployment(f.b.Context(), f.deployment.ID)
	f.check(err)
	return done
}

// restart resets the progress of the deployment.
func (f *followed) restart() {
	f.b.Helper()
	f.check(f.store.Update(f.b.Context(), f.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		return tx.SaveAdvisoryMatch(ctx, model.AdvisoryProgress{}, 0)
	}))
}

// peak calls do and returns the growth of the heap in bytes, sampled every few milliseconds.
func peak(do func()) int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	base, highest := m.HeapAlloc, m.HeapAlloc
	done, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				runtime.ReadMemStats(&m)
				highest = max(highest, m.HeapAlloc)
			case <-stop:
				return
			}
		}
	}()
	do()
	close(stop)
	<-done
	return int64(highest - base)
}
