package scm

import (
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// RateLimits stores the times until which hosts reject requests with a credential. It is safe for
// concurrent use.
type RateLimits struct {
	mu    sync.Mutex
	until map[requester]time.Time
}

// NewRateLimits returns an empty RateLimits.
func NewRateLimits() *RateLimits { return &RateLimits{until: map[requester]time.Time{}} }

func (w *RateLimits) forget(before time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.until, func(_ requester, until time.Time) bool { return until.Before(before) })
}

// limited is a transport that rejects requests with a model.BusyError until the end of the wait
// that the host requested. The wait starts with the host's response.
type limited struct {
	base  http.RoundTripper
	rates *RateLimits
	who   requester
	clock func() time.Time
}

// RoundTrip implements http.RoundTripper.
func (t limited) RoundTrip(r *http.Request) (*http.Response, error) {
	t.rates.mu.Lock()
	left := t.rates.until[t.who].Sub(t.clock())
	t.rates.mu.Unlock()
	if left > 0 {
		return nil, &model.BusyError{Text: "the host requested a delay", Wait: left}
	}
	answer, err := t.base.RoundTrip(r)
	if busy, is := errors.AsType[*model.BusyError](err); is {
		t.rates.mu.Lock()
		defer t.rates.mu.Unlock()
		t.rates.until[t.who] = t.clock().Add(busy.Wait)
	}
	return answer, err
}
