package core

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Responses to GET requests have an ETag of their content. It changes with the content for any
// reason, such as the time or the version of the server. Lists that are computed from one state of
// the deployment have an ETag of that state instead, which is computed before the list. It covers
// the deployment's version and name, the server's address and version, the query and the caller. It
// is weak, because the encoding of the same list may differ (docs/reference/requests.md).

// ifNoneMatch is the request header with the ETags that the client has.
const ifNoneMatch = "If-None-Match"

// untagged lists the GET operations without an ETag, with the reason.
var untagged = map[string]string{
	"ping":               "the response is empty",
	"pingAgent":          "the response is empty",
	"checkHealth":        "the response describes only the moment",
	"exportFindings":     "the ETag would be sent before the content is read",
	"listFindingChanges": "the cursor identifies what the client has",
	"getSBOMExport":      "each response has a newly signed URL",
	"downloadSBOM":       "it is fetched once, by a URL that expires",
}

// compared reports whether the responses of an operation have an ETag of their content.
func (o *operation) compared() bool {
	return o.described.Method == http.MethodGet && !o.tagged && untagged[o.described.OperationID] == ""
}

// Conditional returns a handler of a list that responds with 304 if the client has the list.
func Conditional(h Handler) Handler {
	return func(a huma.API, o *operation) {
		o.mayBeKnown()
		h(a, o)
		o.answers("ETag", "Identifies the state of the list; for If-None-Match.")
	}
}

// Listed returns a handler of a list that depends on the state of the deployment only. The list
// must not depend on the time or on data that deployments share. The handler responds with 304 if
// the client has the list.
func Listed[In, Out any](fn func(context.Context, *Call, *In) (*Out, error)) Handler {
	return Conditional(func(a huma.API, o *operation) {
		huma.Register(a, *o.described, func(ctx context.Context, in *In) (*reply[Out], error) {
			c, out := CallOf(ctx), &reply[Out]{http.StatusNotModified, new(Out)}
			err := c.View(ctx, func(ctx context.Context) error {
				if c.Known([]any{c.Tx.Version(), c.Tx.LastCommit()}) {
					return nil
				}
				body, err := fn(ctx, c, in)
				out.Status, out.Body = http.StatusOK, body
				return err
			})
			if err != nil {
				c.W.Header().Del("ETag")
				return nil, c.failed(err)
			}
			return out, nil
		})
	})
}

// mayBeKnown documents the If-None-Match header and the 304 response.
func (o *operation) mayBeKnown() {
	o.described.Parameters = append(o.described.Parameters, &huma.Param{
		Name: ifNoneMatch, In: "header", Example: `W/"5f1d0c2e9a7b44c08d3e6f21"`,
		Description: "ETag of a previous response. If nothing has changed, the response is a 304 without a body " +
			"(Redoubt extension).",
		Schema: &huma.Schema{Type: huma.TypeString},
	})
	o.described.Responses["304"] = &huma.Response{Description: "The response is the one identified by If-None-Match."}
}

// NotModified is a response without a body.
type NotModified struct{}

// Header implements Writer.
func (NotModified) Header(http.Header) {}

// WriteTo implements io.WriterTo.
func (NotModified) WriteTo(io.Writer) (int64, error) { return 0, nil }

// Known sets the ETag of a list to that of state, and reports whether the client has the list.
func (c *Call) Known(state any) bool {
	tag := TagOf([]any{
		c.Server.Version, state, c.Caller.Deployment.ID, c.Caller.Deployment.Slug,
		c.Caller.Globs(), c.dialect, c.Base, c.R.URL.Path, c.R.URL.RawQuery,
	})
	c.W.Header().Set("ETag", `W/"`+tag+`"`)
	return c.has(tag)
}

// has reports whether the request contains the tag.
func (c *Call) has(tag string) bool {
	for _, sent := range c.R.Header.Values(ifNoneMatch) {
		if strings.TrimSpace(sent) == "*" {
			return true
		}
		for _, one := range oneTag.FindAllStringSubmatch(sent, -1) {
			if one[1] == tag {
				return true
			}
		}
	}
	return false
}
