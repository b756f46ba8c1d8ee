package server

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
)

func renameProject(ctx context.Context, c *call, in *request[api.RenameProjectRequest]) (*api.ProjectResponse, error) {
	p, err := projectNamed(ctx, c, in.Body.Project)
	if err != nil {
		return nil, err
	}
	if err := gate.MayTake(c.caller.Globs(), in.Body.Name); err != nil {
		return nil, err
	}
	if p, err = c.tx.RenameProject(ctx, p.ID, in.Body.Name); err != nil {
		return nil, inBody(err)
	}
	return projectResponse(ctx, c, p)
}

func mergeProject(
	ctx context.Context, c *call, in *request[api.MergeProjectRequest],
) (*api.MergeProjectResponse, error) {
	from, err := projectNamed(ctx, c, in.Body.Project)
	if err != nil {
		return nil, err
	}
	into, err := projectNamed(ctx, c, in.Body.Into)
	if err != nil {
		return nil, err
	}
	if into, err = c.tx.MergeProjects(ctx, from.ID, into.ID); err != nil {
		return nil, inBody(err)
	}
	changed, err := followProject(ctx, c, into.ID)
	if err != nil {
		return nil, err
	}
	out, err := projectResponse(ctx, c, into)
	if err != nil {
		return nil, err
	}
	return &api.MergeProjectResponse{Project: out.Project, FindingsChanged: int64(changed)}, nil
}

// followProject matches all refs of a project with the advisories: of two reports about a
// lockfile only the newer is left after a merge. It returns how many findings changed.
func followProject(ctx context.Context, c *call, projectID int64) (changed int, err error) {
	if c.server.Advisories == nil {
		return 0, nil
	}
	refs, err := c.tx.HoldingRefs(ctx, nil)
	for _, at := range refs {
		if err != nil || at.ProjectID != projectID {
			continue
		}
		var n int
		n, err = followRef(ctx, c, at)
		changed += n
	}
	return changed, err
}

func followRef(ctx context.Context, c *call, at model.ProjectRef) (int, error) {
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
