package index

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
)

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
