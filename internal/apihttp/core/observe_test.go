package core

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TestDisconnectedClientIsNotAFailure checks that disconnects of clients are not failures in the log
// or the metrics. Shutdowns and a busy database still are.
func TestDisconnectedClientIsNotAFailure(t *testing.T) {
	for _, c := range []struct {
		name   string
		gone   bool  // the request is canceled
		why    error // its cause; nil for the client
		err    error // result of the handler
		status int
		level  string
	}{
		{"client disconnected", true, nil, fmt.Errorf("read findings: %w", context.Canceled), 499, "INFO"},
		{"the server stops", true, model.ErrUnavailable, fmt.Errorf("read findings: %w", context.Canceled), 503, "ERROR"},
		{"it takes too long", false, nil, context.DeadlineExceeded, 503, "ERROR"},
		{"the database is busy", false, nil, model.ErrUnavailable, 503, "ERROR"},
		{"failure while the client disconnects", true, nil, fmt.Errorf("disk full"), 500, "ERROR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t)
			failing := h.server.observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { writeProblem(w, r, ProblemOf(c.err)) }))
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.gone {
				cancel(c.why)
			}
			failing.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/x", nil))
			var line struct {
				Level  string `json:"level"`
				Status int    `json:"status"`
			}
			if err := json.Unmarshal(h.log.Bytes(), &line); err != nil || line.Level != c.level || line.Status != c.status {
				t.Errorf("log: %s, %v", h.log.String(), err)
			}
			metrics := serve(t, h.server.MetricsHandler(), http.MethodGet, "/metrics")
			if !strings.Contains(metrics.Body.String(), fmt.Sprintf(`redoubt_http_requests_total{method="GET",route="unmatched",status="%d"} 1`, c.status)) {
				t.Errorf("the metrics do not count a %d", c.status)
			}
		})
	}
}

// TestPanicDuringResponseIsAFailure checks that the log records a panic after the status was sent,
// whether or not the client is still connected.
func TestPanicDuringResponseIsAFailure(t *testing.T) {
	for _, gone := range []bool{false, true} {
		h := newHarness(t)
		broken := h.server.observe(recovering(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("half"))
			panic("boom")
		})))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if gone {
			cancel()
		}
		func() {
			defer func() {
				if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
					t.Errorf("the response was not aborted: %v", v)
				}
			}()
			broken.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/x", nil))
		}()
		if log := h.log.String(); !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "boom") {
			t.Errorf("client gone: %v, log: %s", gone, log)
		}
	}
}

func TestPanicIsOnlyLogged(t *testing.T) {
	h := newHarness(t)
	broken := h.server.observe(recovering(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("hunter2") })))
	a := serve(t, broken, http.MethodGet, "/x")
	var p api.Problem
	if err := json.Unmarshal(a.Body.Bytes(), &p); err != nil || p.Code != api.CodeInternal || a.Code != http.StatusInternalServerError {
		t.Errorf("%d %s, %v", a.Code, a.Body, err)
	}
	if strings.Contains(a.Body.String(), "hunter2") || !strings.Contains(h.log.String(), "hunter2") {
		t.Errorf("answer %s, log %s", a.Body, h.log.String())
	}
}
