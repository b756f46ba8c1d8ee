package store_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// patience is the time limit for operations that must not wait for others.
const patience = 20 * time.Second

// TestShortReadsDuringIndexBuilds checks that short reads succeed while the indexes of many deployments are
// built. All builds must finish.
func TestShortReadsDuringIndexBuilds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		written := d.findings(d.project("acme/payments"), 4, nil)
		began := d.version()
		d.project("acme/other")
		const feeds = 40
		var entered atomic.Int32
		release, ended := make(chan struct{}), make(chan error, feeds)
		for range feeds {
			go func() {
				var once sync.Once
				_, _, err := s.Feed(t.Context(), d.id, 0, func(*model.Batch) error {
					once.Do(func() { entered.Add(1) })
					<-release
					return nil
				})
				ended <- err
			}()
		}
		for entered.Load() < 3 {
			time.Sleep(time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for range 200 {
			version, err := s.Version(ctx, d.id)
			d.check(err)
			same(t, "the version", version, d.version())
			projects := 0
			_, stale, err := s.Feed(ctx, d.id, began, func(b *model.Batch) error {
				projects += len(b.Projects)
				return nil
			})
			d.check(err)
			same(t, "what changed", projects, 1)
			same(t, "stale", stale, false)
			bodies, err := s.Bodies(ctx, d.id, []int64{written[0].ID})
			d.check(err)
			same(t, "bodies", len(bodies), 1)
		}
		close(release)
		for range feeds {
			d.check(<-ended)
		}
	})
}

// TestIndexQueryWithinView checks that as many requests as there are connections can query
// the index while they read.
func TestIndexQueryWithinView(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		written := d.findings(d.project("acme/payments"), 4, nil)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		readers := s.DB().Stats().MaxOpenConnections
		var inside sync.WaitGroup
		inside.Add(readers)
		ended := make(chan error, readers)
		for range readers {
			go func() {
				ended <- s.View(ctx, d.id, func(ctx context.Context, tx *store.Tx) error {
					inside.Done()
					inside.Wait()
					if _, err := s.Version(ctx, d.id); err != nil {
						return err
					}
					if _, err := s.HasCheckpoint(ctx, d.id, "none"); err != nil {
						return err
					}
					if _, _, err := s.Feed(ctx, d.id, 0, func(*model.Batch) error { return nil }); err != nil {
						return err
					}
					_, err := s.Bodies(ctx, d.id, []int64{written[0].ID})
					return err
				})
			}()
		}
		for range readers {
			d.check(<-ended)
		}
	})
}
