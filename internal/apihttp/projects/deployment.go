package projects

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

func ping(_ context.Context, c *core.Call, _ *core.None) (*api.PingResponse, error) {
	return &api.PingResponse{}, nil
}

func checkHealth(_ context.Context, c *core.Call, _ *core.None) (*api.HealthResponse, error) {
	return &api.HealthResponse{Status: "ok", Healthy: true}, nil
}

// listDeployments returns the token's deployment, the only one visible to it.
func listDeployments(_ context.Context, c *core.Call, _ *core.None) (*api.ListDeploymentsResponse, error) {
	return &api.ListDeploymentsResponse{Deployments: []api.Deployment{ownDeployment(c)}}, nil
}

func getDeployment(_ context.Context, c *core.Call, _ *core.None) (*api.DeploymentResponse, error) {
	return &api.DeploymentResponse{Deployment: ownDeployment(c)}, nil
}

// ownDeployment returns the caller's deployment.
func ownDeployment(c *core.Call) api.Deployment {
	d := c.Caller.Deployment
	return api.Deployment{
		ID: d.ID, Name: d.Name, Slug: d.Slug,
		Findings: api.DeploymentFindings{URL: c.Base + "/api/v1/deployments/" + d.Slug + "/findings"},
	}
}

// getMe returns the token, its user and its deployment.
func getMe(ctx context.Context, c *core.Call, _ *core.None) (*api.MeResponse, error) {
	t := c.Caller.Token
	out := &api.MeResponse{Deployment: ownDeployment(c), Token: api.TokenInfo{
		ID: t.PublicID, Name: t.Name, Scopes: []string{}, Projects: core.OrEmpty(t.ProjectGlobs),
		Dialect: string(t.Dialect), ExpiresAt: api.NewTime(t.ExpiresAt),
	}}
	for _, s := range t.Scopes {
		out.Token.Scopes = append(out.Token.Scopes, string(s))
	}
	if t.UserID == 0 {
		return out, nil
	}
	m, err := c.Tx.MemberByID(ctx, t.UserID)
	out.User = &api.UserInfo{ID: m.ID, Name: m.Name, Role: m.Role.String()}
	return out, err
}
