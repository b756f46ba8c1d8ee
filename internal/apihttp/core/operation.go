package core

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// None is the input of an operation without parameters other than its path.
type None struct{}

// Request is the input of an operation with a JSON body and no further checks.
type Request[T any] struct{ Body T }

// Resolve checks the members of the body that repeat the path.
func (r *Request[T]) Resolve(ctx huma.Context) []error { return Copies(ctx, &r.Body) }

// reply is a response that huma encodes.
type reply[T any] struct {
	Status int
	Body   *T // not sent with a status that has no body
}

// stream is a response that is written in parts.
type stream struct{ Body func(huma.Context) }

// operation is a handler that is registered with huma, which decodes, validates and documents the
// types of the handler.
type operation struct {
	described  *huma.Operation
	handle     func(huma.Context)
	params     map[string]bool            // query parameters; true for lists
	body       *huma.Schema               // of JSON; nil for others
	keyed      bool                       // accepts an Idempotency-Key
	tagged     bool                       // has an ETag of the editable state
	bodyNeeded bool                       // an empty body is rejected
	files      *huma.RequestBody          // of files; nil for JSON or no body
	content    map[string]*huma.MediaType // of a response that is a file; nil for JSON
}

// Handler registers an operation with huma.
type Handler func(h huma.API, o *operation)

// View returns a handler that reads one state of the deployment.
func View[In, Out any](fn func(context.Context, *Call, *In) (*Out, error)) Handler {
	return Plain(func(ctx context.Context, c *Call, in *In) (out *Out, err error) {
		err = c.View(ctx, func(ctx context.Context) error {
			out, err = fn(ctx, c, in)
			return err
		})
		return out, err
	})
}

// Update returns a handler that changes the deployment in one transaction.
func Update[In, Out any](fn func(context.Context, *Call, *In) (*Out, error)) Handler {
	return Keyed(Plain(func(ctx context.Context, c *Call, in *In) (*Out, error) {
		return RunIdempotent(ctx, c, func(ctx context.Context) (*Out, error) { return fn(ctx, c, in) })
	}))
}

// Plain returns a handler that opens its own transactions. Responses to GET requests have an ETag
// of their content, unless the operation is in untagged.
func Plain[In, Out any](fn func(context.Context, *Call, *In) (*Out, error)) Handler {
	return func(h huma.API, o *operation) {
		compared := o.compared()
		if compared {
			o.mayBeKnown()
			defer o.answers("ETag", "Identifies the content of the response; for If-None-Match.")
		}
		huma.Register(h, *o.described, func(ctx context.Context, in *In) (*reply[Out], error) {
			c := CallOf(ctx)
			out, err := fn(ctx, c, in)
			if err != nil {
				return nil, c.failed(err)
			}
			if c.Tag != "" {
				c.state = TagOf(out)
			}
			if c.setETag() || compared && c.Known(out) {
				return &reply[Out]{Status: http.StatusNotModified, Body: out}, nil
			}
			return &reply[Out]{Status: http.StatusOK, Body: out}, nil
		})
	}
}

// Writer is a response that writes itself.
type Writer interface {
	Header(http.Header)
	io.WriterTo
}

// Streamed returns a handler whose response is written in parts. Out is its type in openapi.json.
func Streamed[In, Out any](fn func(context.Context, *Call, *In) (Writer, error)) Handler {
	return func(h huma.API, o *operation) {
		schema := h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Out](), true, "")
		o.described.Responses["200"] = &huma.Response{
			Content: map[string]*huma.MediaType{"application/json": {Schema: schema}},
		}
		huma.Register(h, *o.described, func(ctx context.Context, in *In) (*stream, error) {
			c := CallOf(ctx)
			out, err := fn(ctx, c, in)
			if err != nil {
				return nil, c.failed(err)
			}
			return &stream{Body: func(huma.Context) { c.write(out) }}, nil
		})
	}
}

// write sends a response. A failure after the response was started aborts the connection, which is
// the only signal left.
func (c *Call) write(out Writer) {
	out.Header(c.W.Header())
	_, known := out.(NotModified)
	if c.Tag != "" {
		var body bytes.Buffer
		if _, err := out.WriteTo(&body); err != nil {
			c.cause = err
			panic(http.ErrAbortHandler)
		}
		c.state, out = TagOf(body.Bytes()), readyAnswer{&body}
	}
	if c.setETag() || known {
		c.W.WriteHeader(http.StatusNotModified)
		return
	}
	if _, err := out.WriteTo(c.W); err != nil {
		c.cause = err
		panic(http.ErrAbortHandler)
	}
}

// readyAnswer is a response that was already written to memory.
type readyAnswer struct{ io.WriterTo }

func (readyAnswer) Header(http.Header) {}

// setETag sets the ETag of the response, if it has one, and reports whether the client has this
// response. The tag has two parts: one of the editable state, which If-Match compares, and one of
// the whole response.
func (c *Call) setETag() (known bool) {
	if c.Tag == "" {
		return false
	}
	tag := c.Tag + "." + c.state
	c.W.Header().Set("ETag", `"`+tag+`"`)
	return (c.R.Method == http.MethodGet || c.R.Method == http.MethodHead) && c.has(tag)
}

// failed converts an error to a complete problem.
func (c *Call) failed(err error) error {
	p := ProblemOf(err)
	c.complete(p)
	return p
}

// format encodes and decodes JSON for huma.
var format = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	},
	Unmarshal: json.Unmarshal,
}

// memory returns a body that was already read.
func memory(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
