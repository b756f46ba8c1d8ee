package api

import (
	"context"
	"net/http"
	"strconv"
)

// ListPolicies returns all policies.
func (c *Client) ListPolicies(ctx context.Context, deployment string) (*ListPoliciesResponse, error) {
	return answer[ListPoliciesResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "policies")})
}

// ListPolicyRules returns a page of a policy's rules.
func (c *Client) ListPolicyRules(
	ctx context.Context, deployment, policyID string, q PolicyRulesQuery,
) (*ListPolicyRulesResponse, error) {
	return answer[ListPolicyRulesResponse](ctx, c, call{
		method: http.MethodGet,
		path:   path(deployment, "policies", policyID),
		query:  values(q),
	})
}

// UpdatePolicy sets the mode of a rule in a policy.
func (c *Client) UpdatePolicy(
	ctx context.Context, deployment, policyID string, r UpdatePolicyRequest, options ...Option,
) (*UpdatePolicyResponse, error) {
	return answer[UpdatePolicyResponse](ctx, c, call{
		method: http.MethodPut,
		path:   path(deployment, "policies", policyID),
		body:   r,
	}, options...)
}

// CreatePolicy creates a policy without rules.
func (c *Client) CreatePolicy(
	ctx context.Context, deployment string, r CreatePolicyRequest, options ...Option,
) (*PolicyChangeResponse, error) {
	return answer[PolicyChangeResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "policies"),
		body:   r,
	}, options...)
}

// DeletePolicy deletes a policy. The default policy of a product cannot be deleted.
func (c *Client) DeletePolicy(
	ctx context.Context, deployment, policyID string, options ...Option,
) (*PolicyChangeResponse, error) {
	return answer[PolicyChangeResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   path(deployment, "policies", policyID),
	}, options...)
}

// GetPolicySettings returns the settings of a policy: its projects, branches and excluded paths.
func (c *Client) GetPolicySettings(ctx context.Context, deployment, policyID string) (*PolicySettingsResponse, error) {
	return answer[PolicySettingsResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "policies", policyID, "settings")},
	)
}

// SetPolicySettings replaces the settings of a policy.
func (c *Client) SetPolicySettings(
	ctx context.Context, deployment, policyID string, r SetPolicySettingsRequest, options ...Option,
) (*PolicyChangeResponse, error) {
	return answer[PolicyChangeResponse](ctx, c, call{
		method: http.MethodPut,
		path:   path(deployment, "policies", policyID, "settings"),
		body:   r,
	}, options...)
}

// PreviewPolicy returns the effect of a change to a policy, without making the change.
func (c *Client) PreviewPolicy(
	ctx context.Context, deployment, policyID string, r PreviewPolicyRequest,
) (*PolicyImpact, error) {
	return answer[PolicyImpact](ctx, c, call{
		reads:  true,
		method: http.MethodPost,
		path:   path(deployment, "policies", policyID, "preview"),
		body:   r,
	})
}

// AddPolicyRules adds rules to a policy, which serves them to scanners.
func (c *Client) AddPolicyRules(
	ctx context.Context, deployment, policyID string, r AddPolicyRulesRequest, options ...Option,
) (*AddPolicyRulesResponse, error) {
	return answer[AddPolicyRulesResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "policies", policyID, "rules"),
		body:   r,
	}, options...)
}

// ListServedRules returns the rules that a policy serves to scanners.
func (c *Client) ListServedRules(
	ctx context.Context, deployment, policyID string, q ServedRulesQuery,
) (*ListServedRulesResponse, error) {
	at := path(deployment, "policies", policyID, "served-rules")
	return answer[ListServedRulesResponse](ctx, c, call{method: http.MethodGet, path: at, query: values(q)})
}

// GetPolicyRule returns a rule of a policy, with its texts.
func (c *Client) GetPolicyRule(ctx context.Context, deployment, policyID, id string) (*PolicyRuleResponse, error) {
	return answer[PolicyRuleResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "policies", policyID, "rules", id)},
	)
}

// RemovePolicyRule removes a rule from a policy.
func (c *Client) RemovePolicyRule(
	ctx context.Context, deployment, policyID, id string, options ...Option,
) (*PolicyRuleResponse, error) {
	return answer[PolicyRuleResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   path(deployment, "policies", policyID, "rules", id),
	}, options...)
}

// GetDueDays returns the due days of a policy.
func (c *Client) GetDueDays(ctx context.Context, deployment, policyID string) (*DueDaysResponse, error) {
	return answer[DueDaysResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "policies", policyID, "due-days")},
	)
}

// SetDueDays replaces the due days of a policy.
func (c *Client) SetDueDays(
	ctx context.Context, deployment, policyID string, r SetDueDaysRequest, options ...Option,
) (*DueDaysResponse, error) {
	return answer[DueDaysResponse](ctx, c, call{
		method: http.MethodPut,
		path:   path(deployment, "policies", policyID, "due-days"),
		body:   r,
	}, options...)
}

// ListPolicyConditions returns the conditions of a policy.
func (c *Client) ListPolicyConditions(
	ctx context.Context, deployment, policyID string,
) (*ListPolicyConditionsResponse, error) {
	return answer[ListPolicyConditionsResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "policies", policyID, "conditions")},
	)
}

// CreatePolicyCondition adds a condition to a policy.
func (c *Client) CreatePolicyCondition(
	ctx context.Context, deployment, policyID string, r CreatePolicyConditionRequest, options ...Option,
) (*PolicyConditionResponse, error) {
	return answer[PolicyConditionResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "policies", policyID, "conditions"),
		body:   r,
	}, options...)
}

// DeletePolicyCondition deletes a condition of a policy.
func (c *Client) DeletePolicyCondition(
	ctx context.Context, deployment, policyID string, id int64, options ...Option,
) (*PolicyConditionResponse, error) {
	return answer[PolicyConditionResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   path(deployment, "policies", policyID, "conditions", strconv.FormatInt(id, 10)),
	}, options...)
}
