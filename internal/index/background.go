package index

import (
	"context"
	"sync"
	"time"
)

// lookEvery is how often what is loaded is looked at.
const lookEvery = time.Second

// Run does what is done without being asked for, until the context ends: it follows
// what is committed, loads deployments that are written to, writes checkpoints, reads bodies of findings into memory, and
// takes out what nobody asks for.
func (x *Index) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { x.follow(ctx) })
	if x.checkpoints.Dir != "" {
		all.Go(func() { x.repeat(ctx, clearEvery, x.clearCheckpoints) })
	}
	all.Go(func() {
		x.repeat(ctx, lookEvery, x.saveDue)
	})
	all.Go(func() { x.keepWithin(ctx) })
	all.Go(func() { x.repeat(ctx, lookEvery, x.loadWritten) })
	if x.bodies.limit > 0 {
		all.Go(func() { x.repeat(ctx, lookEvery, x.warm) })
	}
	all.Wait()
}

func (x *Index) repeat(ctx context.Context, every time.Duration, do func(context.Context)) {
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// keepWithin takes out what memory has no room for, as deployments come into it: many that
// are asked for at once would take far more than they may until somebody looks.
func (x *Index) keepWithin(ctx context.Context) {
	for {
		x.evict(ctx)
		select {
		case <-ctx.Done():
			return
		case <-x.grown:
		case <-time.After(lookEvery):
		}
	}
}

// loaded returns the deployments, in no order.
func (x *Index) loaded() []*deployment {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make([]*deployment, 0, len(x.deployments))
	for _, d := range x.deployments {
		all = append(all, d)
	}
	return all
}

// saveDue writes the checkpoints whose time has come, one after the other.
func (x *Index) saveDue(ctx context.Context) {
	if x.checkpoints.Dir == "" {
		return
	}
	for _, d := range x.loaded() {
		if ctx.Err() == nil && d.saved.due(d.version(), x.clock()) {
			d.save(ctx)
		}
	}
}
