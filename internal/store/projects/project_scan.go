package projects

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ProjectForScan returns the project of a scan: by its host id, then by name, then by old name. If
// there is none, it creates one (docs/reference/projects.md). An existing project is not updated,
// because the scan may still be rejected.
//
// The globs restrict the uploading token. Projects outside of them are ignored, and a name outside
// of them is model.ErrNotFound (docs/reference/tokens.md).
func (tx *Tx) ProjectForScan(ctx context.Context, globs model.ProjectGlobs, scan model.Project) (model.Project, error) {
	known, err := tx.FindProjectForScan(ctx, globs, scan)
	if !errors.Is(err, model.ErrNotFound) || !globs.Allows(scan.Name) {
		return known, err
	}
	if claim := globs.Claim(scan.RepoID); claim != "" {
		scan.RepoID, scan.BoundRepoID = "", claim
	}
	return tx.addProject(ctx, globs, scan)
}

// FindProjectForScan is ProjectForScan without creating a project: an unknown one is
// model.ErrNotFound.
func (tx *Tx) FindProjectForScan(
	ctx context.Context, globs model.ProjectGlobs, scan model.Project,
) (model.Project, error) {
	if err := model.CheckProjectName(scan.Name); err != nil {
		return model.Project{}, model.Invalid("project", "%v", err)
	}
	if !globs.Allows(scan.Name) {
		return model.Project{}, model.ErrNotFound
	}
	if scan.RepoID != "" {
		p, err := tx.projectOfRepo(ctx, globs, scan.RepoID)
		if !errors.Is(err, model.ErrNotFound) {
			return p, err
		}
	}
	p, err := tx.ProjectByName(ctx, scan.Name)
	if err != nil {
		return p, err
	}
	// An old name does not match if the project is known to be another repository. With the same id
	// it would have been found above.
	another := p.Name != scan.Name && p.RepoID != "" && scan.RepoID != ""
	if claim := globs.Claim(scan.RepoID); claim != "" && p.Name != scan.Name {
		another = another || globs.Claims(p.BoundRepoID)
	}
	if another || !globs.Allows(p.Name) {
		return model.Project{}, model.ErrNotFound
	}
	return p, nil
}

// projectOfRepo returns a project by its host id, or by the claim of tokens with the same globs.
// Projects outside of the globs are ignored.
func (tx *Tx) projectOfRepo(ctx context.Context, globs model.ProjectGlobs, repoID string) (model.Project, error) {
	for _, by := range []struct{ column, id string }{{"repo_id", repoID}, {"bound_repo_id", globs.Claim(repoID)}} {
		if by.id == "" {
			continue
		}
		list, err := tx.ProjectsWhere(ctx, `AND `+by.column+` = $2 ORDER BY id`, by.id)
		if err != nil {
			return model.Project{}, err
		}
		for _, p := range list {
			if globs.Allows(p.Name) { // a claimed project may have been renamed since
				return p, nil
			}
		}
	}
	return model.Project{}, model.ErrNotFound
}

// UpdateProjectByScan updates a project from an accepted scan. If its host id has another name, the
// project is renamed, unless the name is in use (docs/reference/projects.md). A URL, id or tags of
// the scan replace stored ones; missing ones stay. The URL of a connection takes precedence,
// because scanners lose its port.
//
// The globs restrict the uploading token: it renames only between allowed names, and its id is a
// claim (see model.Project.BoundRepoID). A project that was renamed out of the globs is not
// changed.
func (tx *Tx) UpdateProjectByScan(
	ctx context.Context, globs model.ProjectGlobs, projectID int64, scan model.Project,
) (model.Project, error) {
	known, err := tx.Project(ctx, projectID)
	if err != nil || !globs.Allows(known.Name) {
		return known, err
	}
	after, claim := known, globs.Claim(scan.RepoID)
	byID := scan.RepoID != "" && scan.RepoID == known.RepoID || claim != "" && claim == known.BoundRepoID
	switch {
	case byID && globs.Allows(scan.Name):
		if after.Name, err = tx.freeName(ctx, known, scan.Name); err != nil {
			return known, err
		}
	case claim != "" && scan.RepoID != known.RepoID:
		after.BoundRepoID = claim
	case claim == "" && scan.RepoID != "":
		after.RepoID = scan.RepoID
	}
	if scan.URL != "" {
		if after.URL, err = tx.addressOf(ctx, known, scan.URL); err != nil {
			return known, err
		}
	}
	if len(scan.Tags) > 0 {
		after.Tags = scan.Tags
	}
	return tx.SaveProject(ctx, globs, known, after)
}

// addressOf returns the new URL of a project: that of its repository at the code host, or else the
// scan's.
func (tx *Tx) addressOf(ctx context.Context, p model.Project, scanned string) (string, error) {
	known, err := sqldb.Many(ctx, tx, sqldb.Scalar[string], `SELECT web_url FROM repository
		WHERE deployment_id = $1 AND project_id = $2 AND project_id <> 0 AND web_url <> '' LIMIT 1`, p.ID)
	switch {
	case err != nil:
		return p.URL, err
	case len(known) > 0:
		return known[0], nil
	}
	return scanned, nil
}

// freeName returns the new name if it is valid and not in use, and else the current one. If two
// repositories swap names, the second scan frees the name.
func (tx *Tx) freeName(ctx context.Context, p model.Project, name string) (string, error) {
	possible := model.CheckNewProjectName(name) == nil
	if name == p.Name || !possible {
		return p.Name, nil
	}
	switch _, err := tx.ProjectWhere(ctx, `AND name = $2`, name); {
	case errors.Is(err, model.ErrNotFound):
		return name, nil
	case err != nil:
		return "", err
	}
	return p.Name, nil
}

// ScanApplied records an applied scan in its project. The first fully scanned branch becomes the
// default branch (docs/reference/projects.md). The time of the latest scan creates neither a feed
// row nor an audit event, because the scan contains it.
func (tx *Tx) ScanApplied(ctx context.Context, projectID int64, ref string, full bool, at time.Time) error {
	tx.MarkWritten()
	branch, err := sqldb.One(ctx, tx, sqldb.Scalar[string], `
		UPDATE project SET latest_scan_at = CASE WHEN latest_scan_at > $3 THEN latest_scan_at ELSE $3 END
		WHERE deployment_id = $1 AND id = $2 RETURNING default_branch`, projectID, at)
	if err != nil {
		return fmt.Errorf("project %d: %w", projectID, err)
	}
	if !full || !strings.HasPrefix(ref, "refs/heads/") || branch != "" {
		return nil
	}
	before, err := tx.Project(ctx, projectID)
	if err != nil {
		return err
	}
	after := before
	after.DefaultBranch = ref
	_, err = tx.SaveProject(ctx, nil, before, after)
	return err
}
