package projects

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
)

// deleteRef takes a ref out of a project (docs/reference/scans.md). Once it is gone, the
// same request answers the same again.
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
