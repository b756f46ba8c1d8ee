package sqldb

import (
	"context"
	"slices"
	"sync"
)

// maxPassed limits the short writes that precede a waiting long write.
const maxPassed = 8

// longKey marks the context of a write that may block others for seconds.
type longKey struct{}

// Long marks the writes of a context as slow, such as storing a large upload. Up to maxPassed short
// writes overtake a waiting slow one, so small uploads do not wait behind several large ones.
func Long(ctx context.Context) context.Context { return context.WithValue(ctx, longKey{}, true) }

func isLong(ctx context.Context) bool {
	long, _ := ctx.Value(longKey{}).(bool)
	return long
}

// writeQueue queues the writers of this process that would block each other in the database. The key is
// the deployment's id, or 0 if the database has a single writer. Locks and connection pools do not
// order their waiters by length, and a long write waiting there could not be overtaken.
type writeQueue struct {
	mu    sync.Mutex
	lines map[int64]*line
}

// line contains the waiting writers, in order of arrival per kind.
type line struct {
	short, long []chan struct{}
	passed      int // short writes since a long one waits
}

// acquire waits until the caller may write. It returns the function that ends the write, or the error
// of the context.
func (t *writeQueue) acquire(ctx context.Context, number int64) (end func(), err error) {
	end = func() { t.next(number) }
	t.mu.Lock()
	if t.lines == nil {
		t.lines = map[int64]*line{}
	}
	l := t.lines[number]
	if l == nil { // no writer is active
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
	if at < 0 { // the write was granted before the context ended
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

// next starts the next waiting writer.
func (t *writeQueue) next(number int64) {
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
