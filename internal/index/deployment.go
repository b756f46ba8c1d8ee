package index

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redoubt/redoubt/internal/model"
)

// deployment updates one read model. One caller at a time holds the update semaphore, which permits
// changes. Readers share mu and never wait for a store or a socket.
//
// A single lock covers all issue types, because one commit may change several of them and their
// shared dictionaries.
type deployment struct {
	id        int64
	x         *Index
	semaphore chan struct{} // capacity 1; the caller that filled it may change the state

	torn  bool        // a feed ended before it was completely applied; guarded by semaphore
	cold  atomic.Bool // bodies may be missing although the budget has space
	saved *saved
	gone  bool // evicted from memory; guarded by semaphore

	used     atomic.Int64 // last use, as a value of Index.uses
	measured atomic.Pointer[measure]

	mu    sync.RWMutex
	state *state
}

func (d *deployment) version() int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.state.version
}

// refresh updates the state to at least the given version.
func (d *deployment) refresh(ctx context.Context, version int64) error {
	if err := d.acquire(ctx); err != nil {
		return err
	}
	defer d.release()
	if d.gone {
		return errEvicted
	}
	now := d.version()
	if now >= version {
		return nil
	}
	// A load serves all waiting callers, so it must not end with the caller that started it.
	ctx = context.WithoutCancel(ctx)
	restored := now < 0 && d.restore(ctx)
	if now = d.version(); now > 0 { // a feed since 0 contains everything
		stale, err := d.applyFeed(ctx, now)
		if err != nil || !stale {
			return err
		}
		if restored {
			d.discardCheckpoint(errors.New("the feed of changes does not reach back to it"))
		}
	}
	return d.load(ctx)
}

// recheckVersion reads the version of a store that seemed older than the state, because the state
// may include commits made since. A store that is still older has lost commits, for example after a
// restore from a backup or a failover. Then the state is rebuilt.
func (d *deployment) recheckVersion(ctx context.Context) (version int64, err error) {
	had := d.version()
	if version, err = d.x.src.Version(ctx, d.id); err == nil && had > version {
		err = d.reload(ctx, version)
	}
	return version, err
}

// reload rebuilds the state, unless its version is no longer newer than the store's.
func (d *deployment) reload(ctx context.Context, version int64) error {
	if err := d.acquire(ctx); err != nil {
		return err
	}
	defer d.release()
	if d.gone {
		return errEvicted
	}
	if d.version() <= version {
		return nil
	}
	d.x.log.Warn("the database lost commits that were read: rebuilding the index", "deployment_id", d.id)
	return d.load(context.WithoutCancel(ctx))
}

// acquire acquires the update semaphore.
func (d *deployment) acquire(ctx context.Context) error {
	select {
	case d.semaphore <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the index of deployment %d: %w", d.id, context.Cause(ctx))
	}
}

// release releases the update semaphore.
func (d *deployment) release() { <-d.semaphore }

// applyFeed applies the changes since a version. It reports stale if the feed cannot provide them.
func (d *deployment) applyFeed(ctx context.Context, since int64) (stale bool, err error) {
	version, stale, err := d.x.src.Feed(ctx, d.id, since, func(b *model.Batch) error {
		e, err := encode(b)
		if err != nil {
			return err
		}
		d.torn = true
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.state.apply(e)
	})
	if errors.Is(err, errBereft) { // the state may be faulty, so it is rebuilt
		return true, nil
	}
	if err != nil || stale {
		return stale, err
	}
	d.publish(version)
	return false, nil
}

// publish sorts in late rows, removes dead ones and sets the version.
func (d *deployment) publish(version int64) {
	began := d.x.clock()
	fresh := d.state.compact()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.version = version
	d.state.searches.forget()
	d.state.dues.forget()
	for i, p := range fresh {
		old := d.state.parts[i]
		if p == old {
			continue
		}
		d.state.parts[i] = p
		d.x.rebuilds.Add(1)
		if old.bodies != p.bodies {
			d.x.bodies.release(old.bodies.chunks)
		}
		d.x.log.Info("index partition rebuilt", "deployment_id", d.id, "issue_type", p.issueType.String(),
			"findings", len(p.rows), "took", d.x.clock().Sub(began))
	}
	d.state.removeOrphans()
	d.torn = false
}

// load builds a new state from the complete feed of the source.
func (d *deployment) load(ctx context.Context) error {
	began := d.x.clock()
	s := newState(&d.x.bodies, d.x.clock)
	var one sync.Mutex
	version, stale, err := d.x.src.Feed(ctx, d.id, 0, func(b *model.Batch) error {
		e, err := encode(b) // concurrent: batches arrive in parallel
		if err != nil {
			return err
		}
		one.Lock()
		defer one.Unlock()
		err = s.apply(e)
		if errors.Is(err, errBereft) { // a complete feed lacks the entries, so the stored data is damaged
			return fmt.Errorf("%w: %w", model.ErrDamaged, err)
		}
		return err
	})
	if err == nil && stale {
		err = fmt.Errorf("deployment %d has no complete feed: %w", d.id, model.ErrUnavailable)
	}
	if err != nil {
		s.release(&d.x.bodies)
		return err
	}
	s.version = version
	copy(s.parts[:], s.compact())
	d.swap(s)
	d.torn = false
	d.x.loads.Add(1)
	findings := 0
	for _, p := range s.parts {
		findings += len(p.rows)
	}
	d.x.log.Info("index loaded", "deployment_id", d.id, "findings", findings, "took", d.x.clock().Sub(began))
	return nil
}

// swap replaces the state and releases the bodies of the old one.
func (d *deployment) swap(s *state) {
	d.mu.Lock()
	old := d.state
	d.state = s
	d.mu.Unlock()
	old.release(&d.x.bodies)
	select {
	case d.x.grown <- struct{}{}:
	default: // a signal is already pending
	}
	d.cold.Store(true)
}

func (s *state) release(b *budget) {
	for _, p := range s.parts {
		if p != nil {
			b.release(p.bodies.chunks)
		}
	}
}
