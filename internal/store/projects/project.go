package projects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const projectColumns = `id, name, url, created_at, default_branch, primary_branch, latest_scan_at, visibility, ` +
	`managed_diff, managed_full, repo_id, bound_repo_id`

func scanProject(r sqldb.Row) (p model.Project, err error) {
	p.Tags = []string{}
	return p, r.Scan(&p.ID, &p.Name, &p.URL, sqldb.Instant(&p.CreatedAt), &p.DefaultBranch, &p.PrimaryBranch,
		sqldb.Instant(&p.LatestScanAt),
		&p.Visibility, &p.ManagedScan.Diff, &p.ManagedScan.Full, &p.RepoID, &p.BoundRepoID)
}

// ProjectsWhere returns the projects of the deployment that meet a condition, with their tags. The
// condition starts with AND or is an ORDER BY.
func (tx *Tx) ProjectsWhere(ctx context.Context, condition string, args ...any) ([]model.Project, error) {
	projects, err := sqldb.Many(
		ctx, tx, scanProject, `SELECT `+projectColumns+` FROM project WHERE deployment_id = $1 `+condition, args...,
	)
	if err != nil || len(projects) == 0 {
		return projects, err
	}
	at := make(map[int64]int, len(projects))
	for i, p := range projects {
		at[p.ID] = i
	}
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var tag string
		err := r.Scan(&id, &tag)
		if i, known := at[id]; known {
			projects[i].Tags = append(projects[i].Tags, tag)
		}
		return err
	}, `SELECT project_id, tag FROM project_tag WHERE deployment_id = $1
		AND project_id IN (SELECT id FROM project WHERE deployment_id = $1 `+condition+`) ORDER BY project_id, position`,
		args...)
	return projects, err
}

// ProjectWhere returns the first project that meets a condition, with its tags, using one
// statement. The condition starts with AND.
func (tx *Tx) ProjectWhere(ctx context.Context, condition string, args ...any) (p model.Project, err error) {
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var tag string
		found, err := scanProject(tagged{r, &tag})
		switch {
		case err != nil:
			return err
		case p.ID == 0:
			p = found
		case p.ID != found.ID:
			return nil
		}
		if tag != "" {
			p.Tags = append(p.Tags, tag)
		}
		return nil
	}, `SELECT `+projectColumns+`, COALESCE(t.tag, '') FROM (SELECT `+projectColumns+
		` FROM project WHERE deployment_id = $1 `+condition+`) AS p
		LEFT JOIN project_tag t ON t.deployment_id = $1 AND t.project_id = p.id ORDER BY p.id, t.position`, args...)
	if err == nil && p.ID == 0 {
		err = model.ErrNotFound
	}
	return p, err
}

// tagged is a row of a project's columns followed by a tag.
type tagged struct {
	sqldb.Row
	tag *string
}

// Scan implements sqldb.Row.
func (t tagged) Scan(dest ...any) error { return t.Row.Scan(append(dest, t.tag)...) }

// ProjectsByID returns projects in the order of their ids; unknown ids are skipped.
func (tx *Tx) ProjectsByID(ctx context.Context, ids []int64) ([]model.Project, error) {
	in, list := tx.In("id", 2, ids)
	return tx.ProjectsWhere(ctx, `AND `+in+` ORDER BY id`, list)
}

// Project returns a project by id.
func (tx *Tx) Project(ctx context.Context, id int64) (model.Project, error) {
	p, err := tx.ProjectWhere(ctx, `AND id = $2`, id)
	if err != nil {
		return p, fmt.Errorf("project %d: %w", id, err)
	}
	return p, nil
}

// ProjectByName returns the project with a name, or else the last one that had it
// (docs/reference/projects.md). Names are compared exactly.
func (tx *Tx) ProjectByName(ctx context.Context, name string) (model.Project, error) {
	p, err := tx.ProjectWhere(ctx, `AND id = COALESCE((SELECT id FROM project WHERE deployment_id = $1 AND name = $2),
		(SELECT project_id FROM project_alias WHERE deployment_id = $1 AND name = $2))`, name)
	if err != nil {
		return p, fmt.Errorf("project %.80q: %w", name, err)
	}
	return p, nil
}

func (tx *Tx) projectOnceNamed(ctx context.Context, name string) (model.Project, error) {
	return tx.ProjectWhere(
		ctx, `AND id IN (SELECT project_id FROM project_alias WHERE deployment_id = $1 AND name = $2)`, name,
	)
}

// ProjectQuery selects a page of the projects that a caller can access, by name.
type ProjectQuery struct {
	Globs  model.ProjectGlobs
	Offset int
	Limit  int // 0: all
}

// Projects returns a page of projects, sorted by the bytes of their names. The page counts only
// projects that the globs allow.
func (tx *Tx) Projects(ctx context.Context, q ProjectQuery) ([]model.Project, error) {
	refs, err := tx.visibleProjects(ctx, q.Globs)
	if err != nil {
		return nil, err
	}
	refs = refs[min(max(0, q.Offset), len(refs)):]
	if q.Limit > 0 {
		refs = refs[:min(q.Limit, len(refs))]
	}
	ids := model.Map(refs, func(r projectRef) int64 { return r.id })
	in, list := tx.In("id", 2, ids)
	return tx.ProjectsWhere(ctx, `AND `+in+` ORDER BY name`+tx.ByBytes(), list)
}

