package sqldb

import (
	"context"
	"runtime"
)

// feedReaders limits the transactions that read one whole feed.
const feedReaders = 4

// Together runs fn with several transactions that read the same version of a deployment, and thus
// the same feed. It uses a single transaction if commits are too frequent for that, or if another
// feed already has several. It waits while the limit of whole-feed readers is reached.
func (s *DB) Together(ctx context.Context, deploymentID int64, fn func(context.Context, []*Tx) error) error {
	n := min(feedReaders, runtime.GOMAXPROCS(0), cap(s.engine.feeds)/2)
	if !s.wide.TryLock() {
		n = 1
	} else {
		defer s.wide.Unlock()
	}
	acquired := 0
	defer func() {
		for range acquired {
			<-s.engine.feeds
		}
	}()
	for ; acquired < n; acquired++ { // no deadlock: only one feed at a time waits for several slots
		select {
		case s.engine.feeds <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for range 5 {
		moved := false
		err := s.open(ctx, deploymentID, n, nil, func(ctx context.Context, all []*Tx) error {
			for _, tx := range all {
				moved = moved || tx.Version() != all[0].Version()
			}
			if moved {
				return nil
			}
			return fn(ctx, all)
		})
		if err != nil || !moved {
			return err
		}
	}
	return s.open(ctx, deploymentID, 1, nil, fn)
}

// open starts n transactions in addition to the open ones and calls fn with all of them.
func (s *DB) open(
	ctx context.Context, deploymentID int64, n int, before []*Tx, fn func(context.Context, []*Tx) error,
) error {
	if n == 0 {
		return fn(ctx, before)
	}
	return s.ViewForIndex(ctx, deploymentID, func(ctx context.Context, tx *Tx) error {
		return s.open(ctx, deploymentID, n-1, append(before, tx), fn)
	})
}
