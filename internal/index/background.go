package index

import (
	"context"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// taskInterval is the interval of background tasks.
const taskInterval = time.Second

// Run runs the background tasks until ctx ends. It follows commits, loads deployments after writes,
// writes checkpoints, caches bodies of findings, and evicts unused deployments.
func (x *Index) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { x.follow(ctx) })
	if x.checkpoints.Dir != "" {
		all.Go(func() { x.repeat(ctx, clearEvery, x.clearCheckpoints) })
	}
	all.Go(func() {
		x.repeat(ctx, taskInterval, x.saveDue)
	})
	all.Go(func() { x.limitMemory(ctx) })
	all.Go(func() { x.repeat(ctx, taskInterval, x.loadWritten) })
	if x.bodies.limit > 0 {
		all.Go(func() { x.repeat(ctx, taskInterval, x.warm) })
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

// limitMemory evicts deployments whenever one is loaded. Checks at intervals would not suffice: many
// concurrent loads could exceed the memory limit in between.
func (x *Index) limitMemory(ctx context.Context) {
	for {
		x.evict(ctx)
		select {
		case <-ctx.Done():
			return
		case <-x.grown:
		case <-time.After(taskInterval):
		}
	}
}

// loaded returns the deployments in use in no particular order.
func (x *Index) loaded() []*deployment {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make([]*deployment, 0, len(x.deployments))
	for _, d := range x.deployments {
		all = append(all, d)
	}
	return all
}

// saveDue writes the checkpoints that are due, one after the other.
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

// Start loads deployments in the background, one after the other, in the order that recent returns.
// It stops when the memory limit is reached. See Starting.
func (x *Index) Start(ctx context.Context, recent func(context.Context) ([]int64, error)) {
	x.starting.Add(1)
	go func() {
		defer x.starting.Add(-1)
		ids, err := recent(ctx)
		if err != nil {
			x.log.Warn("the index is loaded later, on the first request", "cause", err)
			return
		}
		for _, id := range ids {
			if ctx.Err() != nil || x.full() {
				return
			}
			if _, err := x.Deployment(ctx, id); err != nil {
				x.log.Warn("the index is loaded later, on the first request", "deployment_id", id, "cause", err)
			}
		}
	}()
}

// Starting reports whether a Start is in progress.
func (x *Index) Starting() bool { return x.starting.Load() > 0 }

// warmStep is the number of bodies to read at a time. It limits how long a refresh waits.
const warmStep = 500

// warm caches bodies, newest findings of each product first, until the budget is used up. Cached
// bodies never replace others and are the first to be replaced.
func (x *Index) warm(ctx context.Context) {
	for _, d := range x.loaded() {
		if d.cold.CompareAndSwap(true, false) {
			for i := range model.Secrets {
				if err := d.warmPart(ctx, int(i)); err != nil {
					d.cold.Store(ctx.Err() == nil) // retry after an error of the store
					break
				}
			}
		}
	}
}

// warmPart caches the bodies of one product.
func (d *deployment) warmPart(ctx context.Context, part int) error {
	for cursor := ^uint32(0); cursor > 0; {
		var err error
		if cursor, err = d.warmNext(ctx, part, cursor); err != nil {
			return err
		}
	}
	return nil
}

// warmNext caches bodies of findings before an ordinal, and returns the ordinal to continue before.
// It returns 0 if nothing remains to be read or the budget is used up.
func (d *deployment) warmNext(ctx context.Context, part int, before uint32) (uint32, error) {
	if err := d.acquire(ctx); err != nil {
		return 0, err
	}
	defer d.release()
	p := d.state.parts[part]
	if p == nil || d.gone || !d.x.bodies.hasCapacity() {
		return 0, nil
	}
	at, ids := int(min(before, uint32(len(p.rows)))), make([]int64, 0, warmStep)
	for at > 0 && len(ids) < warmStep {
		at--
		if r := &p.rows[at]; p.listed.Contains(uint32(at)) && p.bodies.get(r.body) == nil {
			ids = append(ids, int64(r.id))
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	bodies, err := d.x.src.Bodies(ctx, d.id, ids)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if ref := p.bodies.putOlder(bodies[id]); ref.size > 0 {
			p.rows[p.where[uint32(id)]].body = ref
		}
	}
	return uint32(at), nil
}
