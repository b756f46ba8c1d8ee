package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// queue is a deployment with an active writer and waiting ones.
type queue struct {
	t     *testing.T
	s     *store.Store
	id    int64
	mu    sync.Mutex
	order []string
	wait  sync.WaitGroup
	done  chan struct{} // closed to end the first writer
}

func newQueue(t *testing.T, s *store.Store) *queue {
	q := &queue{t: t, s: s, id: storetest.Deployment(t, s).ID, done: make(chan struct{})}
	began := make(chan struct{})
	q.wait.Go(func() {
		err := s.Update(store.Long(t.Context()), q.id, storetest.Actor, func(context.Context, *store.Tx) error {
			close(began)
			<-q.done
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-began
	return q
}

// add starts a writer and returns once it waits.
func (q *queue) add(ctx context.Context, name string) {
	before := q.s.Waiting()
	q.wait.Go(func() {
		err := q.s.Update(ctx, q.id, storetest.Actor, func(context.Context, *store.Tx) error {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.order = append(q.order, name)
			return nil
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			q.t.Error(err)
		}
	})
	q.waiting(before + 1)
}

// waiting returns once n writers wait.
func (q *queue) waiting(n int) {
	for q.s.Waiting() != n && q.t.Context().Err() == nil {
		runtime.Gosched()
	}
}

// end ends the first writer and returns the order of the others.
func (q *queue) end() []string {
	close(q.done)
	q.wait.Wait()
	return q.order
}

// TestShortWritesGoBeforeLongOnes checks that a small upload waits only for the active write, not
// for waiting large ones.
func TestShortWritesGoBeforeLongOnes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := newQueue(t, s)
		q.add(store.Long(t.Context()), "long 1")
		q.add(store.Long(t.Context()), "long 2")
		q.add(t.Context(), "short 1")
		q.add(t.Context(), "short 2")
		same(t, "order", q.end(), []string{"short 1", "short 2", "long 1", "long 2"})
	})
}

// TestLongWritesAreNotStarved checks that a long write runs despite later short ones.
func TestLongWritesAreNotStarved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := newQueue(t, s)
		q.add(store.Long(t.Context()), "long")
		for i := range 20 {
			q.add(t.Context(), fmt.Sprint("short ", i))
		}
		order := q.end()
		if at := slices.Index(order, "long"); at != 8 || len(order) != 21 {
			t.Errorf("the long one came after %d short ones of %d", at, len(order)-1)
		}
	})
}

// TestCanceledWritersDoNotDelayOthers checks that canceled writers do not delay others.
func TestCanceledWritersDoNotDelayOthers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := newQueue(t, s)
		gone, leave := context.WithCancel(t.Context())
		q.add(gone, "gone")
		q.add(t.Context(), "stays")
		leave()
		q.waiting(1)
		same(t, "order", q.end(), []string{"stays"})
		same(t, "left in the line", s.Waiting(), 0)
	})
}
