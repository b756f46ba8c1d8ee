package policies

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
)

// defaultRules is the default number of rules in a response.
const defaultRules = 500

func listPolicies(ctx context.Context, c *core.Call, _ *core.None) (*api.ListPoliciesResponse, error) {
	policies, err := gate.SeenPolicies(ctx, c.Tx, c.Caller.Globs())
	out := &api.ListPoliciesResponse{Policies: []api.Policy{}}
	for _, p := range policies {
		out.Policies = append(out.Policies, policyOf(p))
	}
	return out, err
}

func policyOf(p model.Policy) api.Policy {
	return api.Policy{
		ID: core.Decimal(p.ID), IsDefault: p.Default, Name: p.Name,
		ProductType: "PRODUCT_TYPE_" + strings.ToUpper(p.Product.String()), Slug: p.Slug,
	}
}

// policyInput is the query for a page of a policy's rules.
type policyInput struct {
	api.PolicyRulesQuery
	list  core.List
	after int64
}

// Resolve decodes the cursor.
func (in *policyInput) Resolve(ctx huma.Context) []error {
	c := core.CallOf(ctx.Context())
	in.list = c.List("policy "+ctx.Param("policyId"), nil)
	position, err := c.Server.Cursors().Decode(in.list, in.Cursor, 1)
	if err != nil {
		return []error{&huma.ErrorDetail{Location: "query.cursor", Message: err.Error(), Value: in.Cursor}}
	}
	if position != nil {
		in.after = position[0]
	}
	return nil
}

func listPolicyRules(ctx context.Context, c *core.Call, in *policyInput) (*api.ListPolicyRulesResponse, error) {
	id := c.PathID("policyId")
	policy, err := gate.SeenPolicy(ctx, c.Tx, c.Caller.Globs(), id)
	if err != nil {
		return nil, err
	}
	if c.Hosted() && policy.Product == model.SCA {
		return nil, model.ErrNotFound // the list omits it too
	}
	limit := int(in.Limit)
	if limit == 0 {
		limit = defaultRules
	}
	rows, more, err := c.Tx.PolicyRulesWithin(ctx, c.Caller.Globs(), id, in.after, limit)
	if err != nil {
		return nil, err
	}
	out := &api.ListPolicyRulesResponse{Policy: policyOf(policy), Rules: make([]api.PolicyRule, len(rows))}
	for i, r := range rows {
		out.Rules[i] = policyRuleOf(r)
	}
	if more {
		out.Cursor, err = c.Server.Cursors().Encode(in.list, rows[len(rows)-1].ID)
	}
	return out, err
}

// updatePolicy sets the mode of one rule, the only change that the hosted service supports.
func updatePolicy(
	ctx context.Context, c *core.Call, in *core.Request[api.UpdatePolicyRequest],
) (*api.UpdatePolicyResponse, error) {
	id := c.PathID("policyId")
	mode, _ := model.ParsePolicyMode(strings.ToLower(strings.TrimPrefix(in.Body.PolicyMode, "MODE_")))
	r, err := c.Tx.SetRuleMode(ctx, id, in.Body.RulePath, mode)
	if err != nil {
		return nil, err
	}
	return &api.UpdatePolicyResponse{PolicyID: core.Decimal(id), UpdatedRule: policyRuleOf(r)}, nil
}

func policyRuleOf(r model.PolicyRule) api.PolicyRule {
	return api.PolicyRule{
		ID: core.Decimal(r.ID), Path: r.Rule.Name, Category: r.Rule.Category,
		Confidence: core.Upper("CONFIDENCE_", r.Rule.Confidence, model.ConfidenceMedium),
		Severity:   core.Upper("SEVERITY_", r.Rule.Severity, model.SeverityMedium),
		PolicyMode: core.Upper("MODE_", r.Mode, model.ModeMonitor), Source: sourceOf(r.Rule.Origin),
		CWECategories: core.OrEmpty(r.Rule.CWE), OWASPCategories: core.OrEmpty(r.Rule.OWASP),
		VulnerabilityClass: core.OrEmpty(r.Rule.VulnerabilityClasses),
		Languages:          core.OrEmpty(r.Rule.Languages),
		Technologies:       core.OrEmpty(r.Rule.Technologies), Rulesets: core.OrEmpty(r.Rule.Rulesets),
		RegistryMaintainer: maintainer(r.Rule.Origin),
		LastChangeAt:       api.Time{Time: r.LastChangeAt}, LastChangeBy: r.LastChangeBy, URL: r.Rule.URL,
	}
}

// sourceOf returns the source of a rule; rules without an origin are custom.
func sourceOf(origin string) string {
	switch origin {
	case "community", "pro":
		return "SOURCE_" + strings.ToUpper(origin)
	}
	return "SOURCE_CUSTOM"
}

// maintainer returns the maintainer of the rules of a public registry.
func maintainer(origin string) string {
	switch origin {
	case "community", "pro":
		return "semgrep"
	}
	return ""
}

// HostedPolicies returns policies in the hosted dialect, which has none for the supply chain.
func HostedPolicies(_ *core.Call, v any) any {
	in, ok := v.(*api.ListPoliciesResponse)
	if !ok {
		return v
	}
	out := api.ListPoliciesResponse{Policies: []api.Policy{}}
	for _, p := range in.Policies {
		if p.ProductType != "PRODUCT_TYPE_SCA" {
			out.Policies = append(out.Policies, p)
		}
	}
	return &out
}
