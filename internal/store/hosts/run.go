package hosts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const runColumns = `deployment_id, id, project_id, ref, commit_id, base, kind, cause, change_number, host, state,
	attempt, claim, runner_id, token_id, scan_id,
	failure, reason, log_size, due_at, lease_until, created_at, begun_at, ended_at`

const runSelect = `SELECT ` + runColumns + ` FROM managed_run WHERE deployment_id = $1 `

func scanRun(r sqldb.Row) (u model.Run, err error) {
	return u, r.Scan(&u.DeploymentID, &u.ID, &u.ProjectID, &u.Ref, &u.Commit, &u.Base, &u.Kind, &u.Cause, &u.Change,
		&u.Host, &u.State, &u.Attempt, &u.Claim,
		&u.RunnerID, &u.TokenID, &u.ScanID, &u.Failure, &u.Reason, &u.LogSize, sqldb.Instant(&u.DueAt),
		sqldb.Instant(&u.LeaseUntil), sqldb.Instant(&u.CreatedAt),
		sqldb.Instant(&u.BegunAt), sqldb.Instant(&u.EndedAt))
}

// Run returns a managed run by id.
func (tx *Tx) Run(ctx context.Context, id int64) (model.Run, error) {
	r, err := sqldb.One(ctx, tx, scanRun, runSelect+`AND id = $2`, id)
	if err != nil {
		return r, fmt.Errorf("run %d: %w", id, err)
	}
	return r, nil
}

// RunQuery selects managed runs.
type RunQuery struct {
	Globs     model.ProjectGlobs
	ProjectID int64            // 0: all
	States    []model.RunState // empty: all
	Before    int64            // only lower ids; 0: all
	Limit     int
}

// Runs returns runs, newest first.
func (tx *Tx) Runs(ctx context.Context, q RunQuery) ([]model.Run, error) {
	w := &sqldb.Where{Tx: tx.Tx}
	if q.ProjectID != 0 {
		w.And(`project_id = ?`, q.ProjectID)
	}
	if len(q.States) > 0 {
		states := model.Map(q.States, func(s model.RunState) int64 { return int64(s) })
		w.In(`state`, states)
	}
	if q.Before != 0 {
		w.And(`id < ?`, q.Before)
	}
	ids, all, err := tx.VisibleProjectIDs(ctx, q.Globs)
	if err != nil {
		return nil, err
	}
	if !all {
		w.In(`project_id`, ids)
	}
	w.And(`0 = 0 ORDER BY id DESC LIMIT ?`, q.Limit)
	return sqldb.Many(ctx, tx, scanRun, runSelect+w.Text.String(), w.Args...)
}

// endRun ends a run or requeues it for another attempt, depending on the outcome. It deletes the
// upload token of the attempt.
func (tx *Tx) endRun(ctx context.Context, r model.Run, o model.RunOutcome) error {
	if err := tx.dropRunToken(ctx, r); err != nil {
		return err
	}
	r = r.After(o, tx.Now())
	err := tx.Write(ctx,
		`UPDATE managed_run SET state = $3, failure = $4, reason = $5, scan_id = $6, due_at = $7, ended_at = $8,
			lease_until = NULL, token_id = 0
		WHERE deployment_id = $1 AND id = $2`, r.ID, r.State, r.Failure, r.Reason, r.ScanID, r.DueAt, r.EndedAt)
	if err != nil {
		return err
	}
	if err := tx.NotifyRunFailed(ctx, r); err != nil {
		return err
	}
	if err := tx.QueueNextRun(ctx, time.Time{}); err != nil { // another run of its host may start
		return err
	}
	return tx.EnqueueStatusUpdate(ctx, r.ProjectID, r.Commit)
}

