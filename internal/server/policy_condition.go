package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/edge"
	"github.com/redoubt/redoubt/internal/policy"
)

func conditionOf(c redoubt.PolicyCondition) api.PolicyCondition {
	out := api.PolicyCondition{
		ID: c.ID, Mode: c.Mode.String(), Text: c.Sentence(), Reachable: c.Reachable, EPSS: c.EPSS, Exploited: c.Exploited, Malicious: c.Malicious,
		Fixable: c.Fixable, Direct: c.Direct, GraceDays: int64(c.GraceDays),
		Projects: orEmpty(c.Scope.Projects), Tags: orEmpty(c.Scope.Tags), Branches: orEmpty(c.Branches),
	}
	if c.Severity != 0 {
		out.Severity = new(c.Severity.String())
	}
	return out
}

// conditional finds the policy that the path names.
func (c *call) conditional(ctx context.Context) (redoubt.Policy, error) {
	id, err := c.id("policyId")
	if err != nil {
		return redoubt.Policy{}, err
	}
	return edge.SeenPolicy(ctx, c.tx, c.caller.Globs(), id)
}

func (c *call) listPolicyConditions(ctx context.Context, _ *none) (*api.ListPolicyConditionsResponse, error) {
	p, err := c.conditional(ctx)
	if err != nil {
		return nil, err
	}
	out := &api.ListPolicyConditionsResponse{Policy: policyOf(p), Conditions: []api.PolicyCondition{}}
	for _, one := range p.Conditions {
		out.Conditions = append(out.Conditions, conditionOf(one))
	}
	return out, nil
}

// conditionInput is a new condition.
type conditionInput struct {
	Body      api.CreatePolicyConditionRequest
	condition redoubt.PolicyCondition
}

// Resolve checks what the schema cannot.
func (in *conditionInput) Resolve(ctx huma.Context) []error {
	bad := faults(copies(ctx, &in.Body))
	b := &in.Body
	in.condition = redoubt.PolicyCondition{
		Reachable: b.Reachable, EPSS: b.EPSS, Exploited: b.Exploited, Malicious: b.Malicious, Fixable: b.Fixable, Direct: b.Direct, GraceDays: int(b.GraceDays),
		Scope: redoubt.PolicyScope{Projects: b.Projects, Tags: b.Tags}, Branches: b.Branches,
	}
	var known [2]bool
	in.condition.Mode, known[0] = redoubt.ParsePolicyMode(b.Mode)
	in.condition.Severity, known[1] = redoubt.ParseSeverity(b.Severity)
	if schemaTold := !known[0] || b.Severity != "" && !known[1] || b.EPSS < 0 || b.EPSS > 1 || b.GraceDays < 0 || b.GraceDays > 3650; schemaTold {
		return bad
	}
	if err := in.condition.Check(); err != nil {
		bad.add("body", nil, err.Error())
	}
	return bad
}

func (c *call) createPolicyCondition(ctx context.Context, in *conditionInput) (*api.PolicyConditionResponse, error) {
	p, err := c.conditional(ctx)
	if err != nil {
		return nil, err
	}
	made, err := policy.AddCondition(ctx, c.tx, p, in.condition)
	return &api.PolicyConditionResponse{Policy: policyOf(p), Condition: conditionOf(made)}, err
}

func (c *call) deletePolicyCondition(ctx context.Context, _ *none) (*api.PolicyConditionResponse, error) {
	p, err := c.conditional(ctx)
	if err != nil {
		return nil, err
	}
	id, err := c.id("conditionId")
	if err != nil {
		return nil, err
	}
	gone, err := policy.RemoveCondition(ctx, c.tx, p, id)
	if err != nil {
		return nil, err
	}
	return &api.PolicyConditionResponse{Policy: policyOf(p), Condition: conditionOf(gone)}, nil
}
