package hosts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// AssignProjects assigns projects to the scannable repositories whose full names are wanted.
// Repositories with a conflict are skipped.
func (tx *Tx) AssignProjects(
	ctx context.Context, list []model.Repository, wanted func(name string) bool,
) (assigned []model.Project, err error) {
	for _, r := range list {
		if r.ProjectID != 0 || !r.Scannable() || !wanted(r.FullName) {
			continue
		}
		p, err := tx.AssignProject(ctx, r.ID)
		if errors.Is(err, model.ErrConflict) {
			continue
		}
		if err != nil {
			return assigned, err
		}
		assigned = append(assigned, p)
	}
	return assigned, nil
}

// FollowRepositories assigns projects to the repositories of a connection that match globs, and
// removes their exclusions. No match is model.ErrNotFound.
func (tx *Tx) FollowRepositories(ctx context.Context, connectionID int64, globs []string) ([]model.Project, error) {
	c, fitting, err := tx.repositoriesCalled(ctx, connectionID, globs)
	if err != nil {
		return nil, err
	}
	var back []string
	for _, r := range fitting {
		if slices.Contains(c.Follow, "!"+r.FullName) {
			back = append(back, "!"+r.FullName)
		}
	}
	if len(back) > 0 {
		c.Follow = slices.DeleteFunc(slices.Clone(c.Follow), func(glob string) bool { return slices.Contains(back, glob) })
		if _, err := tx.UpdateConnection(ctx, c, Sealed{}); err != nil {
			return nil, err
		}
	}
	return tx.AssignProjects(ctx, fitting, func(string) bool { return true })
}

// LeaveRepositories unlinks the repositories that match globs from their projects, excludes them
// from the connection, and returns them. The projects stay. No match is model.ErrNotFound; too many
// exclusions are model.ErrConflict.
func (tx *Tx) LeaveRepositories(
	ctx context.Context, connectionID int64, globs []string,
) (left []model.Repository, err error) {
	c, fitting, err := tx.repositoriesCalled(ctx, connectionID, globs)
	if err != nil {
		return nil, err
	}
	before := len(c.Follow)
	for _, r := range fitting {
		if c.Follows(r.FullName) {
			c.Follow = append(slices.Clone(c.Follow), "!"+r.FullName)
		}
		if r.ProjectID != 0 {
			left = append(left, r)
			err = tx.DropRepository(ctx, r.ID)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(c.Follow) == before {
		return left, nil
	}
	if model.CheckConnection(c) != nil {
		return nil, fmt.Errorf("too many repositories are excluded by name: change the globs of the connection: %w",
			model.ErrConflict)
	}
	_, err = tx.UpdateConnection(ctx, c, Sealed{})
	return left, err
}

// repositoriesCalled returns the repositories of a connection that match globs, or
// model.ErrNotFound.
func (tx *Tx) repositoriesCalled(
	ctx context.Context, connectionID int64, globs []string,
) (c model.Connection, fitting []model.Repository, err error) {
	if c, err = tx.Connection(ctx, connectionID); err != nil {
		return c, nil, err
	}
	list, err := tx.Repositories(ctx, connectionID)
	if err != nil {
		return c, nil, err
	}
	for _, r := range list {
		if len(globs) > 0 && model.ProjectGlobs(globs).Allows(r.FullName) {
			fitting = append(fitting, r)
		}
	}
	if len(fitting) == 0 {
		err = fmt.Errorf("the connection has no repository %q: %w", globs, model.ErrNotFound)
	}
	return c, fitting, err
}