type projectRef struct {
	id   int64
	name string
}

// visibleProjects returns the projects that globs allow, by name.
func (tx *Tx) visibleProjects(ctx context.Context, globs model.ProjectGlobs) ([]projectRef, error) {
	refs, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (p projectRef, err error) { return p, r.Scan(&p.id, &p.name) },
		`SELECT id, name FROM project WHERE deployment_id = $1 ORDER BY name`+tx.ByBytes())
	return slices.DeleteFunc(refs, func(p projectRef) bool { return !globs.Allows(p.name) }), err
}

// VisibleProjectIDs returns the ids of the projects that globs allow. Without globs all is true and
// the list is empty.
func (tx *Tx) VisibleProjectIDs(ctx context.Context, globs model.ProjectGlobs) (ids []int64, all bool, err error) {
	if len(globs) == 0 {
		return nil, true, nil
	}
	refs, err := tx.visibleProjects(ctx, globs)
	ids = make([]int64, len(refs))
	for i, p := range refs {
		ids[i] = p.id
	}
	return ids, false, err
}

// CreateProject creates a project and returns it with its id and creation time. A name or host id
// of another project is model.ErrConflict; an old name of another project is taken over.
func (tx *Tx) CreateProject(ctx context.Context, p model.Project) (model.Project, error) {
	return tx.CreateProjectWithin(ctx, nil, p)
}

// CreateProjectWithin is CreateProject for a token restricted by globs. An old name of a project
// outside of the globs does not conflict and stays an alias of that project; the new project takes
// precedence.
func (tx *Tx) CreateProjectWithin(
	ctx context.Context, globs model.ProjectGlobs, p model.Project,
) (model.Project, error) {
	if p.RepoID != "" {
		switch twin, err := tx.ProjectWhere(ctx, `AND repo_id = $2`, p.RepoID); {
		case err == nil:
			return p, fmt.Errorf("repository %.80s already belongs to project %s: %w",
				p.RepoID, twin.Name, model.ErrConflict)
		case !errors.Is(err, model.ErrNotFound):
			return p, err
		}
	}
	return tx.addProject(ctx, globs, p)
}

func (tx *Tx) addProject(ctx context.Context, globs model.ProjectGlobs, p model.Project) (_ model.Project, err error) {
	if err := model.CheckNewProjectName(p.Name); err != nil {
		return p, model.Invalid("name", "%v", err)
	}
	if p.Tags, err = model.NormalTags(p.Tags); err != nil {
		return p, model.Invalid("tags", "%v", err)
	}
	if p.ID, err = tx.NewID(ctx, seqProject); err != nil {
		return p, err
	}
	p.CreatedAt, p.LatestScanAt = tx.Now(), time.Time{}
	if err := tx.dropAlias(ctx, globs, p.Name); err != nil {
		return p, err
	}
	err = tx.Insert(ctx, `project (deployment_id, `+projectColumns+`)`, [][]any{{
		p.ID, p.Name, p.URL, p.CreatedAt, p.DefaultBranch, p.PrimaryBranch, nil,
		p.Visibility, p.ManagedScan.Diff, p.ManagedScan.Full, p.RepoID, p.BoundRepoID,
	}}, "")
	if err != nil {
		return p, nameTaken(p.Name, err)
	}
	if err := tx.addTags(ctx, p.ID, p.Tags); err != nil {
		return p, err
	}
	tx.Change(sqldb.ChangeProject, p.ID)
	tx.Audit("project.create", sqldb.Subject("project", p.ID), nil, AuditedProject(p))
	return p, tx.scheduleProject(ctx, p)
}

func nameTaken(name string, err error) error {
	if errors.Is(err, model.ErrConflict) {
		return fmt.Errorf("a project called %.80q already exists: %w", name, model.ErrConflict)
	}
	return err
}

// ProjectPatch changes fields of a project; nil ones stay.
type ProjectPatch struct {
	URL           *string
	Tags          *[]string
	PrimaryBranch *string // full ref; empty: the default branch
	Visibility    *model.Visibility
	ManagedDiff   *bool
	ManagedFull   *bool
}

// UpdateProject changes fields of a project and returns the result.
func (tx *Tx) UpdateProject(ctx context.Context, id int64, patch ProjectPatch) (model.Project, error) {
	before, err := tx.Project(ctx, id)
	if err != nil {
		return before, err
	}
	after := before
	set(&after.URL, patch.URL)
	set(&after.Tags, patch.Tags)
	set(&after.PrimaryBranch, patch.PrimaryBranch)
	set(&after.Visibility, patch.Visibility)
	set(&after.ManagedScan.Diff, patch.ManagedDiff)
	set(&after.ManagedScan.Full, patch.ManagedFull)
	return tx.SaveProject(ctx, nil, before, after)
}

func set[T any](member, value *T) {
	if value != nil {
		*member = *value
	}
}

