package server

import (
	"context"

	"github.com/redoubt/redoubt/api"
)

func (c *call) ping(context.Context, *none) (*api.PingResponse, error) {
	return &api.PingResponse{}, nil
}

// listDeployments answers the token's own deployment: there is no other for it.
func (c *call) listDeployments(context.Context, *none) (*api.ListDeploymentsResponse, error) {
	d := c.caller.Deployment
	return &api.ListDeploymentsResponse{Deployments: []api.Deployment{{
		ID: d.ID, Name: d.Name, Slug: d.Slug,
		Findings: api.DeploymentFindings{URL: c.base + "/api/v1/deployments/" + d.Slug + "/findings"},
	}}}, nil
}