// dropRunToken revokes and deletes the token of an ended attempt; the audit trail records it.
func (tx *Tx) dropRunToken(ctx context.Context, r model.Run) error {
	if r.TokenID == 0 {
		return nil
	}
	switch err := tx.RevokeToken(ctx, r.TokenID); {
	case errors.Is(err, model.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return tx.Write(ctx, `DELETE FROM token WHERE deployment_id = $1 AND id = $2`, r.TokenID)
}

// CancelRun cancels a run. An ended one is model.ErrConflict.
func (tx *Tx) CancelRun(ctx context.Context, id int64, reason string) error {
	r, err := tx.Run(ctx, id)
	if err != nil {
		return err
	}
	if r.State.Ended() {
		return fmt.Errorf("run %d has already ended: %s: %w", id, r.State, model.ErrConflict)
	}
	tx.Audit("run.cancel", sqldb.Subject("run", id), nil, imageOfRun(r))
	return tx.endRun(ctx, r, model.RunOutcome{State: model.RunCancelled, Reason: reason})
}

// EndOverdueRuns ends or requeues the runs whose lease or time limit has expired, and returns their
// number.
func (tx *Tx) EndOverdueRuns(ctx context.Context) (int, error) {
	begun, err := sqldb.Many(ctx, tx, scanRun,
		runSelect+`AND state > $2 AND state < $3 AND (lease_until <= $4 OR begun_at <= $5)`,
		model.RunQueued, model.RunDone, tx.Now(), tx.Now().Add(-model.RunTimeLimit))
	n := 0
	for _, r := range begun {
		if o, over := r.Overdue(tx.Now()); over && err == nil {
			n++
			err = tx.endRun(ctx, r, o)
		}
	}
	return n, err
}

// holding returns a run if the claim is still valid, or model.ErrConflict.
func (tx *Tx) holding(ctx context.Context, id, claim int64) (model.Run, error) {
	r, err := tx.Run(ctx, id)
	if err == nil && (!r.State.Begun() || r.Claim != claim) {
		err = fmt.Errorf("run %d no longer belongs to this runner: %s: %w", id, r.State, model.ErrConflict)
	}
	return r, err
}

// FinishRun ends an attempt with the outcome from its runner and returns the updated run. An
// expired claim is model.ErrConflict.
func (tx *Tx) FinishRun(ctx context.Context, id, claim int64, o model.RunOutcome) (model.Run, error) {
	r, err := tx.holding(ctx, id, claim)
	if err != nil {
		return r, err
	}
	if err := tx.endRun(ctx, r, o); err != nil {
		return r, err
	}
	return r.After(o, tx.Now()), nil
}

// RunProgress is a progress report of a runner.
type RunProgress struct {
	State  model.RunState
	Ref    string // empty: unknown
	Commit string // empty: unknown
	Offset int64  // position of Log in the whole log
	Log    []byte // new part of the log
}

// ProgressRun stores the progress of a claimed run, updates its runner's last-seen time and renews
// the lease. An expired claim is model.ErrConflict, and an invalid state change a
// *model.InvalidError. It does not lock the deployment, so runs of one tenant can report
// concurrently.
func (s *DB) ProgressRun(ctx context.Context, deploymentID, id, claim int64, p RunProgress) error {
	now := s.Now()
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		if err := touchRunnerOfRun(ctx, q, deploymentID, id, claim, now); err != nil {
			return err
		}
		r, err := sqldb.One(ctx, q, scanRun, runSelect+`AND id = $2 AND claim = $3`+q.ForUpdate(), deploymentID, id, claim)
		if errors.Is(err, model.ErrNotFound) || err == nil && !r.State.Begun() {
			return fmt.Errorf("run %d no longer belongs to this runner: %w", id, model.ErrConflict)
		}
		if err != nil {
			return err
		}
		if _, over := r.Overdue(now); over {
			return fmt.Errorf("the lease of run %d has expired: %w", id, model.ErrConflict)
		}
		if !r.State.MayBecome(p.State) {
			return model.Invalid("state", "a run that is %s cannot become %s", r.State, p.State)
		}
		size, err := appendRunLog(ctx, q, r, p)
		if err != nil {
			return err
		}
		if r.Ref == "" {
			r.Ref = p.Ref
		}
		if r.Commit == "" {
			r.Commit = p.Commit
		}
		return q.Write(ctx, `UPDATE managed_run SET state = $3, ref = $4, commit_id = $5, log_size = $6, lease_until = $7 `+
			`WHERE deployment_id = $1 AND id = $2`,
			deploymentID, id, p.State, r.Ref, r.Commit, size, now.Add(model.RunLease))
	})
}

