package index

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redoubt/redoubt/internal/model"
)

// deployment keeps one read model up to date. One caller at a time has the turn
// to change it; readers share mu and never wait for a store or a socket.
//
// One lock covers all issue types, because one commit may change several of
// them and what they share.
type deployment struct {
	id   int64
	x    *Index
	turn chan struct{} // holds one: whoever put it there may change the state

	torn  bool        // a feed ended before all of it was applied; whoever has the turn may look
	cold  atomic.Bool // bodies may be missing that there is room for
	saved *saved
	gone  bool // it left memory; whoever has the turn may look

	used     atomic.Int64 // when it was asked for last, in uses of the index
	measured atomic.Pointer[measure]

	mu    sync.RWMutex
	state *state
}

func (d *deployment) version() int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.state.version
}

// refresh brings the state to at least the given version.
func (d *deployment) refresh(ctx context.Context, version int64) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.give()
	if d.gone {
		return errEvicted
	}
	now := d.version()
	if now >= version {
		return nil
	}
	// A load serves all who wait, so it outlives the one who happened to start it.
	ctx = context.WithoutCancel(ctx)
	restored := now < 0 && d.restore(ctx)
	if now = d.version(); now > 0 { // from 0 on, the feed is everything
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

// recheckVersion asks for the version of a store that seemed to be behind the state, for newer
// commits may just have been read. Where it still is, it has lost some, as one that was
// restored from a backup, or a standby that took over: the state is built anew.
func (d *deployment) recheckVersion(ctx context.Context) (version int64, err error) {
	had := d.version()
	if version, err = d.x.src.Version(ctx, d.id); err == nil && had > version {
		err = d.reload(ctx, version)
	}
	return version, err
}

// reload builds the state anew, unless somebody did since it was found to be newer than
// the version that the store is at.
func (d *deployment) reload(ctx context.Context, version int64) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.give()
	if d.gone {
		return errEvicted
	}
	if d.version() <= version {
		return nil
	}
	d.x.log.Warn("the database has lost commits that were read: the index is built anew", "deployment_id", d.id)
	return d.load(context.WithoutCancel(ctx))
}

// take waits for the turn.
func (d *deployment) take(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the index of deployment %d: %w", d.id, context.Cause(ctx))
	}
}

// give gives the turn back.
func (d *deployment) give() { <-d.turn }

// applyFeed applies what changed since a version, unless the feed no longer knows.
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
	if errors.Is(err, errBereft) { // what is here may be at fault: it is built anew
		return true, nil
	}
	if err != nil || stale {
		return stale, err
	}
	d.publish(version)
	return false, nil
}

// publish sorts late rows in, clears dead ones out, and makes the version known.
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

// load builds the state from everything the source has, off to the side.
func (d *deployment) load(ctx context.Context) error {
	began := d.x.clock()
	s := newState(&d.x.bodies, d.x.clock)
	var one sync.Mutex
	version, stale, err := d.x.src.Feed(ctx, d.id, 0, func(b *model.Batch) error {
		e, err := encode(b) // several batches at a time
		if err != nil {
			return err
		}
		one.Lock()
		defer one.Unlock()
		err = s.apply(e)
		if errors.Is(err, errBereft) { // and there is nothing but what is stored
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

// swap puts another state in place and gives the bodies of the old one back.
func (d *deployment) swap(s *state) {
	d.mu.Lock()
	old := d.state
	d.state = s
	d.mu.Unlock()
	old.release(&d.x.bodies)
	select {
	case d.x.grown <- struct{}{}:
	default: // somebody is about to look
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
