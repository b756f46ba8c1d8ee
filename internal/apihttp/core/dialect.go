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

// inOneDialect lists operations that always return findings in the contract's format. They are
// extensions that no client of the hosted service uses.
var inOneDialect = []string{"listFindingChanges", "exportFindings"}

// nameDialect sets the dialect header of API responses before the caller is authenticated. Errors
// are the same in both dialects.
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

// negotiateDialect determines the dialect of a request: that of its header, or else that of its token
// (docs/reference/response-formats.md). The response header contains it.
func (c *Call) negotiateDialect(operation string) error {
	c.dialect = cmp.Or(c.Caller.Token.Dialect, model.DialectContract)
	if sent := c.R.Header.Get(api.DialectHeader); sent != "" {
		var ok bool
		if c.dialect, ok = model.ParseDialect(sent); !ok {
			c.dialect = model.DialectContract
			c.W.Header().Set(api.DialectHeader, string(c.dialect))
			return model.Invalid("header."+api.DialectHeader,
				"invalid dialect %.40q: send contract or hosted, or omit the header to use the token's dialect", sent)
		}
	}
	if slices.Contains(inOneDialect, operation) {
		c.dialect = model.DialectContract
	}
	c.W.Header().Set(api.DialectHeader, string(c.dialect))
	return nil
}

// Hosted reports whether the response is in the hosted dialect.
func (c *Call) Hosted() bool { return c.dialect == model.DialectHosted }

// Difference is a difference between the hosted dialect and the contract
// (docs/reference/response-formats.md). The table in docs/guides/clients.md is generated from them.
type Difference struct {
	Operation        string // id
	Contract, Hosted string // text for the table

	Query  func(*Call, url.Values) // converts parameters; nil if there is nothing to convert
	Answer func(*Call, any) any    // converts the response; nil if the handler writes it
}

// hostedAnswer converts the responses that the library encodes to the hosted dialect.
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

// Org returns the address of the deployment's pages.
func (c *Call) Org() string { return c.Base + "/orgs/" + c.Caller.Deployment.Slug }

// hostedFindingsQuery contains the parts of a hosted query that the contract's parameters cannot
// express.
type hostedFindingsQuery struct {
	PageSize   int      // 0 means the default
	IssueTypes []string // empty means code
	Nothing    bool     // selects nothing
}

// HostedTransitivity returns the hosted service's name of a transitivity.
func HostedTransitivity(word string) string {
	if word == model.TransitivityUnknown.String() {
		return "UNKNOWN_TRANSITIVITY"
	}
	return strings.ToUpper(word)
}
