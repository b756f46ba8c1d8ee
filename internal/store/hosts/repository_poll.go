package hosts

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// RepositoriesToPoll returns at most limit scannable repositories of a connection that have a
// project, least recently polled first. It includes those last polled before a time; heardBefore
// applies instead to those with a working webhook.
func (tx *Tx) RepositoriesToPoll(
	ctx context.Context, connectionID int64, before, heardBefore time.Time, limit int,
) ([]model.Repository, error) {
	return sqldb.Many(ctx, tx, scanRepository, `SELECT `+repositoryColumns+` FROM repository
		WHERE deployment_id = $1 AND connection_id = $2 AND project_id <> 0 AND archived = 0 AND gone_at IS NULL
		AND clone_url <> ''
		AND (COALESCE(polled_at, 0) <= $4 OR (hook_id = '' OR heard_at IS NULL OR missed_at <= $6 OR hook_lacks <> '') AND
		COALESCE(polled_at, 0) <= $3) ORDER BY COALESCE(polled_at, 0), id LIMIT $5`,
		connectionID, before, heardBefore, limit, tx.Now().Add(-model.HookPatience))
}

// NotePoll stores when a repository was polled.
func (tx *Tx) NotePoll(ctx context.Context, repositoryID int64, at time.Time) error {
	return tx.Write(ctx, `UPDATE repository SET polled_at = $3 WHERE deployment_id = $1 AND id = $2`, repositoryID, at)
}

// Head returns the branch that is scanned on push and its newest commit, as stored. They are empty
// before the first poll.
func (tx *Tx) Head(ctx context.Context, repositoryID int64) (branch, commit string, err error) {
	head, err := sqldb.One(ctx, tx, func(r sqldb.Row) (h [2]string, err error) {
		return h, r.Scan(&h[0], &h[1])
	}, `SELECT head_branch, head_commit FROM repository WHERE deployment_id = $1 AND id = $2`, repositoryID)
	return head[0], head[1], err
}

// NoteHead stores the newest commit of the branch that is scanned on push, and reports whether it
// changed.
func (tx *Tx) NoteHead(ctx context.Context, repositoryID int64, branch, commit string) (fresh bool, err error) {
	n, err := tx.Exec(ctx, `UPDATE repository SET head_branch = $3, head_commit = $4 WHERE deployment_id = $1 AND id = `+
		`$2 AND (head_branch <> $3 OR head_commit <> $4)`,
		repositoryID, branch, commit)
	return n > 0, err
}

// LastFullRun returns the newest full run of a project's ref that was neither canceled nor
// superseded, or model.ErrNotFound.
func (tx *Tx) LastFullRun(ctx context.Context, projectID int64, ref string) (model.Run, error) {
	return sqldb.One(ctx, tx, scanRun,
		runSelect+`AND project_id = $2 AND kind = $3 AND ref = $4 AND state <> $5 AND state <> $6 ORDER BY id DESC LIMIT 1`,
		projectID, int64(model.RunFull), ref, int64(model.RunCancelled), int64(model.RunSuperseded))
}
