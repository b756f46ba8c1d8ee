package server

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

func conditionOf(product model.IssueType, c model.PolicyCondition) api.PolicyCondition {
	out := api.PolicyCondition{
		ID: c.ID, IssueType: product.String(), Mode: c.Mode.String(), Text: c.Sentence(),
		Reachable: c.Reachable, EPSS: c.EPSS, Exploited: c.Exploited, Malicious: c.Malicious,
		Fixable: c.Fixable, Direct: c.Direct, GraceDays: int64(c.GraceDays),
		Projects: orEmpty(c.Scope.Projects), Tags: orEmpty(c.Scope.Tags), Branches: orEmpty(c.Branches),
	}
	if c.Severity != 0 {
		out.Severity = new(c.Severity.String())
	}
	if c.Confidence != 0 {
		out.Confidence = new(c.Confidence.String())
	}
	return out
}

// policyInPath returns the policy that the path names.
func policyInPath(ctx context.Context, c *call) (model.Policy, error) {
	id := c.pathID("policyId")
	return gate.SeenPolicy(ctx, c.tx, c.caller.Globs(), id)
}

func listPolicyConditions(ctx context.Context, c *call, _ *none) (*api.ListPolicyConditionsResponse, error) {
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
	out.Mode, _ = model.ParsePolicyMode(b.Mode) // the schema has checked the words
	out.Severity, _ = model.ParseSeverity(b.Severity)
	out.Confidence, _ = model.ParseConfidence(b.Confidence)
	return out
}

func createPolicyCondition(
	ctx context.Context, c *call, in *request[api.CreatePolicyConditionRequest],
) (*api.PolicyConditionResponse, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	made, err := policy.AddCondition(ctx, c.tx, p, newCondition(&in.Body))
	if err != nil {
		return nil, inBody(err)
	}
	return &api.PolicyConditionResponse{Policy: policyOf(p), Condition: conditionOf(p.Product, made)}, nil
}

func deletePolicyCondition(ctx context.Context, c *call, _ *none) (*api.PolicyConditionResponse, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	id := c.pathID("conditionId")
	gone, err := policy.RemoveCondition(ctx, c.tx, p, id)
	if err != nil {
		return nil, err
	}
	return &api.PolicyConditionResponse{Policy: policyOf(p), Condition: conditionOf(p.Product, gone)}, nil
}
