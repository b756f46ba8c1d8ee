package index

import (
	"context"
)

// Start loads deployments before anybody asks for them, one after the other, those
// first that recent returns first, until there is no room in memory for more. It returns at once; Starting tells whether it is
// still at it.
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
