package policies

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

func conditionOf(product model.IssueType, c model.PolicyCondition) api.PolicyCondition {
	out := api.PolicyCondition{
		ID: c.ID, IssueType: product.String(), Mode: c.Mode.String(), Text: c.Sentence(),
		Reachable: c.Reachable, EPSS: c.EPSS, Exploited: c.Exploited, Malicious: c.Malicious,
		Fixable: c.Fixable, Direct: c.Direct, GraceDays: int64(c.GraceDays),
		Projects: core.OrEmpty(c.Scope.Projects), Tags: core.OrEmpty(c.Scope.Tags), Branches: core.OrEmpty(c.Branches),
	}
	if c.Severity != 0 {
		out.Severity = new(c.Severity.String())
	}
	if c.Confidence != 0 {
		out.Confidence = new(c.Confidence.String())
	}
	return out
}

// policyInPath returns the policy of the path.
func policyInPath(ctx context.Context, c *core.Call) (model.Policy, error) {
	id := c.PathID("policyId")
	return gate.SeenPolicy(ctx, c.Tx, c.Caller.Globs(), id)
}

func listPolicyConditions(ctx context.Context, c *core.Call, _ *core.None) (*api.ListPolicyConditionsResponse, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &api.ListPolicyConditionsResponse{Policy: policyOf(p), Conditions: []api.PolicyCondition{}}
	for _, one := range p.Conditions {
		out.Conditions = append(out.Conditions, conditionOf(p.Product, one))
	}
	return out, nil
}

func newCondition(b *api.CreatePolicyConditionRequest) model.PolicyCondition {
	out := model.PolicyCondition{
		Reachable: b.Reachable, EPSS: b.EPSS, Exploited: b.Exploited, Malicious: b.Malicious,
		Fixable: b.Fixable, Direct: b.Direct, GraceDays: int(b.GraceDays),
		Scope: model.PolicyScope{Projects: b.Projects, Tags: b.Tags}, Branches: b.Branches,
	}
	out.Mode, _ = model.ParsePolicyMode(b.Mode) // validated by the schema
	out.Severity, _ = model.ParseSeverity(b.Severity)
	out.Confidence, _ = model.ParseConfidence(b.Confidence)
	return out
}

func createPolicyCondition(
	ctx context.Context, c *core.Call, in *core.Request[api.CreatePolicyConditionRequest],
) (*api.PolicyConditionResponse, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	made, err := policy.AddCondition(ctx, c.Tx, p, newCondition(&in.Body))
	if err != nil {
		return nil, core.InBody(err)
	}
	return &api.PolicyConditionResponse{Policy: policyOf(p), Condition: conditionOf(p.Product, made)}, nil
}

func deletePolicyCondition(ctx context.Context, c *core.Call, _ *core.None) (*api.PolicyConditionResponse, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	id := c.PathID("conditionId")
	gone, err := policy.RemoveCondition(ctx, c.Tx, p, id)
	if err != nil {
		return nil, err
	}
	return &api.PolicyConditionResponse{Policy: policyOf(p), Condition: conditionOf(p.Product, gone)}, nil
}
