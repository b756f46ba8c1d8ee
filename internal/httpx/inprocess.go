package httpx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/redoubt/redoubt/internal/auth"
)

// InProcess is an http.RoundTripper that sends requests to a handler of the same process.
type InProcess struct {
	Handler http.Handler
	// Prepare returns the request that the handler receives. If nil, it is sent unchanged.
	Prepare func(*http.Request) *http.Request
}

// RoundTrip implements http.RoundTripper. It returns when the handler has written the header; the
// body follows as it is written.
func (t InProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:1"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if t.Prepare != nil {
		in = t.Prepare(in)
	}
	reader, writer := io.Pipe()
	w := &pipedResponse{header: http.Header{}, body: writer, begun: make(chan struct{})}
	go func() {
		defer func() {
			err := io.EOF
			if v := recover(); v != nil {
				err = fmt.Errorf("the response was interrupted: %v", v)
			}
			w.WriteHeader(http.StatusOK)
			writer.CloseWithError(err)
		}()
		t.Handler.ServeHTTP(w, in)
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
		return nil, errors.Join(context.Cause(r.Context()), reader.Close())
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: reader, ContentLength: -1, Request: r,
	}, nil
}

// pipedResponse is the http.ResponseWriter of an InProcess request.
type pipedResponse struct {
	header, sent http.Header
	body         *io.PipeWriter
	status       int
	begun        chan struct{}
}

// Header implements http.ResponseWriter.
func (w *pipedResponse) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. Informational responses are dropped.
func (w *pipedResponse) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status, w.sent = status, w.header.Clone()
	close(w.begun)
}

// Write implements http.ResponseWriter.
func (w *pipedResponse) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

type callerKey struct{}

// WithCaller stores the caller of the requests that a process sends to its own handler.
// Callers.Find returns it and reads no token. Requests from the network cannot set it.
func WithCaller(ctx context.Context, c auth.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}
