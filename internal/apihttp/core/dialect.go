package core

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// inOneDialect are operations whose findings are the contract's, whatever is asked
// for: extensions, which no client of the hosted service knows.
var inOneDialect = []string{"listFindingChanges", "exportFindings"}

// nameDialect says in an answer of the API in which dialect it is, before it is known
// who asks: errors look the same in both.
func nameDialect(h http.Header, r *http.Request) {
	if r.URL.Path != "/api" && !strings.HasPrefix(r.URL.Path, "/api/") {
		return
	}
	dialect, ok := model.ParseDialect(r.Header.Get(api.DialectHeader))
	if !ok {
		dialect = model.DialectContract
	}
	h.Set(api.DialectHeader, string(dialect))
	h.Add("Vary", api.DialectHeader)
}

// settleDialect finds the dialect of a request to an operation: that of its header,
// else that of its token (docs/reference/response-formats.md). The answer names it.
func (c *Call) settleDialect(operation string) error {
	c.dialect = cmp.Or(c.Caller.Token.Dialect, model.DialectContract)
	if sent := c.R.Header.Get(api.DialectHeader); sent != "" {
		var ok bool
		if c.dialect, ok = model.ParseDialect(sent); !ok {
			c.dialect = model.DialectContract
			c.W.Header().Set(api.DialectHeader, string(c.dialect))
			return model.Invalid("header."+api.DialectHeader,
				"%.40q is no dialect; send contract or hosted, or leave the header out for that of the token", sent)
		}
	}
	if slices.Contains(inOneDialect, operation) {
		c.dialect = model.DialectContract
	}
	c.W.Header().Set(api.DialectHeader, string(c.dialect))
	return nil
}

// Hosted reports whether the answer is in the hosted dialect.
func (c *Call) Hosted() bool { return c.dialect == model.DialectHosted }

// Difference is one way in which the hosted dialect is not the contract's
// (docs/reference/response-formats.md). The table in docs/guides/clients.md is made of them.
type Difference struct {
	Operation        string // id
	Contract, Hosted string // in words, for that table

	Query  func(*Call, url.Values) // what becomes of parameters; nil for nothing
	Answer func(*Call, any) any    // the answer in the hosted dialect; nil where it writes itself
}

// hostedAnswer is the transformer of answers that the library encodes.
func hostedAnswer(ctx huma.Context, _ string, v any) (any, error) {
	c := CallOf(ctx.Context())
	if !c.Hosted() {
		return v, nil
	}
	for _, d := range c.Server.spec.Differences {
		if d.Answer != nil && d.Operation == ctx.Operation().OperationID {
			v = d.Answer(c, v)
		}
	}
	return v, nil
}

// Org is the address of the deployment's pages.
func (c *Call) Org() string { return c.Base + "/orgs/" + c.Caller.Deployment.Slug }

// hostedFindingsQuery is what a query of the hosted dialect asks for beyond what
// the contract's parameters can say.
type hostedFindingsQuery struct {
	PageSize   int      // 0: the default
	IssueTypes []string // none: code
	Nothing    bool     // it selects nothing
}

// HostedTransitivity returns the word of the hosted service for a transitivity.
func HostedTransitivity(word string) string {
	if word == model.TransitivityUnknown.String() {
		return "UNKNOWN_TRANSITIVITY"
	}
	return strings.ToUpper(word)
}
