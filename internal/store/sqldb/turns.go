package sqldb

import (
	"context"
	"slices"
	"sync"
)

// maxPassed is how many short writes may go before a long one that waits.
const maxPassed = 8

// longKey marks the context of a write that may hold the others up for seconds.
type longKey struct{}

// Long says of the writes of a context that each may take seconds, as storing a
// large upload does. Short ones that come while it waits go first, a few of them:
// nobody whose build is small waits for two large ones.
func Long(ctx context.Context) context.Context { return context.WithValue(ctx, longKey{}, true) }

func isLong(ctx context.Context) bool {
	long, _ := ctx.Value(longKey{}).(bool)
	return long
}

// turns has the writers of this process that would wait for each other in the
// database come one after the other, by a number that those share: that of the
// deployment, or 0 where the database has one writer for all. Neither a lock nor a
// pool of connections asks who comes next, and a long write that waited there would
// be past recall.
type turns struct {
	mu    sync.Mutex
	lines map[int64]*line
}

// line is who waits, each kind in the order in which they came.
type line struct {
	short, long []chan struct{}
	passed      int // short ones since a long one waits
}

// take waits for a turn and returns how to end it, or why nobody waits any more.
func (t *turns) take(ctx context.Context, number int64) (end func(), err error) {
	end = func() { t.next(number) }
	t.mu.Lock()
	if t.lines == nil {
		t.lines = map[int64]*line{}
	}
	l := t.lines[number]
	if l == nil { // nobody writes
		t.lines[number] = &line{}
		t.mu.Unlock()
		return end, nil
	}
	mine := make(chan struct{})
	queue := l.queue(ctx)
	*queue = append(*queue, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return end, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	at := slices.Index(*queue, mine)
	if at >= 0 {
		*queue = slices.Delete(*queue, at, at+1)
	}
	t.mu.Unlock()
	if at < 0 { // the turn came meanwhile
		end()
	}
	return nil, context.Cause(ctx)
}

func (l *line) queue(ctx context.Context) *[]chan struct{} {
	if isLong(ctx) {
		return &l.long
	}
	return &l.short
}

// next gives the turn to whoever comes next.
func (t *turns) next(number int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[number]
	from := &l.short
	switch {
	case len(l.short)+len(l.long) == 0:
		delete(t.lines, number)
		return
	case len(l.short) == 0, len(l.long) > 0 && l.passed >= maxPassed:
		from, l.passed = &l.long, 0
	case len(l.long) > 0:
		l.passed++
	}
	first := (*from)[0]
	*from = slices.Delete(*from, 0, 1)
	close(first)
}
