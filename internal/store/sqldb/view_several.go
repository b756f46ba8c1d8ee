package sqldb

import (
	"context"
	"runtime"
)

// feedReaders is how many transactions read a whole feed at most.
const feedReaders = 4

// Together runs fn with several transactions that see the same version of a
// deployment, and so the same of all that is fed: each commit that changes any of it
// makes another version. Where writers are too fast for that, or another feed has
// several, there is one. Where as many as may do so read whole feeds, it waits.
func (s *DB) Together(ctx context.Context, deploymentID int64, fn func(context.Context, []*Tx) error) error {
	n := min(feedReaders, runtime.GOMAXPROCS(0), cap(s.engine.whole)/2)
	if !s.wide.TryLock() {
		n = 1
	} else {
		defer s.wide.Unlock()
	}
	taken := 0
	defer func() {
		for range taken {
			<-s.engine.whole
		}
	}()
	for ; taken < n; taken++ { // the one that has several waits only for those that have all they need
		select {
		case s.engine.whole <- struct{}{}:
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

// open adds n transactions to those that are open.
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
