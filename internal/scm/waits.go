package scm

import (
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
)

// Waits keeps until when hosts asked to be left alone, by who asks. It is safe for concurrent
// use.
type Waits struct {
	mu    sync.Mutex
	until map[asker]time.Time
}

// NewWaits makes one of which no host asked to wait.
func NewWaits() *Waits { return &Waits{until: map[asker]time.Time{}} }

func (w *Waits) forget(before time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.until, func(_ asker, until time.Time) bool { return until.Before(before) })
}

// waiting is a transport that asks nothing while a host wants to be left alone: a
// redoubt.BusyError, as the host itself answers. The wait counts from the host's answer.
type waiting struct {
	base  http.RoundTripper
	waits *Waits
	who   asker
	clock func() time.Time
}

// RoundTrip implements http.RoundTripper.
func (t waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	t.waits.mu.Lock()
	left := t.waits.until[t.who].Sub(t.clock())
	t.waits.mu.Unlock()
	if left > 0 {
		return nil, &redoubt.BusyError{Text: "the host asks to wait", Wait: left}
	}
	answer, err := t.base.RoundTrip(r)
	if busy, is := errors.AsType[*redoubt.BusyError](err); is {
		t.waits.mu.Lock()
		defer t.waits.mu.Unlock()
		t.waits.until[t.who] = t.clock().Add(busy.Wait)
	}
	return answer, err
}
