package sqldb

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// stall tells work that takes long from a database that no longer answers. To
// wait for a lock or a large statement is no fault, however long it takes, so
// the limit is not one of the work: whoever has waited for half of it has the
// database asked, on a connection of its own, and gives up when no answer comes
// within the other half. Those who wait share the question.
type stall struct {
	limit time.Duration
	ask   func(context.Context) error // whether the database answers anything at all

	mu     sync.Mutex
	asking *answer // nil while nobody asks
}

type answer struct {
	done chan struct{}
	err  error
}

// watch returns a context that ends when the database stops answering, with
// model.ErrUnreachable as its cause. A nil stall watches nothing.
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

// answers asks the database, or waits for who asks already.
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
	a.err = s.ask(ctx)
	s.mu.Lock()
	s.asking = nil
	s.mu.Unlock()
	close(a.done)
}

// gaveUp returns why work ended that the watch ended, and else its own error: a
// caller that looks at a context of its own sees only that its transaction is gone.
func gaveUp(watched, caller context.Context, err error) error {
	if err == nil || watched.Err() == nil || caller.Err() != nil {
		return err
	}
	if cause := context.Cause(watched); model.OutageOf(cause) == model.ErrUnreachable &&
		model.OutageOf(err) != model.ErrUnreachable {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