// appendRunLog appends a part of the log and returns the new size. Bytes that are already stored
// are skipped, so a part may be sent twice. Bytes above model.MaxRunLog are discarded.
func appendRunLog(ctx context.Context, q *sqldb.Session, r model.Run, p RunProgress) (int64, error) {
	if p.Offset < 0 || p.Offset > r.LogSize {
		return 0, model.Invalid("offset", "the log has %d bytes: a part cannot begin at %d", r.LogSize, p.Offset)
	}
	known := r.LogSize - p.Offset
	if known >= int64(len(p.Log)) {
		return r.LogSize, nil
	}
	piece := p.Log[known:]
	piece = piece[:min(int64(len(piece)), max(0, model.MaxRunLog-r.LogSize))]
	if len(piece) == 0 {
		return r.LogSize, nil
	}
	err := q.Insert(ctx, r.DeploymentID, `managed_run_log (deployment_id, run_id, start, content)`, [][]any{
		{r.ID, r.LogSize, piece},
	}, "")
	return r.LogSize + int64(len(piece)), err
}

// RunLog returns the log of a run's newest attempt, starting at an offset.
func (tx *Tx) RunLog(ctx context.Context, id, offset int64) ([]byte, error) {
	log := []byte{}
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var start int64
		var piece []byte
		err := r.Scan(&start, &piece)
		log = append(log, piece[min(max(0, offset-start), int64(len(piece))):]...)
		return err
	}, `SELECT start, content FROM managed_run_log WHERE deployment_id = $1 AND run_id = $2 AND start > $3 ORDER BY start`,
		id, offset-model.MaxRunLog)
	return log, err
}

// LeaseRun leases the oldest due run to a runner. The project must be allowed by the globs, and the
// host below its limit of active runs. ok is false if there is none. Expired leases are ended
// first.
func (tx *Tx) LeaseRun(
	ctx context.Context, runnerID int64, globs model.ProjectGlobs,
) (r model.Run, ok bool, err error) {
	if _, err := tx.EndOverdueRuns(ctx); err != nil {
		return r, false, err
	}
	due, err := tx.dueRuns(ctx, globs)
	if err != nil || len(due) == 0 {
		return r, false, err
	}
	r = due[0]
	r.State, r.Attempt, r.Claim, r.RunnerID, r.BegunAt, r.LeaseUntil, r.LogSize = model.RunLeased, r.Attempt+1, r.Claim+
		1, runnerID, tx.Now(), tx.Now().Add(model.RunLease), 0
	if err := tx.Write(ctx, `DELETE FROM managed_run_log WHERE deployment_id = $1 AND run_id = $2`, r.ID); err != nil {
		return r, false, err
	}
	err = tx.Write(ctx,
		`UPDATE managed_run SET state = $3, attempt = $4, claim = $5, runner_id = $6, begun_at = $7, lease_until = $8,
			log_size = 0
		WHERE deployment_id = $1 AND id = $2`, r.ID, r.State, r.Attempt, r.Claim, runnerID, r.BegunAt, r.LeaseUntil)
	if err == nil {
		err = tx.QueueSchedule(ctx, r.LeaseUntil)
	}
	return r, err == nil, err
}

