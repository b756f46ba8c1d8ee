package core

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// What is read has a tag as well, which names what it says, so it is right whatever changes the answer: another
// deployment, the hour, a server's answer. Of lists that are made of one state of the deployment it names that
// state, which is told without making the list: the deployment's version, its name and the server's in links, the
// program, the query and who asks. It is weak: the same tag is the same list, and the bytes may be packed in
// another way (docs/reference/requests.md).

// ifNoneMatch is the header of the tags of answers that a client has.
const ifNoneMatch = "If-None-Match"

// untagged are the operations by GET that have no tag, and why.
var untagged = map[string]string{
	"ping":               "it says nothing",
	"pingAgent":          "it says nothing",
	"checkHealth":        "it says nothing that stays",
	"exportFindings":     "it is sent as it is read, and its tag would come first",
	"listFindingChanges": "its cursor says what the client has",
	"getSBOMExport":      "the address in it is signed anew each time",
	"downloadSBOM":       "it is fetched once, by an address that lapses",
}

// compared reports whether an operation has a tag of what its answer says.
func (o *operation) compared() bool {
	return o.described.Method == http.MethodGet && !o.tagged && untagged[o.described.OperationID] == ""
}

// Conditional is a handler of a list that answers 304 to who has it already.
func Conditional(h Handler) Handler {
	return func(a huma.API, o *operation) {
		o.mayBeKnown()
		h(a, o)
		o.answers("ETag", "Names the state of the list; for If-None-Match.")
	}
}

// Listed is a handler of a list that is made of one state of the deployment, and of
// nothing else: not of the time of day, nor of what deployments share. It answers
// 304 to who has it already.
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

// mayBeKnown describes the header of what the client has.
func (o *operation) mayBeKnown() {
	o.described.Parameters = append(o.described.Parameters, &huma.Param{
		Name: ifNoneMatch, In: "header", Example: `W/"5f1d0c2e9a7b44c08d3e6f21"`,
		Description: "The ETag of an answer that the client has: while it is the same, the answer is 304 without a body " +
			"(an extension).",
		Schema: &huma.Schema{Type: huma.TypeString},
	})
	o.described.Responses["304"] = &huma.Response{Description: "The answer is the one that If-None-Match names."}
}

// NotModified is the answer without a body.
type NotModified struct{}

// Header sets nothing.
func (NotModified) Header(http.Header) {}

// WriteTo writes nothing.
func (NotModified) WriteTo(io.Writer) (int64, error) { return 0, nil }

// Known tags a list by the state that it is made of, and reports whether the
// client has it.
func (c *Call) Known(state any) bool {
	tag := TagOf([]any{
		c.Server.Version, state, c.Caller.Deployment.ID, c.Caller.Deployment.Slug,
		c.Caller.Globs(), c.dialect, c.Base, c.R.URL.Path, c.R.URL.RawQuery,
	})
	c.W.Header().Set("ETag", `W/"`+tag+`"`)
	return c.has(tag)
}

// has reports whether the client has the answer of a tag.
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
