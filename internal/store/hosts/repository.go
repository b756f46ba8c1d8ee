package hosts

import (
	"context"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const repositoryColumns = `id, connection_id, host_id, full_name, default_branch, archived, private, clone_url, ` +
	`web_url, project_id, hook_id, hook_address, gone_at, polled_at, heard_at, missed_at, missed, hook_lacks`

func scanRepository(r sqldb.Row) (p model.Repository, err error) {
	return p, r.Scan(&p.ID, &p.ConnectionID, &p.HostID, &p.FullName, &p.DefaultBranch, &p.Archived, &p.Private,
		&p.CloneURL, &p.WebURL, &p.ProjectID, &p.HookID, &p.HookAddress, sqldb.Instant(&p.GoneAt), sqldb.Instant(&p.PolledAt),
		sqldb.Instant(&p.WebhookAt), sqldb.Instant(&p.MissedAt), &p.Missed, &p.HookLacks)
}

func (tx *Tx) repositoryWhere(ctx context.Context, condition string, args ...any) (model.Repository, error) {
	r, err := sqldb.One(
		ctx, tx, scanRepository, `SELECT `+repositoryColumns+` FROM repository WHERE deployment_id = $1 `+condition, args...,
	)
	if err != nil {
		return r, fmt.Errorf("repository: %w", err)
	}
	return r, nil
}

// Repository returns the repository of a project, or model.ErrNotFound.
func (tx *Tx) Repository(ctx context.Context, projectID int64) (model.Repository, error) {
	return tx.repositoryWhere(ctx, `AND project_id = $2 AND project_id <> 0`, projectID)
}

// RepositoriesOf returns the repositories of projects, by project; projects without one are
// omitted.
func (tx *Tx) RepositoriesOf(ctx context.Context, projectIDs []int64) (map[int64]model.Repository, error) {
	in, arg := tx.In("project_id", 2, projectIDs)
	list, err := sqldb.Many(ctx, tx, scanRepository,
		`SELECT `+repositoryColumns+` FROM repository WHERE deployment_id = $1 AND project_id <> 0 AND `+in, arg)
	of := make(map[int64]model.Repository, len(list))
	for _, r := range list {
		of[r.ProjectID] = r
	}
	return of, err
}

// RepositoryByID returns a repository by its id.
func (tx *Tx) RepositoryByID(ctx context.Context, id int64) (model.Repository, error) {
	return tx.repositoryWhere(ctx, `AND id = $2`, id)
}

// RepositoryByHostID returns a repository of a connection by the host's id.
func (tx *Tx) RepositoryByHostID(ctx context.Context, connectionID int64, hostID string) (model.Repository, error) {
	return tx.repositoryWhere(ctx, `AND connection_id = $2 AND host_id = $3`, connectionID, hostID)
}

// Repositories returns the repositories of a connection by name. Those deleted at the host are
// included if they have a project.
func (tx *Tx) Repositories(ctx context.Context, connectionID int64) ([]model.Repository, error) {
	return sqldb.Many(ctx, tx, scanRepository, `SELECT `+repositoryColumns+` FROM repository
		WHERE deployment_id = $1 AND connection_id = $2 ORDER BY full_name`+tx.ByBytes()+`, id`, connectionID)
}

// RepositoryQuery selects repositories of a connection.
type RepositoryQuery struct {
	ConnectionID int64
	Followed     *bool // only those with or without a project; nil: all
	Skip, Limit  int
}

// RepositoryPage returns a page of a connection's repositories by name, and reports whether there
// are more.
func (tx *Tx) RepositoryPage(ctx context.Context, q RepositoryQuery) (list []model.Repository, more bool, err error) {
	w := &sqldb.Where{Tx: tx.Tx}
	w.And(`connection_id = ?`, q.ConnectionID)
	if q.Followed != nil && *q.Followed {
		w.And(`project_id <> 0`)
	} else if q.Followed != nil {
		w.And(`project_id = 0`)
	}
	w.And(`0 = 0 ORDER BY full_name`+tx.ByBytes()+`, id LIMIT ? OFFSET ?`, q.Limit+1, q.Skip)
	all := func(model.Repository) bool { return true }
	return sqldb.UpTo(ctx, tx, q.Limit, all, scanRepository,
		`SELECT `+repositoryColumns+` FROM repository WHERE deployment_id = $1`+w.Text.String(), w.Args...)
}

// SaveRepositories stores repositories of a connection as received from the host, by the host's
// ids, and returns their current state. If all is set, the others are marked as gone. A project
// with the name of its repository is renamed with it, unless the new name is in use.
func (tx *Tx) SaveRepositories(
	ctx context.Context, connectionID int64, told []model.Repository, all bool,
) ([]model.Repository, error) {
	if _, err := tx.Connection(ctx, connectionID); err != nil {
		return nil, err
	}
	known, err := tx.Repositories(ctx, connectionID)
	if err != nil {
		return nil, err
	}
	byHost := make(map[string]model.Repository, len(known))
	for _, r := range known {
		byHost[r.HostID] = r
	}
	var fresh [][]any
	now := make([]model.Repository, 0, len(told))
	seen := map[string]bool{}
	for _, r := range told {
		if seen[r.HostID] { // pages of hosts may overlap when they change while being read
			continue
		}
		seen[r.HostID] = true
		before, is := byHost[r.HostID]
		delete(byHost, r.HostID)
		r.ConnectionID, r.ID, r.ProjectID = connectionID, before.ID, before.ProjectID
		r.HookID, r.HookAddress, r.HookLacks = before.HookID, before.HookAddress, before.HookLacks
		r.PolledAt, r.WebhookAt = before.PolledAt, before.WebhookAt
		r.MissedAt, r.Missed = before.MissedAt, before.Missed
		switch {
		case !is:
			if r.ID, err = tx.NewID(ctx, sqldb.SeqConnection); err == nil {
				fresh = append(fresh, repositoryRow(r))
			}
		case r != before:
			err = tx.updateRepository(ctx, before, r)
		}
		if err != nil {
			return nil, err
		}
		now = append(now, r)
	}
	if err := tx.Insert(ctx, `repository (deployment_id, `+repositoryColumns+`)`, fresh, ""); err != nil {
		return nil, err
	}
	if all {
		err = tx.loseRepositories(ctx, byHost)
	}
	return now, err
}

func repositoryRow(r model.Repository) []any {
	return []any{
		r.ID, r.ConnectionID, r.HostID, r.FullName, r.DefaultBranch, r.Archived, r.Private, r.CloneURL, r.WebURL,
		r.ProjectID, r.HookID, r.HookAddress, r.GoneAt, r.PolledAt, r.WebhookAt, r.MissedAt, r.Missed, r.HookLacks,
	}
}

func (tx *Tx) updateRepository(ctx context.Context, before, after model.Repository) error {
	err := tx.Write(ctx,
		`UPDATE repository SET full_name = $3, default_branch = $4, archived = $5, private = $6, clone_url = $7, web_url = $8,
			gone_at = $9
		WHERE deployment_id = $1 AND id = $2`, after.ID, after.FullName, after.DefaultBranch, after.Archived, after.Private,
		after.CloneURL, after.WebURL, after.GoneAt)
	if err == nil && before.WebURL != after.WebURL {
		err = tx.setProjectURL(ctx, after)
	}
	if err != nil || after.ProjectID == 0 || before.FullName == after.FullName {
		return err
	}
	p, err := tx.Project(ctx, after.ProjectID)
	if err != nil || p.Name != before.FullName || model.CheckNewProjectName(after.FullName) != nil {
		return err
	}
	if _, err := tx.ProjectWhere(ctx, `AND name = $2`, after.FullName); !errors.Is(err, model.ErrNotFound) {
		return err // if the name is in use, the project is not renamed
	}
	_, err = tx.RenameProject(ctx, p.ID, after.FullName)
	return err
}

// setProjectURL sets a project's URL to that of its repository.
func (tx *Tx) setProjectURL(ctx context.Context, r model.Repository) error {
	if r.ProjectID == 0 || r.WebURL == "" {
		return nil
	}
	before, err := tx.Project(ctx, r.ProjectID)
	if err != nil {
		return err
	}
	after := before
	after.URL = r.WebURL
	_, err = tx.SaveProject(ctx, nil, before, after)
	return err
}

// loseRepositories handles repositories that the host no longer lists. Those with a project are
// marked as gone; others are deleted.
func (tx *Tx) loseRepositories(ctx context.Context, lost map[string]model.Repository) error {
	var forgotten, gone []int64
	for _, r := range lost {
		switch {
		case r.ProjectID == 0:
			forgotten = append(forgotten, r.ID)
		case r.GoneAt.IsZero():
			gone = append(gone, r.ID)
		}
	}
	of, list := tx.In("repository_id", 2, forgotten)
	for _, table := range []string{"change_comment", "change_request"} {
		if err := tx.Write(ctx, `DELETE FROM `+table+` WHERE deployment_id = $1 AND `+of, list); err != nil {
			return err
		}
	}
	in, list := tx.In("id", 2, forgotten)
	if err := tx.Write(ctx, `DELETE FROM repository WHERE deployment_id = $1 AND `+in, list); err != nil {
		return err
	}
	in, list = tx.In("id", 2, gone)
	return tx.Write(ctx, `UPDATE repository SET gone_at = $3 WHERE deployment_id = $1 AND `+in, list, tx.Now())
}

// AssignProject assigns the project with the repository's full name to it and creates the project
// if needed. An existing assignment stays. A project of another repository, or a name that is not
// allowed for new projects, is model.ErrConflict.
func (tx *Tx) AssignProject(ctx context.Context, id int64) (model.Project, error) {
	r, err := tx.RepositoryByID(ctx, id)
	if err != nil {
		return model.Project{}, err
	}
	if r.ProjectID != 0 {
		return tx.Project(ctx, r.ProjectID)
	}
	p, err := tx.ProjectWhere(ctx, `AND name = $2`, r.FullName)
	if errors.Is(err, model.ErrNotFound) {
		if reserved := model.CheckNewProjectName(r.FullName); reserved != nil {
			return p, fmt.Errorf("%w: %w", reserved, model.ErrConflict)
		}
		p, err = tx.CreateProject(ctx, projectOf(r))
	}
	if err != nil {
		return p, err
	}
	n, err := tx.Exec(ctx, `UPDATE repository SET project_id = $3 WHERE deployment_id = $1 AND id = $2
		AND NOT EXISTS (SELECT 1 FROM repository o WHERE o.deployment_id = $1 AND o.project_id = $3)`, r.ID, p.ID)
	if err == nil && n == 0 {
		err = fmt.Errorf("the project %s already has another repository: %w", p.Name, model.ErrConflict)
	}
	if err != nil {
		return p, err
	}
	tx.Audit("repository.take", sqldb.Subject("repository", r.ID), nil, repositoryImage{
		r.FullName, sqldb.Subject("connection", r.ConnectionID), sqldb.Subject("project", p.ID),
	})
	r.ProjectID = p.ID
	if err := tx.setProjectURL(ctx, r); err != nil {
		return p, err
	}
	return tx.Project(ctx, p.ID)
}

// repositoryImage is the content of audit events about a repository.
type repositoryImage struct {
	FullName   string `json:"full_name"`
	Connection string `json:"connection"`
	Project    string `json:"project"`
}

func projectOf(r model.Repository) model.Project {
	p := model.Project{Name: r.FullName, URL: r.WebURL, Visibility: model.VisibilityPublic}
	if r.Private {
		p.Visibility = model.VisibilityPrivate
	}
	if r.DefaultBranch != "" {
		p.DefaultBranch = "refs/heads/" + r.DefaultBranch
	}
	return p
}

// DropRepository unlinks a repository from its project. The project stays.
func (tx *Tx) DropRepository(ctx context.Context, id int64) error {
	r, err := tx.RepositoryByID(ctx, id)
	if err != nil || r.ProjectID == 0 {
		return err
	}
	tx.Audit("repository.drop", sqldb.Subject("repository", r.ID), repositoryImage{
		r.FullName, sqldb.Subject("connection", r.ConnectionID), sqldb.Subject("project", r.ProjectID),
	}, nil)
	return tx.Write(ctx, `UPDATE repository SET project_id = 0 WHERE deployment_id = $1 AND id = $2`, id)
}

// MergeRepository moves the repository of one project to another that has none.
func (tx *Tx) MergeRepository(ctx context.Context, from, into int64) error {
	switch _, err := tx.Repository(ctx, into); {
	case errors.Is(err, model.ErrNotFound):
		return tx.Reassign(ctx, "repository", from, into)
	case err != nil:
		return err
	}
	return tx.Reassign(ctx, "repository", from, 0)
}