// dueRuns returns the next run that can be leased, if any.
func (tx *Tx) dueRuns(ctx context.Context, globs model.ProjectGlobs) ([]model.Run, error) {
	w := &sqldb.Where{Tx: tx.Tx}
	w.And(`state = ? AND due_at <= ?`, model.RunQueued, tx.Now())
	ids, all, err := tx.VisibleProjectIDs(ctx, globs)
	if err != nil {
		return nil, err
	}
	if !all {
		w.In(`project_id`, ids)
	}
	w.And(`(host = '' OR (SELECT COUNT(*) FROM managed_run b WHERE b.deployment_id = managed_run.deployment_id AND `+
		`b.host = managed_run.host AND b.state > ? AND b.state < ?) < ?)`,
		model.RunQueued, model.RunDone, model.MaxRunsOfHost)
	return sqldb.Many(ctx, tx, scanRun, runSelect+w.Text.String()+` ORDER BY due_at, id LIMIT 1`, w.Args...)
}

// RunIsDue reports whether LeaseRun could lease a run, possibly after ending an expired lease.
func (tx *Tx) RunIsDue(ctx context.Context, globs model.ProjectGlobs) (bool, error) {
	due, err := tx.dueRuns(ctx, globs)
	if err != nil || len(due) > 0 {
		return len(due) > 0, err
	}
	return tx.RunIsOverdue(ctx)
}

// RunIsOverdue reports whether EndOverdueRuns would end a run.
func (tx *Tx) RunIsOverdue(ctx context.Context) (bool, error) {
	n, err := sqldb.One(ctx, tx, sqldb.Scalar[int64], `SELECT COUNT(*) FROM managed_run WHERE deployment_id = $1 AND `+
		`state > $2 AND state < $3 AND (lease_until <= $4 OR begun_at <= $5)`,
		model.RunQueued, model.RunDone, tx.Now(), tx.Now().Add(-model.RunTimeLimit))
	return n > 0, err
}

// BindRunToken stores the token that is deleted with the current attempt.
func (tx *Tx) BindRunToken(ctx context.Context, id, tokenID int64) error {
	return tx.Write(ctx, `UPDATE managed_run SET token_id = $3 WHERE deployment_id = $1 AND id = $2`, id, tokenID)
}

// RunOfToken returns the active run whose attempt uploads with a token, or model.ErrNotFound.
func (tx *Tx) RunOfToken(ctx context.Context, tokenID int64) (model.Run, error) {
	if tokenID == 0 {
		return model.Run{}, model.ErrNotFound
	}
	return sqldb.One(ctx, tx, scanRun, runSelect+`AND state > $2 AND state < $3 AND token_id = $4`, model.RunQueued,
		model.RunDone, tokenID)
}

// DropRunsOf deletes the managed runs of a project, with logs, plan and tokens.
func (tx *Tx) DropRunsOf(ctx context.Context, projectID int64) error {
	open, err := sqldb.Many(ctx, tx, scanRun, runSelect+`AND project_id = $2 AND token_id <> 0`, projectID)
	for _, r := range open {
		if err == nil {
			err = tx.dropRunToken(ctx, r)
		}
	}
	for _, rows := range []string{
		`managed_run_log WHERE deployment_id = $1 AND run_id IN (SELECT id FROM managed_run WHERE deployment_id = $1 AND ` +
			`project_id = $2)`,
		`managed_run WHERE deployment_id = $1 AND project_id = $2`,
		`managed_plan WHERE deployment_id = $1 AND project_id = $2`,
	} {
		if err == nil {
			err = tx.Write(ctx, `DELETE FROM `+rows, projectID)
		}
	}
	return err
}

// MergeRuns moves the managed runs of a project to another, which keeps its own schedule.
func (tx *Tx) MergeRuns(ctx context.Context, from, into int64) error {
	if err := tx.Write(ctx, `DELETE FROM managed_plan WHERE deployment_id = $1 AND project_id = $2`, from); err != nil {
		return err
	}
	return tx.Reassign(ctx, "managed_run", from, into)
}
