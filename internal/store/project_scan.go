package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
)

// ProjectForScan finds the project that a scan is of: by its host's id, then by
// name, then by old name; unknown, it makes one (semantics §7). One that is
// known stays as it is: whether the scan counts is not decided yet.
func (tx *Tx) ProjectForScan(ctx context.Context, scan redoubt.Project) (redoubt.Project, error) {
	if err := redoubt.CheckProjectName(scan.Name); err != nil {
		return redoubt.Project{}, redoubt.Invalid("project", "%v", err)
	}
	known, err := tx.matchProject(ctx, scan)
	if errors.Is(err, redoubt.ErrNotFound) {
		return tx.addProject(ctx, scan)
	}
	return known, err
}

// UpdateProjectByScan takes over what a scan that counts tells of its project.
// Known by its host's id under another name, the project is renamed, unless
// another one has that name (semantics §7). A URL, an id or tags that the scan
// brings replace what is stored; what it does not tell stays.
func (tx *Tx) UpdateProjectByScan(ctx context.Context, projectID int64, scan redoubt.Project) (redoubt.Project, error) {
	known, err := tx.Project(ctx, projectID)
	if err != nil {
		return known, err
	}
	after := known
	if scan.RepoID != "" && scan.RepoID == known.RepoID {
		if after.Name, err = tx.freeName(ctx, known, scan.Name); err != nil {
			return known, err
		}
	}
	if scan.RepoID != "" {
		after.RepoID = scan.RepoID
	}
	if scan.URL != "" {
		after.URL = scan.URL
	}
	if len(scan.Tags) > 0 {
		after.Tags = scan.Tags
	}
	return tx.saveProject(ctx, known, after)
}

// matchProject finds the project of a scan, or redoubt.ErrNotFound. An old name
// is no match for a repository that is known to be another.
func (tx *Tx) matchProject(ctx context.Context, scan redoubt.Project) (redoubt.Project, error) {
	if scan.RepoID != "" {
		p, err := tx.projectWhere(ctx, `AND repo_id = $2 ORDER BY id`, scan.RepoID)
		if !errors.Is(err, redoubt.ErrNotFound) {
			return p, err
		}
	}
	p, err := tx.ProjectByName(ctx, scan.Name)
	if err == nil && p.Name != scan.Name && p.RepoID != "" && scan.RepoID != "" {
		return p, redoubt.ErrNotFound // it has another id, else it had been found by it
	}
	return p, err
}

// freeName returns the name that a project has from now on: the new one where it
// is free. Where two repositories swap names, the second scan frees it.
func (tx *Tx) freeName(ctx context.Context, p redoubt.Project, name string) (string, error) {
	if name == p.Name {
		return name, nil
	}
	switch _, err := tx.projectWhere(ctx, `AND name = $2`, name); {
	case errors.Is(err, redoubt.ErrNotFound):
		return name, nil
	case err != nil:
		return "", err
	}
	return p.Name, nil
}

// ScanApplied notes on the project that a scan was applied. The first branch
// fully scanned becomes the default branch (semantics §7). The time of the
// latest scan is told by the scan itself: it is neither a change of the index
// nor an audit event.
func (tx *Tx) ScanApplied(ctx context.Context, projectID int64, ref string, full bool, at time.Time) error {
	n, err := tx.exec(ctx, `
		UPDATE project SET latest_scan_at = CASE WHEN latest_scan_at > $3 THEN latest_scan_at ELSE $3 END
		WHERE deployment_id = $1 AND id = $2`, projectID, at)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("project %d: %w", projectID, redoubt.ErrNotFound)
	}
	if !full || !strings.HasPrefix(ref, "refs/heads/") {
		return nil
	}
	before, err := tx.Project(ctx, projectID)
	if err != nil || before.DefaultBranch != "" {
		return err
	}
	after := before
	after.DefaultBranch = ref
	_, err = tx.saveProject(ctx, before, after)
	return err
}
