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

// None is the input of an operation that takes nothing but its path.
type None struct{}

// Request is the input of an operation with a JSON body and no further checks.
type Request[T any] struct{ Body T }

// Resolve checks the copies of the path in the body.
func (r *Request[T]) Resolve(ctx huma.Context) []error { return Copies(ctx, &r.Body) }

// reply is what huma encodes.
type reply[T any] struct {
	Status int
	Body   *T // not sent with a status that has none
}

// stream is an answer that is written piece by piece.
type stream struct{ Body func(huma.Context) }

// operation is a handler on its way into huma: it decodes, validates and
// describes what the types of the handler say.
type operation struct {
	described  *huma.Operation
	handle     func(huma.Context)
	params     map[string]bool            // query parameters, and whether each is a list
	body       *huma.Schema               // of JSON; nil without
	keyed      bool                       // takes an Idempotency-Key
	tagged     bool                       // has a tag of what can be changed
	bodyNeeded bool                       // an empty body is refused
	files      *huma.RequestBody          // of files; nil for JSON or no body
	content    map[string]*huma.MediaType // of an answer that is a file; nil for JSON
}

// Handler makes an operation of a function.
type Handler func(h huma.API, o *operation)

// View is a handler that reads one state of the deployment.
func View[In, Out any](fn func(context.Context, *Call, *In) (*Out, error)) Handler {
	return Plain(func(ctx context.Context, c *Call, in *In) (out *Out, err error) {
		err = c.View(ctx, func(ctx context.Context) error {
			out, err = fn(ctx, c, in)
			return err
		})
		return out, err
	})
}

// Update is a handler that changes the deployment.
func Update[In, Out any](fn func(context.Context, *Call, *In) (*Out, error)) Handler {
	return Keyed(Plain(func(ctx context.Context, c *Call, in *In) (*Out, error) {
		return RunIdempotent(ctx, c, func(ctx context.Context) (*Out, error) { return fn(ctx, c, in) })
	}))
}

// Plain is a handler that opens what it needs itself. What is read has a tag of what the
// answer says, unless untagged says why not.
func Plain[In, Out any](fn func(context.Context, *Call, *In) (*Out, error)) Handler {
	return func(h huma.API, o *operation) {
		compared := o.compared()
		if compared {
			o.mayBeKnown()
			defer o.answers("ETag", "Names what the answer says; for If-None-Match.")
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

// Writer is an answer that writes itself.
type Writer interface {
	Header(http.Header)
	io.WriterTo
}

// Streamed is a handler whose answer is written piece by piece; Out says what
// it looks like.
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

// write sends an answer. Once it has begun, a failure is the connection's, and
// breaking off is all that is left to say so.
func (c *Call) write(out Writer) {
	out.Header(c.W.Header())
	_, known := out.(NotModified)
	if c.Tag != "" {
		var whole bytes.Buffer
		if _, err := out.WriteTo(&whole); err != nil {
			c.cause = err
			panic(http.ErrAbortHandler)
		}
		c.state, out = TagOf(whole.Bytes()), readyAnswer{&whole}
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

// readyAnswer is one that was written to memory, with its header.
type readyAnswer struct{ io.WriterTo }

func (readyAnswer) Header(http.Header) {}

// setETag sets the header of the answer's tag, where it has one, and reports whether
// the client has just this answer. The tag has two parts: of what can be changed here,
// which is all that If-Match looks at, and of the whole answer.
func (c *Call) setETag() (known bool) {
	if c.Tag == "" {
		return false
	}
	tag := c.Tag + "." + c.state
	c.W.Header().Set("ETag", `"`+tag+`"`)
	return (c.R.Method == http.MethodGet || c.R.Method == http.MethodHead) && c.has(tag)
}

// failed turns an error into the problem that huma writes.
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

// memory is a body that was read already.
func memory(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
