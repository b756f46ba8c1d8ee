package server

import (
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
)

// settleDialect finds the dialect of a request: that of its header, else that of
// its token (semantics §13). The answer names it.
func (c *call) settleDialect() error {
	c.dialect = c.caller.Token.Dialect
	if sent := c.r.Header.Get(api.DialectHeader); sent != "" {
		var ok bool
		if c.dialect, ok = redoubt.ParseDialect(sent); !ok {
			c.dialect = redoubt.DialectContract
			return redoubt.Invalid("header."+api.DialectHeader, "%.40q is no dialect; send contract or hosted, or leave the header out for that of the token", sent)
		}
	}
	c.w.Header().Set(api.DialectHeader, string(c.dialect))
	c.w.Header().Add("Vary", api.DialectHeader)
	return nil
}

func (c *call) hosted() bool { return c.dialect == redoubt.DialectHosted }

// difference is one way in which the hosted dialect is not the contract's
// (semantics §13). The table in docs/clients.md is made of them.
type difference struct {
	operation        string // id
	contract, hosted string // in words, for that table

	query  func(*call, url.Values) // what becomes of parameters; nil for nothing
	answer func(*call, any) any    // the answer in the hosted dialect; nil where it writes itself
}

// differences returns the table.
func differences() []difference {
	return []difference{
		{"listFindings", "`sastFindings.findings` and `scaFindings.findings`", "`findings`, and nothing beside it", nil, nil},
		{"listFindings", "`page_size` below 100 or above 3000 is an error", "brought into 1 to 3000; 0 is 100", clampPageSize, nil},
		{"listFindings", "one `issue_type`; filters of the other one are an error", "several make one list; a filter holds for the types that have it", mergeIssueTypes, nil},
		{"listFindings", "words that no filter knows are an error", "words of the hosted service that nothing here can be, as `provisionally_ignored`, select nothing", dropUnheld, nil},
		{"listFindings", "sub-objects in camelCase: `location.filePath`, `rule.cweNames`, `external_ticket.externalSlug`", "in snake_case: `file_path`, `cwe_names`, `external_slug`", nil, nil},
		{"listFindings", "`ref` in full: `refs/heads/main`", "branches by name: `main`", nil, nil},
		{"listFindings", "`reachability` as `always_reachable`, `unknown`", "as `always reachable`, `no reachability analysis`", nil, nil},
		{"listFindings", "`usage.location` as every location", "with `path`, `start_line`, `start_col`, `end_col` and `url` beside", nil, nil},
		{"listFindings", "`line_of_code_url`, `repository.url` empty where no address is known", "the address of the finding's and the project's page here", nil, nil},
		{"listFindings", "`rule_message`, `state_updated_at` may be null", "the rule's template, and `created_at`", nil, nil},
		{"listFindings", "`sourcing_policy` absent where no policy has the rule", "null", nil, nil},
		{"getFinding", "as in the list", "as in the list, in its dialect", nil, nil},
		{"listDependencies", "`transitivity` as `direct`", "as `DIRECT`, `TRANSITIVE`, `UNKNOWN_TRANSITIVITY`; `package`, `definedAt`, `resolvedUrl` and `pathToTransitivity` beside", nil, hostedDependencies},
		{"listDependencyRepositories", "`cursor` as text", "as a number, 0 on the last page", nil, hostedRepositories},
		{"searchScans", "`cursor` absent on the last page", "always there, with `hasMore`", nil, hostedScans},
		{"listPolicies", "policies of all products", "those of code and secrets: it knows no others", nil, hostedPolicies},
	}
}

// lenient returns what brings the parameters of a client of the hosted service
// into those of the contract; nil for the contract's own.
func (c *call) lenient(operation string) func(url.Values) {
	if !c.hosted() {
		return nil
	}
	return func(query url.Values) {
		for _, d := range differences() {
			if d.query != nil && d.operation == operation {
				d.query(c, query)
			}
		}
	}
}

// hostedAnswer is the transformer of answers that the library encodes.
func hostedAnswer(ctx huma.Context, _ string, v any) (any, error) {
	c := callOf(ctx.Context())
	if !c.hosted() {
		return v, nil
	}
	for _, d := range differences() {
		if d.answer != nil && d.operation == ctx.Operation().OperationID {
			v = d.answer(c, v)
		}
	}
	return v, nil
}

// org is the address of the deployment's pages.
func (c *call) org() string { return c.base + "/orgs/" + c.caller.Deployment.Slug }
