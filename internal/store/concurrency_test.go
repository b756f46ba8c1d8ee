package store_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// commit is the state that one update of a worker read.
type commit struct {
	version int64 // its version
	at      time.Time
}

// TestConcurrentStoresLoseNoUpdates checks that no update is lost when two servers write to the same tenants
// concurrently. Versions and times must increase.
func TestConcurrentStoresLoseNoUpdates(t *testing.T) {
	const workers, updates = 4, 12
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock()) // the clock stands still
			stores := []*store.Store{storetest.Open(t, config), storetest.Open(t, config)}
			d := storetest.Deployment(t, stores[0])
			noise := deployment(t, stores[0], storetest.Noise)
			var mu sync.Mutex
			var commits []commit
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for i := range updates {
						at := commit{}
						err := stores[w%2].Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
							at = commit{model.Commits(tx.Version()) + 1, tx.Now()}
							return addCounted(ctx, tx, fmt.Sprintf("acme/w%d-%d", w, i))
						})
						if err != nil {
							t.Error(err)
						}
						mu.Lock()
						commits = append(commits, at)
						mu.Unlock()
						other := stores[(w+1)%2]
						if err := other.View(t.Context(), d.ID, func(context.Context, *store.Tx) error { return nil }); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			slices.SortFunc(commits, func(a, b commit) int { return int(a.version - b.version) })
			for i, c := range commits {
				if want := model.Commits(d.Version) + int64(i) + 1; c.version != want {
					t.Fatalf("commit %d is number %d, want %d", i, c.version, want)
				}
				if i > 0 && !c.at.After(commits[i-1].at) {
					t.Errorf("version %d was at %v, the one before at %v", c.version, c.at, commits[i-1].at)
				}
			}
			view(t, stores[1], d, func(ctx context.Context, tx *store.Tx) error {
				p, err := tx.ProjectByName(ctx, counted)
				same(t, "the count", p.URL, fmt.Sprint(workers*updates))
				all, err2 := tx.Projects(ctx, store.ProjectQuery{})
				same(t, "how many projects", len(all), workers*updates+1)
				if err == nil {
					err = err2
				}
				return err
			})
			same(t, "the other tenant", deployment(t, stores[0], storetest.Noise), noise)
		})
	}
}

// counted is a project whose URL contains the number of updates.
const counted = "acme/counted"

// addCounted creates a project and increments the count. Concurrent updates would lose increments
// between the read and the write.
func addCounted(ctx context.Context, tx *store.Tx, name string) error {
	p, err := tx.ProjectForScan(ctx, nil, model.Project{Name: counted})
	if err != nil {
		return err
	}
	n := 0
	if p.URL != "" {
		if _, err := fmt.Sscan(p.URL, &n); err != nil {
			return err
		}
	}
	if _, err := tx.UpdateProject(ctx, p.ID, store.ProjectPatch{URL: new(fmt.Sprint(n + 1))}); err != nil {
		return err
	}
	_, err = tx.CreateProject(ctx, model.Project{Name: name})
	return err
}

// TestConcurrentOpenMigratesOnce opens an empty database several times concurrently.
func TestConcurrentOpenMigratesOnce(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) { startMany(t, storetest.Empty(t, engine)) })
	}
}

func startMany(t *testing.T, config store.Config) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s, err := store.Open(t.Context(), config)
			if err != nil {
				t.Errorf("starter %d: %v", i, err)
				return
			}
			defer s.Close()
			if _, err := s.CreateDeployment(t.Context(), fmt.Sprint("starter-", i), "", storetest.Actor); err != nil {
				t.Errorf("starter %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// TestActiveWriterReadsOutsideItsTransaction starts more waiting writers of one tenant than there are connections. The
// active writer must still be able to read committed data outside of its transaction, as triage
// does.
func TestActiveWriterReadsOutsideItsTransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				err := s.Update(ctx, d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
					_, _, err := s.Feed(ctx, d.ID, 0, func(*model.Batch) error { return nil })
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}
