package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// pace sets the minimum speed at which a client sends a body or reads a response, so that no client
// occupies a connection indefinitely.
type pace struct {
	clock  func() time.Time
	grace  time.Duration // time without a minimum
	second int64         // minimum bytes per second
}

// defaultPace returns a pace that mobile clients can meet.
func defaultPace(clock func() time.Time) pace {
	return pace{clock: clock, grace: 30 * time.Second, second: 8 << 10}
}

// handler applies the pace to all requests.
func (p pace) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Time{}) // of the previous response on this connection
		if r.Body != nil && r.Body != http.NoBody {
			r = r.WithContext(r.Context())
			body := &pacedBody{ReadCloser: r.Body, ctx: r.Context(), pace: p, control: control, started: p.clock()}
			body.allow(p.End(body.started, 0)) // also for unread bodies: the server waits for their end
			defer context.AfterFunc(r.Context(), body.abort)()
			r.Body = body
		}
		next.ServeHTTP(&pacedWriter{ResponseWriter: w, pace: p, control: control}, r)
	})
}

// End returns the time until which a number of bytes must be transferred.
func (p pace) End(started time.Time, bytes int64) time.Time {
	return started.Add(p.grace + time.Duration(bytes/p.second)*time.Second)
}

// pacedBody limits the total time that reads of a body wait for the client. Time between reads is
// not counted, because the server spends it.
type pacedBody struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // of the request, whose body this is
	pace    pace
	control *http.ResponseController
	started time.Time
	waited  time.Duration // in earlier reads
	read    int64         // bytes
}

// Read implements io.Reader. It fails when the time limit is exceeded or the request is canceled.
func (b *pacedBody) Read(p []byte) (int, error) {
	from := b.pace.clock()
	b.allow(b.pace.End(from.Add(-b.waited), b.read))
	n, err := b.ReadCloser.Read(p)
	b.waited += b.pace.clock().Sub(from)
	b.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() != nil {
		return n, context.Cause(b.ctx) // distinguishes a server shutdown from a slow client
	}
	if errors.Is(err, io.EOF) { // otherwise a later timeout would look like a lost connection
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// allow sets the deadline of reads.
func (b *pacedBody) allow(until time.Time) {
	if b.ctx.Err() == nil {
		_ = b.control.SetReadDeadline(until) // not every connection supports deadlines
	}
	if b.ctx.Err() != nil { // possibly canceled since the last check
		b.abort()
	}
}

// abort ends the current and later reads.
func (b *pacedBody) abort() { _ = b.control.SetReadDeadline(b.started) } // in the past

// pacedWriter requires that the client reads at the pace, measured from each write.
type pacedWriter struct {
	http.ResponseWriter
	pace    pace
	control *http.ResponseController
}

// Write implements io.Writer. It fails when the time limit is exceeded.
func (w *pacedWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(w.pace.End(w.pace.clock(), int64(len(p))))
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
