package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// allFindings reads findings by their ids, each once; one that is not there, or not for
// the token to see, is model.ErrNotFound.
func allFindings(ctx context.Context, c *call, ids []api.Int) ([]model.Finding, error) {
	wanted := model.Map(ids, func(id api.Int) int64 { return int64(id) })
	found, err := someFindings(ctx, c, wanted)
	if err != nil {
		return nil, err
	}
	for _, id := range wanted {
		if !slices.ContainsFunc(found, func(f model.Finding) bool { return f.ID == id }) {
			return nil, fmt.Errorf("finding %d: %w", id, model.ErrNotFound)
		}
	}
	return found, nil
}

// someFindings reads those of the findings that lists show and the token may see.
func someFindings(ctx context.Context, c *call, ids []int64) ([]model.Finding, error) {
	found, err := c.tx.FindingsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	visible := map[int64]bool{}
	for _, f := range found {
		if _, asked := visible[f.ProjectID]; !asked {
			p, err := c.tx.Project(ctx, f.ProjectID)
			if err != nil {
				return nil, err
			}
			visible[f.ProjectID] = c.caller.Globs().Allows(p.Name)
		}
	}
	return slices.DeleteFunc(found, func(f model.Finding) bool {
		return !visible[f.ProjectID] || f.State == model.StateRemoved
	}), nil
}
