package server

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
)

func (c *call) renameProject(ctx context.Context, in *request[api.RenameProjectRequest]) (*api.ProjectResponse, error) {
	p, err := c.projectNamed(ctx, in.Body.Project)
	if err != nil {
		return nil, err
	}
	if err := gate.MayTake(c.caller.Globs(), in.Body.Name); err != nil {
		return nil, err
	}
	if p, err = c.tx.RenameProject(ctx, p.ID, in.Body.Name); err != nil {
		return nil, inBody(err)
	}
	return c.projectResponse(ctx, p)
}

func (c *call) mergeProject(
	ctx context.Context, in *request[api.MergeProjectRequest],
) (*api.MergeProjectResponse, error) {
	from, err := c.projectNamed(ctx, in.Body.Project)
	if err != nil {
		return nil, err
	}
	into, err := c.projectNamed(ctx, in.Body.Into)
	if err != nil {
		return nil, err
	}
	if into, err = c.tx.MergeProjects(ctx, from.ID, into.ID); err != nil {
		return nil, inBody(err)
	}
	changed, err := c.followProject(ctx, into.ID)
	if err != nil {
		return nil, err
	}
	out, err := c.projectResponse(ctx, into)
	if err != nil {
		return nil, err
	}
	return &api.MergeProjectResponse{Project: out.Project, FindingsChanged: int64(changed)}, nil
}

// followProject matches all refs of a project with the advisories: of two reports about a
// lockfile only the newer is left after a merge. It returns how many findings changed.
func (c *call) followProject(ctx context.Context, projectID int64) (changed int, err error) {
	if c.server.Advisories == nil {
		return 0, nil
	}
	refs, err := c.tx.HoldingRefs(ctx, nil)
	for _, at := range refs {
		if err != nil || at.ProjectID != projectID {
			continue
		}
		var n int
		n, err = c.followRef(ctx, at)
		changed += n
	}
	return changed, err
}

func (c *call) followRef(ctx context.Context, at model.ProjectRef) (int, error) {
	advised, err := c.server.Advisories.Match(ctx, c.tx, at.ProjectID, at.Ref, nil)
	if err != nil {
		return 0, err
	}
	followed, err := ingest.FollowAll(ctx, c.tx, exceptions.ForImport{
		Store: c.tx,
	}, []model.Advised{advised}, c.tx.Now(), 1)
	if err != nil {
		return 0, err
	}
	return followed[0].Changed, nil
}
