package sqldb

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// stall distinguishes slow work from an unresponsive database. Waiting for a lock or a large
// statement may take any time. After half of the limit, the database is probed on a new connection.
// The work fails if the probe gets no response within the other half. Waiting callers share a
// probe.
type stall struct {
	limit time.Duration
	probe func(context.Context) error // probes whether the database responds

	mu     sync.Mutex
	asking *answer // nil without a running probe
}

type answer struct {
	done chan struct{}
	err  error
}

// watch returns a context that ends when the database stops responding, with model.ErrUnreachable
// as its cause. A nil stall watches nothing.
func (s *stall) watch(ctx context.Context) (context.Context, func()) {
	if s == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.limit/2, func() {
		for {
			if err := s.answers(); err != nil {
				cancel(fmt.Errorf("%w: no answer within %s: %w", model.ErrUnreachable, s.limit, err))
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(s.limit / 2):
			}
		}
	})
	return ctx, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}

// answers probes the database, or waits for the running probe.
func (s *stall) answers() error {
	s.mu.Lock()
	a := s.asking
	if a == nil {
		a = &answer{done: make(chan struct{})}
		s.asking = a
		go s.answer(a)
	}
	s.mu.Unlock()
	<-a.done
	return a.err
}

func (s *stall) answer(a *answer) {
	ctx, cancel := context.WithTimeout(context.Background(), s.limit/2)
	defer cancel()
	a.err = s.probe(ctx)
	s.mu.Lock()
	s.asking = nil
	s.mu.Unlock()
	close(a.done)
}

// withCause adds the cause of an ended watch to an error. A caller with its own context would
// otherwise only report that its transaction was rolled back.
func withCause(watched, caller context.Context, err error) error {
	if err == nil || watched.Err() == nil || caller.Err() != nil {
		return err
	}
	if cause := context.Cause(watched); model.OutageOf(cause) == model.ErrUnreachable &&
		model.OutageOf(err) != model.ErrUnreachable {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
