package server

import (
	"context"

	"github.com/redoubt/redoubt/api"
)

func (c *call) ping(context.Context, *none) (*api.PingResponse, error) {
	return &api.PingResponse{}, nil
}

func (c *call) checkHealth(context.Context, *none) (*api.HealthResponse, error) {
	return &api.HealthResponse{Status: ok, Healthy: true}, nil
}

// listDeployments answers the token's own deployment: there is no other for it.
func (c *call) listDeployments(context.Context, *none) (*api.ListDeploymentsResponse, error) {
	return &api.ListDeploymentsResponse{Deployments: []api.Deployment{c.ownDeployment()}}, nil
}

func (c *call) getDeployment(context.Context, *none) (*api.DeploymentResponse, error) {
	return &api.DeploymentResponse{Deployment: c.ownDeployment()}, nil
}

// ownDeployment is the one that the caller belongs to.
func (c *call) ownDeployment() api.Deployment {
	d := c.caller.Deployment
	return api.Deployment{
		ID: d.ID, Name: d.Name, Slug: d.Slug,
		Findings: api.DeploymentFindings{URL: c.base + "/api/v1/deployments/" + d.Slug + "/findings"},
	}
}

// getMe answers who calls.
func (c *call) getMe(ctx context.Context, _ *none) (*api.MeResponse, error) {
	t := c.caller.Token
	out := &api.MeResponse{Deployment: c.ownDeployment(), Token: api.TokenInfo{
		ID: t.PublicID, Name: t.Name, Scopes: []string{}, Projects: orEmpty(t.ProjectGlobs),
		Dialect: string(t.Dialect), ExpiresAt: api.NewTime(t.ExpiresAt),
	}}
	for _, s := range t.Scopes {
		out.Token.Scopes = append(out.Token.Scopes, string(s))
	}
	if t.UserID == 0 {
		return out, nil
	}
	m, err := c.tx.MemberByID(ctx, t.UserID)
	out.User = &api.UserInfo{ID: m.ID, Name: m.Name, Role: m.Role.String()}
	return out, err
}
