package hosts

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/findings"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ChangeReply is a command written on a change request, and its outcome.
type ChangeReply struct {
	RepositoryID int64
	Number       int64  // of the change request
	Comment      string // id of the comment (scm.Comment.Key); for users without permission their identity
	Login        string // user name of the author at the host
	Outcome      string // text of the answer; empty for none
	Answered     bool   // the host has the answer, or none is needed
	// time of the comment according to the host; for users without permission of their newest one
	At time.Time
}

// ChangeReplies returns the handled commands of a change request.
func (tx *Tx) ChangeReplies(ctx context.Context, repositoryID, number int64) ([]ChangeReply, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (c ChangeReply, err error) {
		return c, r.Scan(&c.RepositoryID, &c.Number, &c.Comment, &c.Login, &c.Outcome, &c.Answered, sqldb.Instant(&c.At))
	}, `SELECT repository_id, number, comment, login, outcome, answered, decided_at FROM change_reply WHERE `+
		`deployment_id = $1 AND repository_id = $2 AND number = $3`, repositoryID, number)
}

// ClaimChangeReply claims a command for the caller. ok is false if it was already claimed.
func (tx *Tx) ClaimChangeReply(ctx context.Context, r ChangeReply) (ok bool, err error) {
	n, err := tx.Exec(ctx,
		`INSERT INTO change_reply (deployment_id, repository_id, number, comment, login, outcome, answered, decided_at)
		VALUES ($1, $2, $3, $4, $5, '', 0, $6) ON CONFLICT (deployment_id, repository_id, number, comment) DO NOTHING`,
		r.RepositoryID, r.Number, r.Comment, r.Login, r.At)
	return n > 0, err
}

// NoteChangeReply stores the outcome of a command, and whether the host has the answer.
func (tx *Tx) NoteChangeReply(ctx context.Context, r ChangeReply) error {
	return tx.Write(ctx, `UPDATE change_reply SET outcome = $5, answered = $6, decided_at = $7 WHERE deployment_id = $1 `+
		`AND repository_id = $2 AND number = $3 AND comment = $4`,
		r.RepositoryID, r.Number, r.Comment, r.Outcome, r.Answered, r.At)
}

// replyImage is the content of audit events about a command.
type replyImage struct {
	Command  string `json:"command"`
	Reason   string `json:"reason,omitempty"`
	Assignee string `json:"assignee,omitempty"`
	Comment  string `json:"comment"`
	Change   int64  `json:"change_request"`
	Login    string `json:"login"`
	Via      string `json:"via,omitempty"`
}

// AuditReply adds an audit event for a command on a change request that decided about a finding. It
// contains the command, the reason and, for an assignment, the new assignee.
func (tx *Tx) AuditReply(r ChangeReply, findingID int64, command, reason, assignee string) {
	tx.Audit("reply.decide", sqldb.Subject("finding", findingID), nil, replyImage{
		command, reason, assignee, r.Comment, r.Number, r.Login, tx.Actor().Via,
	})
}

// ChangesWithNews returns the open change requests of a repository that changed since their replies
// were read. Only those with a comment of ours are included.
func (tx *Tx) ChangesWithNews(ctx context.Context, repositoryID int64) ([]model.ChangeRequest, error) {
	return sqldb.Many(ctx, tx, scanChangeRequest, `SELECT `+changeRequestColumns+` FROM change_request c
		WHERE deployment_id = $1 AND repository_id = $2 AND state = $3 AND COALESCE(replies_read_at, -1) <>
		COALESCE(updated_at, 0)
		AND EXISTS (SELECT 1 FROM change_comment n WHERE n.deployment_id = $1 AND n.repository_id = $2 AND n.number = c.number
		AND n.host_id <> '') ORDER BY number`,
		repositoryID, int64(model.ChangeOpen))
}

// NoteRepliesRead stores that the replies of a change request were read. updated is the host's time
// of its last change.
func (tx *Tx) NoteRepliesRead(ctx context.Context, repositoryID, number int64, updated time.Time) error {
	return tx.Write(ctx, `UPDATE change_request SET replies_read_at = $4 WHERE deployment_id = $1 AND repository_id = `+
		`$2 AND number = $3`, repositoryID, number, updated)
}

// FindingOfLineage returns the newest finding of a lineage of a project that was not removed, or
// model.ErrNotFound.
func (tx *Tx) FindingOfLineage(ctx context.Context, projectID, lineageID int64) (model.Finding, error) {
	return sqldb.One(ctx, tx, findings.ScanFinding, `SELECT `+findings.FindingColumns+` FROM finding WHERE `+
		`deployment_id = $1 AND project_id = $2 AND lineage_id = $3 AND state <> $4 ORDER BY id DESC LIMIT 1`,
		projectID, lineageID, int64(model.StateRemoved))
}
