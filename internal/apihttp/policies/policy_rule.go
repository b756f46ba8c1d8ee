package policies

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/policy/starter"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/store"
)

// addPolicyRules adds all rules, or none if one is invalid.
func addPolicyRules(
	ctx context.Context, c *core.Call, in *core.Request[api.AddPolicyRulesRequest],
) (*api.AddPolicyRulesResponse, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	mode, _ := model.ParsePolicyMode(b.Mode)
	if b.Rule != "" && b.Text == "" && !b.Starter {
		return addKnownRule(ctx, c, p, b.Rule, mode)
	}
	rules, err := rulesToAdd(p.Product, b)
	if err != nil {
		return nil, err
	}
	list := make([]store.Serving, len(rules))
	for i, r := range rules {
		content, err := semgrep.ServedRule(r.Text, r.Product)
		if err != nil {
			return nil, err
		}
		list[i] = store.Serving{
			Rule: content, Text: r.Text, Checked: b.Checked || b.Starter, Starter: b.Starter, Mode: mode, PolicyID: p.ID,
		}
	}
	served, err := c.Tx.ServeRules(ctx, list)
	if err != nil {
		return nil, err
	}
	out := &api.AddPolicyRulesResponse{Policy: policyOf(p), Rules: make([]api.AddedRule, len(rules))}
	for i, s := range served {
		out.Rules[i] = api.AddedRule{
			ID:      core.Decimal(s.ID),
			Path:    rules[i].ID,
			Mode:    s.Mode.String(),
			Version: int64(s.Version),
		}
	}
	return out, nil
}

// rulesToAdd returns the rules of a text, or the starter rules of a product.
func rulesToAdd(product model.IssueType, b *api.AddPolicyRulesRequest) ([]policy.Rule, error) {
	switch {
	case b.Rule != "" || b.Starter == (b.Text != ""):
		return nil, &model.InvalidError{Fields: []model.FieldError{
			{Location: "body.text", Message: "send exactly one of text, rule and starter"},
		}}
	case b.Starter:
		rules, err := starter.Rules()
		return slices.DeleteFunc(rules, func(r policy.Rule) bool { return r.Product != product }), err
	}
	rules, err := policy.Gather(product, policy.File{Name: "text", Text: []byte(b.Text)})
	return rules, inText(err)
}

// addKnownRule adds a rule of another policy to a policy. A rule that is known from reports only is
// listed, but not served.
func addKnownRule(
	ctx context.Context, c *core.Call, p model.Policy, path string, mode model.PolicyMode,
) (*api.AddPolicyRulesResponse, error) {
	out := &api.AddPolicyRulesResponse{Policy: policyOf(p)}
	served, err := c.Tx.ServedRules(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(served, func(s model.ServedRule) bool { return s.Rule.Name == path }); i >= 0 {
		s, err := c.Tx.ServeRule(ctx, store.Serving{
			Rule: served[i].Rule, Text: served[i].Text, Checked: served[i].Checked, Starter: served[i].Starter,
			Mode: mode, PolicyID: p.ID,
		})
		out.Rules = []api.AddedRule{{ID: core.Decimal(s.ID), Path: path, Mode: s.Mode.String(), Version: int64(s.Version)}}
		return out, err
	}
	policies, err := c.Tx.Policies(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range policies {
		if other.Product != p.Product {
			continue
		}
		found, err := c.Tx.PolicyRuleNamed(ctx, other.ID, path)
		if errors.Is(err, model.ErrNotFound) {
			continue
		}
		if err == nil {
			err = c.Tx.ListRules(ctx, p.ID, []model.PolicyRule{found}, cmp.Or(mode, model.ModeMonitor))
		}
		if err != nil {
			return nil, err
		}
		found, err = c.Tx.PolicyRuleNamed(ctx, p.ID, path)
		out.Rules = []api.AddedRule{{ID: core.Decimal(found.ID), Path: path, Mode: found.Mode.String()}}
		return out, err
	}
	return nil, model.ErrNotFound
}

func listServedRules(
	ctx context.Context, c *core.Call, in *api.ServedRulesQuery,
) (*api.ListServedRulesResponse, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &api.ListServedRulesResponse{Policy: policyOf(p), Rules: []api.ServedRule{}}
	served, err := c.Tx.ServedRules(ctx)
	for _, s := range served {
		if s.PolicyID != p.ID {
			continue
		}
		rule := api.ServedRule{
			ID: core.Decimal(s.ID), Path: s.Rule.Name, Mode: s.Mode.String(),
			Version: int64(s.Version), Checked: s.Checked, Starter: s.Starter,
		}
		if in.Texts {
			rule.Text = string(s.Text)
		}
		out.Rules = append(out.Rules, rule)
	}
	return out, err
}

// inText sets the location of errors in the text to body.text.
func inText(err error) error {
	invalid, ok := errors.AsType[*model.InvalidError](err)
	if !ok {
		return err
	}
	for i := range invalid.Fields {
		f := &invalid.Fields[i]
		f.Message, f.Location = strings.TrimPrefix(f.Location, "text: ")+": "+f.Message, "body.text"
	}
	return invalid
}

// policyRule returns the rule of the path.
func policyRule(ctx context.Context, c *core.Call) (p model.Policy, r model.PolicyRule, err error) {
	if p, err = policyInPath(ctx, c); err != nil {
		return p, r, err
	}
	id := c.PathID("policyRuleId")
	r, err = c.Tx.PolicyRule(ctx, p.ID, id)
	return p, r, err
}

func getPolicyRule(ctx context.Context, c *core.Call, _ *core.None) (*api.PolicyRuleResponse, error) {
	p, r, err := policyRule(ctx, c)
	if err != nil {
		return nil, err
	}
	return policyRuleResponse(ctx, c, p, r)
}

func policyRuleResponse(
	ctx context.Context, c *core.Call, p model.Policy, r model.PolicyRule,
) (*api.PolicyRuleResponse, error) {
	out := &api.PolicyRuleResponse{
		Policy:   policyOf(p),
		Rule:     policyRuleOf(r),
		Served:   r.Served,
		Versions: []api.RuleVersion{},
	}
	versions, err := c.Tx.RuleVersions(ctx, r.Rule.Name)
	for _, v := range slices.Backward(versions) {
		text, failed := policy.YAML(v.Text)
		if err = failed; err != nil {
			break
		}
		out.Versions = append(out.Versions, api.RuleVersion{
			Version: int64(v.Version),
			Text:    string(text),
			Checked: v.Checked,
			Starter: v.Starter,
			AddedAt: api.Time{Time: v.AddedAt},
			AddedBy: v.AddedBy,
		})
	}
	return out, err
}

// removePolicyRule removes a rule from a policy.
func removePolicyRule(ctx context.Context, c *core.Call, _ *core.None) (*api.PolicyRuleResponse, error) {
	p, r, err := policyRule(ctx, c)
	if err != nil {
		return nil, err
	}
	out, err := policyRuleResponse(ctx, c, p, r)
	if err != nil {
		return nil, err
	}
	return out, c.Tx.RemoveRule(ctx, p.ID, r.Rule.Name)
}
