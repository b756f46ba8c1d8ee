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
			body.allow(p.End(body.started, 0)) // also for a body that nobody reads: the server waits for its end
			defer context.AfterFunc(r.Context(), body.giveUp)()
			r.Body = body
		}
		next.ServeHTTP(&pacedWriter{ResponseWriter: w, pace: p, control: control}, r)
	})
}

// End is when so many bytes must be through.
func (p pace) End(started time.Time, bytes int64) time.Time {
	return started.Add(p.grace + time.Duration(bytes/p.second)*time.Second)
}

// pacedBody limits the time that its reads wait for the client, over all of the body. The
// time between two reads is the server's own.
type pacedBody struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // of the request, whose body this is
	pace    pace
	control *http.ResponseController
	started time.Time
	waited  time.Duration // in reads before
	read    int64         // bytes
}

// Read reads until the body is over time, or the request.
func (b *pacedBody) Read(p []byte) (int, error) {
	from := b.pace.clock()
	b.allow(b.pace.End(from.Add(-b.waited), b.read))
	n, err := b.ReadCloser.Read(p)
	b.waited += b.pace.clock().Sub(from)
	b.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() != nil {
		return n, context.Cause(b.ctx) // which tells a server that stops from a client that is slow
	}
	if errors.Is(err, io.EOF) { // or the end of the time would look like a client that hung up
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// allow sets the time at which reads of the connection fail.
func (b *pacedBody) allow(until time.Time) {
	if b.ctx.Err() == nil {
		_ = b.control.SetReadDeadline(until) // not every connection has one
	}
	if b.ctx.Err() != nil { // maybe since a line ago
		b.giveUp()
	}
}

// giveUp ends a read that waits, and those after it.
func (b *pacedBody) giveUp() { _ = b.control.SetReadDeadline(b.started) } // which is past

// pacedWriter must be read from at the pace, counted from each write on.
type pacedWriter struct {
	http.ResponseWriter
	pace    pace
	control *http.ResponseController
}

// Write writes until the answer is over time.
func (w *pacedWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(w.pace.End(w.pace.clock(), int64(len(p))))
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
