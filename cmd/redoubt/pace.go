package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// pace bounds how slowly a client may send a body or take an answer, so that
// none holds a connection, and what was made for it, for good.
type pace struct {
	clock  func() time.Time
	grace  time.Duration // in which it may do nothing
	second int64         // bytes that go through in a second of it at least
}

// defaultPace is the slowest that a client may be: one that a telephone keeps up.
func defaultPace(clock func() time.Time) pace {
	return pace{clock: clock, grace: 30 * time.Second, second: 8 << 10}
}

// handler sets the pace of all requests.
func (p pace) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Time{}) // of the answer before on this connection
		if r.Body != nil && r.Body != http.NoBody {
			r = r.WithContext(r.Context())
			body := &pacedBody{ReadCloser: r.Body, ctx: r.Context(), pace: p, control: control, started: p.clock()}
			body.extend() // also for a body that nobody reads: the server waits for its end
			defer context.AfterFunc(r.Context(), body.extend)()
			r.Body = body
		}
		next.ServeHTTP(&pacedWriter{ResponseWriter: w, pace: p, control: control}, r)
	})
}

// end is when so many bytes must be through.
func (p pace) end(started time.Time, bytes int64) time.Time {
	return started.Add(p.grace + time.Duration(bytes/p.second)*time.Second)
}

// pacedBody must come in at the pace, counted over all of it.
type pacedBody struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // of the request, whose body this is
	pace    pace
	control *http.ResponseController
	started time.Time
	read    int64
}

// Read reads until the body is over time, or the request.
func (b *pacedBody) Read(p []byte) (int, error) {
	b.extend()
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() != nil {
		return n, context.Cause(b.ctx) // which tells a server that stops from a client that is slow
	}
	if errors.Is(err, io.EOF) { // or the end of the time would look like a client that hung up
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

func (b *pacedBody) extend() {
	if b.ctx.Err() == nil {
		_ = b.control.SetReadDeadline(b.pace.end(b.started, b.read)) // not every connection has one
	}
	if b.ctx.Err() != nil { // maybe since a line ago
		_ = b.control.SetReadDeadline(b.started) // which is past: who reads gives up
	}
}

// pacedWriter must be read from at the pace, counted from each write on.
type pacedWriter struct {
	http.ResponseWriter
	pace    pace
	control *http.ResponseController
}

// Write writes until the answer is over time.
func (w *pacedWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(w.pace.end(w.pace.clock(), int64(len(p))))
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
