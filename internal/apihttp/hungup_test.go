package apihttp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"

	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// TestAClientThatHangsUpIsNoFailure: not in the log, not in the metrics. A server
// that stops, and a database that is busy, still are.
func TestAClientThatHangsUpIsNoFailure(t *testing.T) {
	for _, c := range []struct {
		name   string
		gone   bool  // the request is cancelled
		why    error // its cause; nil is the client
		err    error // what the handler answers
		status int
		level  string
	}{
		{"the client is gone", true, nil, fmt.Errorf("read findings: %w", context.Canceled), 499, "INFO"},
		{"the server stops", true, model.ErrUnavailable, fmt.Errorf("read findings: %w", context.Canceled), 503, "ERROR"},
		{"it takes too long", false, nil, context.DeadlineExceeded, 503, "ERROR"},
		{"the database is busy", false, nil, model.ErrUnavailable, 503, "ERROR"},
		{"something broke while the client went", true, nil, fmt.Errorf("disk full"), 500, "ERROR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t)
			failing := h.server.Observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { core.WriteProblem(w, r, core.ProblemOf(c.err)) }))
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
			if err := json.Unmarshal([]byte(h.log.String()), &line); err != nil || line.Level != c.level || line.Status != c.status {
				t.Errorf("the log has %s, %v", h.log.String(), err)
			}
			metrics := serve(t, h.server.MetricsHandler(), http.MethodGet, "/metrics")
			if !contains(metrics.body, fmt.Sprintf(`redoubt_http_requests_total{method="GET",route="unmatched",status="%d"} 1`, c.status)) {
				t.Errorf("the metrics do not count a %d", c.status)
			}
		})
	}
}

// TestAPanicWithinAnAnswerIsAFailure: the status is sent by then, so the line in
// the log has to say it, whether or not the client is still there.
func TestAPanicWithinAnAnswerIsAFailure(t *testing.T) {
	for _, gone := range []bool{false, true} {
		h := newHarness(t)
		broken := h.server.Observe(core.Recovering(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
					t.Errorf("the answer is not broken off: %v", v)
				}
			}()
			broken.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/x", nil))
		}()
		if log := h.log.String(); !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "boom") {
			t.Errorf("client gone: %v, the log has %s", gone, log)
		}
	}
}

// TestTriedTokensAreSlowed, and valid ones from the same address are not.
func TestTriedTokensAreSlowed(t *testing.T) {
	h := newHarness(t)
	var a answer
	for range 301 {
		a = h.send(http.MethodGet, findingsPath, "", "Authorization", "Bearer rdt_1_x_y")
	}
	h.wantProblem(a, "rate_limited")
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
	}
	if a := h.send(http.MethodGet, findingsPath, ""); a.status != http.StatusOK {
		t.Errorf("a valid token: %d %s", a.status, a.body)
	}
	h.wantProblem(h.send(http.MethodGet, findingsPath, "", "Authorization", ""), "unauthenticated")
}
