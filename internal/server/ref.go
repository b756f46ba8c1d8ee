package server

import (
	"context"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
)

// deleteRef takes a ref out of a project (semantics §5). Once it is gone, the
// same request answers the same again.
func (c *call) deleteRef(ctx context.Context, in *api.DeleteRefQuery) (*api.DeleteRefResponse, error) {
	if redoubt.CheckProjectName(in.Project) != nil {
		return nil, redoubt.ErrNotFound
	}
	p, err := c.seen(c.tx.ProjectByName(ctx, in.Project))
	if err != nil {
		return nil, err
	}
	ref := redoubt.FullRef(in.Ref)
	return &api.DeleteRefResponse{ProjectName: p.Name, Ref: ref}, c.tx.DeleteRef(ctx, p.ID, ref)
}
