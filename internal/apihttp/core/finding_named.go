package core

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// AllFindings returns findings by id, each once. It returns model.ErrNotFound if one does not exist
// or is not visible to the token.
func AllFindings(ctx context.Context, c *Call, ids []api.Int) ([]model.Finding, error) {
	wanted := model.Map(ids, func(id api.Int) int64 { return int64(id) })
	found, err := SomeFindings(ctx, c, wanted)
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

// SomeFindings returns the findings with these ids that are listed and visible to the token.
func SomeFindings(ctx context.Context, c *Call, ids []int64) ([]model.Finding, error) {
	found, err := c.Tx.FindingsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	visible := map[int64]bool{}
	for _, f := range found {
		if _, checked := visible[f.ProjectID]; !checked {
			p, err := c.Tx.Project(ctx, f.ProjectID)
			if err != nil {
				return nil, err
			}
			visible[f.ProjectID] = c.Caller.Globs().Allows(p.Name)
		}
	}
	return slices.DeleteFunc(found, func(f model.Finding) bool {
		return !visible[f.ProjectID] || f.State == model.StateRemoved
	}), nil
}
