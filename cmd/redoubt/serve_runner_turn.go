package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// How often the built-in runner of a deployment looks for work, and tells that it is there.
const (
	turnLook = time.Second
	turnSeen = redoubt.RunnerGone / 3
)

// runPlaces are those of the runs of all deployments that a server makes itself at once. A
// deployment asks for one at a time, and who asked first is next: one that has always work
// gets one while each other that waits gets one. It is safe for concurrent use.
type runPlaces struct {
	mu      sync.Mutex
	free    int
	waiting []*runPlace // in the order in which they asked
}

func newRunPlaces(n int) *runPlaces { return &runPlaces{free: max(n, 1)} }

// runPlace is one that was asked for.
type runPlace struct {
	of    *runPlaces
	ready chan struct{} // closed once it may be taken
	left  bool
}

// ask asks for a place, which is given back by leave, also before it is ready.
func (p *runPlaces) ask() *runPlace {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &runPlace{of: p, ready: make(chan struct{})}
	if p.free > 0 {
		p.free--
		close(w.ready)
		return w
	}
	p.waiting = append(p.waiting, w)
	return w
}

func (w *runPlace) leave() {
	p := w.of
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.left {
		return
	}
	w.left = true
	if at := slices.Index(p.waiting, w); at >= 0 {
		p.waiting = slices.Delete(p.waiting, at, at+1)
		return
	}
	if len(p.waiting) == 0 {
		p.free++
		return
	}
	next := p.waiting[0]
	p.waiting = slices.Delete(p.waiting, 0, 1)
	close(next.ready)
}

// turn waits until the deployment has a run to make, and for a place. People see meanwhile
// that the runner is there.
func (r *ownRunner) turn(ctx context.Context) (over func(), err error) {
	var asked *runPlace
	defer func() {
		if asked != nil && over == nil {
			asked.leave()
		}
	}()
	look := time.NewTicker(turnLook)
	defer look.Stop()
	for {
		due, err := r.look(ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case due && asked == nil:
			asked = r.places.ask()
		case !due && asked != nil: // another runner was first
			asked.leave()
			asked = nil
		}
		var ready chan struct{}
		if asked != nil {
			ready = asked.ready
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ready:
			return asked.leave, nil
		case <-look.C:
		}
	}
}

// errRevoked means that somebody put the runner's token out of force.
var errRevoked = errors.New("the token of the built-in runner is in force no more")

// look reports whether there is a run to make, and notes now and then that the runner is
// there: it asks the server for nothing before it may take it.
func (r *ownRunner) look(ctx context.Context) (due bool, err error) {
	err = r.store.View(ctx, r.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		due, err = tx.RunIsDue(ctx, nil)
		return err
	})
	now := r.clock()
	if err != nil || now.Sub(r.seenAt) < turnSeen {
		return due, err
	}
	err = r.store.Update(ctx, r.deployment.ID, redoubt.Actor{Kind: "system", Name: ownRunnerName}, func(ctx context.Context, tx *store.Tx) error {
		t, err := tx.TokenByID(ctx, r.tokenID)
		if errors.Is(err, redoubt.ErrNotFound) || err == nil && !t.Active(tx.Now()) {
			return errRevoked
		}
		if err == nil {
			_, err = tx.SeeRunner(ctx, redoubt.Runner{Name: r.runner.Name, TokenID: r.tokenID, Version: r.runner.Version, Isolation: r.runner.IsolatedBy()})
		}
		return err
	})
	if err == nil {
		r.seenAt = now
	}
	return due, err
}
