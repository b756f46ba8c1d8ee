package index

import (
	"context"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// lookEvery is how often what is loaded is looked at.
const lookEvery = time.Second

// Run does what is done without being asked for, until the context ends: it follows what is committed, loads
// deployments that are written to, writes checkpoints, reads bodies of findings into memory, and takes out what
// nobody asks for.
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

// Start loads deployments before anybody asks for them, one after the other, those first that recent returns first,
// until there is no room in memory for more. It returns at once; Starting tells whether it is still at it.
func (x *Index) Start(ctx context.Context, recent func(context.Context) ([]int64, error)) {
	x.starting.Add(1)
	go func() {
		defer x.starting.Add(-1)
		ids, err := recent(ctx)
		if err != nil {
			x.log.Warn("the index is not loaded at the start but when it is asked for", "cause", err)
			return
		}
		for _, id := range ids {
			if ctx.Err() != nil || x.full() {
				return
			}
			if _, err := x.Deployment(ctx, id); err != nil {
				x.log.Warn("the index is not loaded at the start but when it is asked for", "deployment_id", id, "cause", err)
			}
		}
	}()
}

// Starting reports whether a Start is at work.
func (x *Index) Starting() bool { return x.starting.Load() > 0 }

// warmStep is how many bodies are read at a time; who waits for a newer version
// waits for as many at most.
const warmStep = 500

// warm reads bodies into memory, the newest findings of each product first, until
// the budget has no room. What it reads is the first to go again, and nothing goes
// for it.
func (x *Index) warm(ctx context.Context) {
	for _, d := range x.loaded() {
		if d.cold.CompareAndSwap(true, false) {
			for i := range model.Secrets {
				if err := d.warmPart(ctx, int(i)); err != nil {
					d.cold.Store(ctx.Err() == nil) // the store may answer later
					break
				}
			}
		}
	}
}

// warmPart reads the bodies of one product.
func (d *deployment) warmPart(ctx context.Context, part int) error {
	for cursor := ^uint32(0); cursor > 0; {
		var err error
		if cursor, err = d.warmNext(ctx, part, cursor); err != nil {
			return err
		}
	}
	return nil
}

// warmNext reads some bodies of findings before an ordinal, and returns the ordinal
// to go on before; 0 when there is nothing more to read, or no room.
func (d *deployment) warmNext(ctx context.Context, part int, before uint32) (uint32, error) {
	if err := d.take(ctx); err != nil {
		return 0, err
	}
	defer d.give()
	p := d.state.parts[part]
	if p == nil || d.gone || !d.x.bodies.hasRoom() {
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
