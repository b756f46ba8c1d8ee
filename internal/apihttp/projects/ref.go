package projects

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
)

// deleteRef deletes a ref of a project (docs/reference/scans.md). Repeating the request returns the
// same response.
func deleteRef(ctx context.Context, c *core.Call, in *api.DeleteRefQuery) (*api.DeleteRefResponse, error) {
	if model.CheckProjectName(in.Project) != nil {
		return nil, model.ErrNotFound
	}
	p, err := c.VisibleProject(c.Tx.ProjectByName(ctx, in.Project))
	if err != nil {
		return nil, err
	}
	ref := model.FullRef(in.Ref)
	return &api.DeleteRefResponse{ProjectName: p.Name, Ref: ref}, c.Tx.DeleteRef(ctx, p.ID, ref)
}
