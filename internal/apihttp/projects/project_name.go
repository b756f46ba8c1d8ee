package projects

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
)

func renameProject(
	ctx context.Context, c *core.Call, in *core.Request[api.RenameProjectRequest],
) (*api.ProjectResponse, error) {
	p, err := core.ProjectNamed(ctx, c, in.Body.Project)
	if err != nil {
		return nil, err
	}
	if err := gate.CanUseProject(c.Caller.Globs(), in.Body.Name); err != nil {
		return nil, err
	}
	if p, err = c.Tx.RenameProject(ctx, p.ID, in.Body.Name); err != nil {
		return nil, core.InBody(err)
	}
	return projectResponse(ctx, c, p)
}

func mergeProject(
	ctx context.Context, c *core.Call, in *core.Request[api.MergeProjectRequest],
) (*api.MergeProjectResponse, error) {
	from, err := core.ProjectNamed(ctx, c, in.Body.Project)
	if err != nil {
		return nil, err
	}
	into, err := core.ProjectNamed(ctx, c, in.Body.Into)
	if err != nil {
		return nil, err
	}
	if into, err = c.Tx.MergeProjects(ctx, from.ID, into.ID); err != nil {
		return nil, core.InBody(err)
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

// followProject matches all refs of a project against the advisories. It is needed after a merge,
// which retains only the newer of two reports about a lockfile. It returns the number of changed
// findings.
func followProject(ctx context.Context, c *core.Call, projectID int64) (changed int, err error) {
	if c.Server.Advisories == nil {
		return 0, nil
	}
	refs, err := c.Tx.HoldingRefs(ctx, nil)
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

func followRef(ctx context.Context, c *core.Call, at model.ProjectRef) (int, error) {
	advised, err := c.Server.Advisories.Match(ctx, c.Tx, at.ProjectID, at.Ref, nil)
	if err != nil {
		return 0, err
	}
	followed, err := ingest.FollowAll(ctx, c.Tx, exceptions.ForImport{
		Store: c.Tx,
	}, []model.Advised{advised}, c.Tx.Now(), 1)
	if err != nil {
		return 0, err
	}
	return followed[0].Changed, nil
}
