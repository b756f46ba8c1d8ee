package hosts

import (
	"context"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// FollowEvery is the interval at which the code host of a connection is polled.
const FollowEvery = 5 * time.Minute

// FollowJob is the kind of job that polls the code host of one connection.
const FollowJob = "follow"

// Following is the input of a FollowJob.
type Following struct {
	ConnectionID int64 `json:"connection"`
}

func followJob(c model.Connection) model.Job {
	return model.Job{
		Kind: FollowJob, Subject: strconv.FormatInt(c.ID, 10), Key: queue.HostKey(c.BaseURL),
		Input: []byte(sqldb.Encoded(Following{c.ID})),
	}
}

// QueueFollowing adds the FollowJob of a connection, due at a time.
func (tx *Tx) QueueFollowing(ctx context.Context, c model.Connection, at time.Time) error {
	j := followJob(c)
	j.DueAt = at
	_, err := tx.Enqueue(ctx, j)
	return err
}

// EnsureFollowing adds the FollowJob of a connection, due now, unless it has one.
func (tx *Tx) EnsureFollowing(ctx context.Context, c model.Connection) error {
	return tx.EnsureJob(ctx, followJob(c))
}

// OpenLineages returns the lineages that have an unresolved finding on one of the refs and are not
// ignored.
func (tx *Tx) OpenLineages(ctx context.Context, projectID int64, refs []string, ids []int64) (map[int64]bool, error) {
	of, named := tx.In("f.ref", 3, refs)
	in, arg := tx.In("f.lineage_id", 4, ids)
	list, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64],
		`SELECT DISTINCT f.lineage_id FROM finding f JOIN lineage l ON l.deployment_id = f.deployment_id
			AND l.id = f.lineage_id
		WHERE f.deployment_id = $1 AND f.project_id = $2 AND `+of+` AND `+in+` AND f.state = $5 AND l.triage_state <> $6`,
		projectID, named, arg, int64(model.Unresolved), int64(model.TriageIgnored))
	open := make(map[int64]bool, len(list))
	for _, id := range list {
		open[id] = true
	}
	return open, err
}

// ChangeComment is a comment of ours on a change request, with the data to find it again.
type ChangeComment struct {
	RepositoryID int64
	Number       int64  // of the change request
	LineageID    int64  // 0 for the summary
	HostID       string // id assigned by the host; empty while it is being written, or after a crash meanwhile
	Thread       string // the host's id of the thread, for hosts that need it
	Path         string // empty for the summary
	Body         string // as last written
	Resolved     bool
}

const changeCommentColumns = `repository_id, number, lineage_id, host_id, thread, path, body, settled`

// ChangeComments returns our comments on a change request.
func (tx *Tx) ChangeComments(ctx context.Context, repositoryID, number int64) ([]ChangeComment, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (c ChangeComment, err error) {
		return c, r.Scan(&c.RepositoryID, &c.Number, &c.LineageID, &c.HostID, &c.Thread, &c.Path, &c.Body, &c.Resolved)
	}, `SELECT `+changeCommentColumns+` FROM change_comment WHERE deployment_id = $1 AND repository_id = $2 AND number `+
		`= $3 ORDER BY lineage_id`, repositoryID, number)
}

// PutChangeComment stores or replaces a comment.
func (tx *Tx) PutChangeComment(ctx context.Context, c ChangeComment) error {
	return tx.Insert(ctx, `change_comment (deployment_id, `+changeCommentColumns+`)`,
		[][]any{{c.RepositoryID, c.Number, c.LineageID, c.HostID, c.Thread, c.Path, c.Body, c.Resolved}},
		`ON CONFLICT (deployment_id, repository_id, number, lineage_id) DO UPDATE
			SET host_id = excluded.host_id, thread = excluded.thread, path = excluded.path,
			body = excluded.body, settled = excluded.settled`)
}

// DropChangeComment deletes the row of a comment that no longer exists.
func (tx *Tx) DropChangeComment(ctx context.Context, repositoryID, number, lineageID int64) error {
	return tx.Write(ctx, `DELETE FROM change_comment WHERE deployment_id = $1 AND repository_id = $2 AND number = $3 `+
		`AND lineage_id = $4`, repositoryID, number, lineageID)
}

// ClaimChange claims writing at a change request exclusively, for the duration hold or until
// FreeChange is called with until. until is unique per claim. ok is false while another claim is
// active.
func (tx *Tx) ClaimChange(
	ctx context.Context, repositoryID, number int64, hold time.Duration,
) (until time.Time, ok bool, err error) {
	until = tx.Now().Add(hold)
	n, err := tx.Exec(ctx, `UPDATE change_request SET told_until = $4 WHERE deployment_id = $1 AND repository_id = $2 `+
		`AND number = $3 AND told_until <= $5`,
		repositoryID, number, until, tx.Now())
	return until, n > 0, err
}

// FreeChange ends the claim with the given until, if it is still active.
func (tx *Tx) FreeChange(ctx context.Context, repositoryID, number int64, until time.Time) error {
	return tx.Write(ctx, `UPDATE change_request SET told_until = 0 WHERE deployment_id = $1 AND repository_id = $2 AND `+
		`number = $3 AND told_until = $4`, repositoryID, number, until)
}
