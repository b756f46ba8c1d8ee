package hosts

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"

	"github.com/redoubt/redoubt/internal/store/findings"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ChangeReply is a command that somebody wrote at a change request, and what came of it.
type ChangeReply struct {
	RepositoryID int64
	Number       int64     // of the change request
	Comment      string    // the host's, as scm.Comment.Key; of who may not write, who they are instead
	Login        string    // who wrote it, at the host
	Outcome      string    // what is answered; empty: nothing
	Answered     bool      // the host has the answer, or needs none
	At           time.Time // when it was written, as the host tells; of who may not write, their newest
}

// ChangeReplies lists what was taken of a change request.
func (tx *Tx) ChangeReplies(ctx context.Context, repositoryID, number int64) ([]ChangeReply, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (c ChangeReply, err error) {
		return c, r.Scan(&c.RepositoryID, &c.Number, &c.Comment, &c.Login, &c.Outcome, &c.Answered, sqldb.Instant(&c.At))
	}, `SELECT repository_id, number, comment, login, outcome, answered, decided_at FROM change_reply WHERE `+
		`deployment_id = $1 AND repository_id = $2 AND number = $3`, repositoryID, number)
}

// TakeChangeReply makes a command the caller's to work off; ok is false where it was taken
// before, by whomever.
func (tx *Tx) TakeChangeReply(ctx context.Context, r ChangeReply) (ok bool, err error) {
	n, err := tx.Exec(ctx,
		`INSERT INTO change_reply (deployment_id, repository_id, number, comment, login, outcome, answered, decided_at)
		VALUES ($1, $2, $3, $4, $5, '', 0, $6) ON CONFLICT (deployment_id, repository_id, number, comment) DO NOTHING`,
		r.RepositoryID, r.Number, r.Comment, r.Login, r.At)
	return n > 0, err
}

// NoteChangeReply keeps what came of a command, and whether the host has the answer.
func (tx *Tx) NoteChangeReply(ctx context.Context, r ChangeReply) error {
	return tx.Write(ctx, `UPDATE change_reply SET outcome = $5, answered = $6, decided_at = $7 WHERE deployment_id = $1 `+
		`AND repository_id = $2 AND number = $3 AND comment = $4`,
		r.RepositoryID, r.Number, r.Comment, r.Outcome, r.Answered, r.At)
}

// replyImage is what the audit trail tells of a command that decided.
type replyImage struct {
	Command  string `json:"command"`
	Reason   string `json:"reason,omitempty"`
	Assignee string `json:"assignee,omitempty"`
	Comment  string `json:"comment"`
	Change   int64  `json:"change_request"`
	Login    string `json:"login"`
	Via      string `json:"via,omitempty"`
}

// AuditReply has the trail tell that a command at a change request decided about a finding,
// in words: what was asked for, why, and, of an assignment, whose the finding is now.
func (tx *Tx) AuditReply(r ChangeReply, findingID int64, command, reason, assignee string) {
	tx.Audit("reply.decide", sqldb.Subject("finding", findingID), nil, replyImage{
		command, reason, assignee, r.Comment, r.Number, r.Login, tx.Actor().Via,
	})
}

// ChangesWithNews lists open change requests of a repository at which we wrote, and which
// changed since their replies were read.
func (tx *Tx) ChangesWithNews(ctx context.Context, repositoryID int64) ([]model.ChangeRequest, error) {
	return sqldb.Many(ctx, tx, scanChangeRequest, `SELECT `+changeRequestColumns+` FROM change_request c
		WHERE deployment_id = $1 AND repository_id = $2 AND state = $3 AND COALESCE(replies_read_at, -1) <>
		COALESCE(updated_at, 0)
		AND EXISTS (SELECT 1 FROM change_comment n WHERE n.deployment_id = $1 AND n.repository_id = $2 AND n.number = c.number
		AND n.host_id <> '') ORDER BY number`,
		repositoryID, int64(model.ChangeOpen))
}

// NoteRepliesRead keeps that the replies of a change request were read that the host had
// changed last at a time.
func (tx *Tx) NoteRepliesRead(ctx context.Context, repositoryID, number int64, updated time.Time) error {
	return tx.Write(ctx, `UPDATE change_request SET replies_read_at = $4 WHERE deployment_id = $1 AND repository_id = `+
		`$2 AND number = $3`, repositoryID, number, updated)
}

// FindingOfLineage finds the newest finding of a lineage of a project. Where all are
// removed, or there is none, it is model.ErrNotFound.
func (tx *Tx) FindingOfLineage(ctx context.Context, projectID, lineageID int64) (model.Finding, error) {
	return sqldb.One(ctx, tx, findings.ScanFinding, `SELECT `+findings.FindingColumns+` FROM finding WHERE `+
		`deployment_id = $1 AND project_id = $2 AND lineage_id = $3 AND state <> $4 ORDER BY id DESC LIMIT 1`,
		projectID, lineageID, int64(model.StateRemoved))
}
