package core

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/redact"
)

// observe adds a Call with a request id to the context of every request, and logs the request at
// its end. The log never contains queries or secrets of tokens.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := s.Clock()
		out := &recorder{ResponseWriter: w}
		c := &Call{Server: s, requestID: requestID(r), path: r.URL.Path, route: "unmatched"}
		origin := httpx.Trust{
			Proxies:   s.TrustedProxies,
			PublicURL: s.PublicURL,
			Listening: s.Listening,
			Names:     s.Names,
		}.Origin(r)
		c.Base, c.secure = origin.Base, origin.Secure
		header(w.Header(), c)
		nameDialect(w.Header(), r)
		s.metrics.inFlight.Inc()
		defer func() {
			s.metrics.inFlight.Dec()
			s.logRequest(r, c, out, s.Clock().Sub(started))
		}()
		c.W = out
		defer func() { drain(out, r, out.status) }()
		next.ServeHTTP(out, r.WithContext(context.WithValue(httpx.WithOrigin(r.Context(), origin), callKey{}, c)))
	})
}

// header sets the headers of every response. Pages may relax them.
func header(h http.Header, c *Call) {
	h.Set("X-Request-Id", c.requestID)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if c.secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// logRequest logs and counts a finished request.
func (s *Server) logRequest(r *http.Request, c *Call, out *recorder, took time.Duration) {
	status := out.status
	if status == 0 {
		status = http.StatusOK
	}
	if status == http.StatusServiceUnavailable && httpx.HungUp(r, c.cause) {
		status = httpx.StatusHungUp
	}
	attrs := []slog.Attr{
		slog.String("request_id", c.requestID), slog.String("method", method(r.Method)), slog.String("route", c.route),
		slog.Int("status", status), slog.Duration("duration", took), slog.Int64("bytes", out.bytes),
	}
	if c.Caller.Deployment.ID != 0 {
		attrs = append(attrs, slog.Int64("deployment", c.Caller.Deployment.ID), slog.String("token", c.Caller.Token.PublicID))
	}
	level := slog.LevelInfo
	if c.cause != nil {
		attrs = append(attrs, slog.String("cause", c.cause.Error()))
	}
	if status >= http.StatusInternalServerError || c.panicked {
		level = slog.LevelError
	}
	s.Logger.LogAttrs(r.Context(), level, "request", attrs...)
	s.metrics.observe(method(r.Method), c.route, status, took, out.bytes)
}

// method returns a known method or "other", so that clients cannot write arbitrary text into logs
// and labels.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

var saneRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// requestID returns the client's request id if it is harmless, or else a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); saneRequestID.MatchString(id) && redact.Text(id) == id {
		return id
	}
	return strings.ToLower(rand.Text())
}

// recorder records the status and the size of a response.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader records the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap supports http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// recovering responds to a panic with a problem and logs its cause and stack. A response that was
// already started is aborted, so that the client does not mistake it for a complete one.
func recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := CallOf(r.Context())
		begun := &recorder{ResponseWriter: w}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			c.panicked = true
			c.cause = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			if begun.status != 0 {
				panic(http.ErrAbortHandler)
			}
			writeProblem(begun, r, ProblemOf(c.cause))
		}()
		c.W = begun
		next.ServeHTTP(begun, r)
	})
}