// RenameProject renames a project; the old name stays valid as an alias. A name of another project
// is model.ErrConflict.
func (tx *Tx) RenameProject(ctx context.Context, id int64, name string) (model.Project, error) {
	before, err := tx.Project(ctx, id)
	if err != nil || name == before.Name {
		return before, err
	}
	if err := model.CheckNewProjectName(name); err != nil {
		return before, model.Invalid("name", "%v", err)
	}
	after := before
	after.Name = name
	return tx.SaveProject(ctx, nil, before, after)
}

// SaveProject stores a changed project with a feed row and an audit event. For a new name, the
// globs apply as in dropAlias.
func (tx *Tx) SaveProject(
	ctx context.Context, globs model.ProjectGlobs, before, after model.Project,
) (_ model.Project, err error) {
	if after.Tags, err = model.NormalTags(after.Tags); err != nil {
		return before, model.Invalid("tags", "%v", err)
	}
	if AuditedProject(before).equal(AuditedProject(after)) {
		return before, nil
	}
	if after.Name != before.Name {
		if err := tx.swapName(ctx, globs, before.ID, before.Name, after.Name); err != nil {
			return before, err
		}
	}
	err = tx.Write(ctx, `
		UPDATE project SET name = $3, url = $4, default_branch = $5, primary_branch = $6, visibility = $7, managed_diff = $8,
		managed_full = $9, repo_id = $10, bound_repo_id = $11
		WHERE deployment_id = $1 AND id = $2`, after.ID, after.Name, after.URL, after.DefaultBranch, after.PrimaryBranch,
		after.Visibility, after.ManagedScan.Diff, after.ManagedScan.Full, after.RepoID, after.BoundRepoID)
	if err != nil {
		return before, nameTaken(after.Name, err)
	}
	if !slices.Equal(before.Tags, after.Tags) {
		if err := tx.PutTags(ctx, after.ID, after.Tags); err != nil {
			return before, err
		}
	}
	tx.Change(sqldb.ChangeProject, after.ID)
	tx.Audit("project.update", sqldb.Subject("project", after.ID), AuditedProject(before), AuditedProject(after))
	if before.ManagedScan.Full {
		return after, nil
	}
	return after, tx.scheduleProject(ctx, after)
}

// PutTags replaces the tags of a project.
func (tx *Tx) PutTags(ctx context.Context, projectID int64, tags []string) error {
	if err := tx.Write(ctx, `DELETE FROM project_tag WHERE deployment_id = $1 AND project_id = $2`,
		projectID); err != nil {
		return err
	}
	return tx.addTags(ctx, projectID, tags)
}

func (tx *Tx) addTags(ctx context.Context, projectID int64, tags []string) error {
	rows := make([][]any, len(tags))
	for i, tag := range tags {
		rows[i] = []any{projectID, i, tag}
	}
	return tx.Insert(ctx, "project_tag (deployment_id, project_id, position, tag)", rows, "")
}

// dropAlias deletes an alias that becomes the name of another project. An alias of a project outside
// of the globs stays.
func (tx *Tx) dropAlias(ctx context.Context, globs model.ProjectGlobs, name string) error {
	owner, err := tx.projectOnceNamed(ctx, name)
	switch {
	case errors.Is(err, model.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !globs.Allows(owner.Name):
		return nil
	}
	tx.Change(sqldb.ChangeProject, owner.ID)
	return tx.Write(ctx, `DELETE FROM project_alias WHERE deployment_id = $1 AND name = $2`, name)
}

// swapName makes a project's old name an alias and frees the new one.
func (tx *Tx) swapName(ctx context.Context, globs model.ProjectGlobs, id int64, old, name string) error {
	if err := tx.dropAlias(ctx, globs, name); err != nil {
		return err
	}
	// of a project that was outside of the globs when this one got the name
	if err := tx.dropAlias(ctx, nil, old); err != nil {
		return err
	}
	return tx.Insert(ctx, "project_alias (deployment_id, name, project_id)", [][]any{{old, id}}, "")
}

// ProjectImage is the content of audit events about a project.
type ProjectImage struct {
	Name          string   `json:"name"`
	URL           string   `json:"url"`
	Tags          []string `json:"tags"`
	DefaultBranch string   `json:"default_branch"`
	PrimaryBranch string   `json:"primary_branch"`
	Visibility    string   `json:"visibility"`
	ManagedDiff   bool     `json:"managed_diff_scan"`
	ManagedFull   bool     `json:"managed_full_scan"`
	RepoID        string   `json:"repo_id"`
	BoundRepoID   string   `json:"bound_repo_id,omitempty"`
}

// AuditedProject returns the content of audit events about a project.
func AuditedProject(p model.Project) ProjectImage {
	return ProjectImage{
		p.Name, p.URL, sqldb.OrEmpty(p.Tags), p.DefaultBranch, p.PrimaryBranch,
		p.Visibility.String(), p.ManagedScan.Diff, p.ManagedScan.Full, p.RepoID, p.BoundRepoID,
	}
}

func (i ProjectImage) equal(other ProjectImage) bool { return sqldb.Encoded(i) == sqldb.Encoded(other) }

const seqProject sqldb.Sequence = "project"
