package server

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

// addPolicyRules takes all rules in, or none.
func (c *call) addPolicyRules(ctx context.Context, in *request[api.AddPolicyRulesRequest]) (*api.AddPolicyRulesResponse, error) {
	p, err := c.conditional(ctx)
	if err != nil {
		return nil, err
	}
	mode, _ := redoubt.ParsePolicyMode(in.Body.Mode)
	rules, err := policy.Gather(p.Product, policy.File{Name: "text", Text: []byte(in.Body.Text)})
	if err != nil {
		return nil, inText(err)
	}
	list := make([]store.Serving, len(rules))
	for i, r := range rules {
		content, err := report.ServedRule(r.Text, r.Product)
		if err != nil {
			return nil, err
		}
		list[i] = store.Serving{Rule: content, Text: r.Text, Mode: mode, PolicyID: p.ID}
	}
	served, err := c.tx.ServeRules(ctx, list)
	if err != nil {
		return nil, err
	}
	out := &api.AddPolicyRulesResponse{Policy: policyOf(p), Rules: make([]api.AddedRule, len(rules))}
	for i, s := range served {
		out.Rules[i] = api.AddedRule{ID: decimal(s.ID), Path: rules[i].ID, Mode: s.Mode.String(), Version: int64(s.Version)}
	}
	return out, nil
}

// inText places the faults of the text in the body.
func inText(err error) error {
	invalid, ok := errors.AsType[*redoubt.InvalidError](err)
	if !ok {
		return err
	}
	for i := range invalid.Fields {
		f := &invalid.Fields[i]
		f.Message, f.Location = strings.TrimPrefix(f.Location, "text: ")+": "+f.Message, "body.text"
	}
	return invalid
}

// policyRule finds the rule that the path names.
func (c *call) policyRule(ctx context.Context) (p redoubt.Policy, r redoubt.PolicyRule, err error) {
	if p, err = c.conditional(ctx); err != nil {
		return p, r, err
	}
	id := c.pathID("policyRuleId")
	r, err = c.tx.PolicyRule(ctx, p.ID, id)
	return p, r, err
}

func (c *call) getPolicyRule(ctx context.Context, _ *none) (*api.PolicyRuleResponse, error) {
	p, r, err := c.policyRule(ctx)
	if err != nil {
		return nil, err
	}
	return c.policyRuleResponse(ctx, p, r)
}

func (c *call) policyRuleResponse(ctx context.Context, p redoubt.Policy, r redoubt.PolicyRule) (*api.PolicyRuleResponse, error) {
	out := &api.PolicyRuleResponse{Policy: policyOf(p), Rule: policyRuleOf(r), Served: r.Served, Versions: []api.RuleVersion{}}
	versions, err := c.tx.RuleVersions(ctx, r.Rule.Name)
	for _, v := range slices.Backward(versions) {
		text, failed := policy.YAML(v.Text)
		if err = failed; err != nil {
			break
		}
		out.Versions = append(out.Versions, api.RuleVersion{Version: int64(v.Version), Text: string(text), Checked: v.Checked, AddedAt: api.Time{Time: v.AddedAt}, AddedBy: v.AddedBy})
	}
	return out, err
}

// removePolicyRule takes a rule out of a policy.
func (c *call) removePolicyRule(ctx context.Context, _ *none) (*api.PolicyRuleResponse, error) {
	p, r, err := c.policyRule(ctx)
	if err != nil {
		return nil, err
	}
	out, err := c.policyRuleResponse(ctx, p, r)
	if err != nil {
		return nil, err
	}
	return out, c.tx.RemoveRule(ctx, p.ID, r.Rule.Name)
}
