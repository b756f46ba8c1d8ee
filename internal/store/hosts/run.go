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

// Run finds a managed run.
func (tx *Tx) Run(ctx context.Context, id int64) (model.Run, error) {
	r, err := sqldb.One(ctx, tx, scanRun, runSelect+`AND id = $2`, id)
	if err != nil {
		return r, fmt.Errorf("run %d: %w", id, err)
	}
	return r, nil
}

// RunQuery is which managed runs are listed.
type RunQuery struct {
	Globs     model.ProjectGlobs
	ProjectID int64            // 0 for all
	States    []model.RunState // none for all
	Before    int64            // only those with lower ids; 0 for all
	Limit     int
}

// Runs lists the newest runs, newest first.
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

// endRun ends a run, or has it wait for another attempt, as the outcome says: with the
// token that its runner uploaded with.
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
	if err := tx.TellRunFailed(ctx, r); err != nil {
		return err
	}
	if err := tx.QueueNextRun(ctx, time.Time{}); err != nil { // another of its host may begin
		return err
	}
	return tx.EnqueueStatusUpdate(ctx, r.ProjectID, r.Commit)
}

// dropRunToken drops the token of an attempt that is over; the audit trail keeps its word.
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

// CancelRun ends a run that has not ended. One that has is model.ErrConflict.
func (tx *Tx) CancelRun(ctx context.Context, id int64, reason string) error {
	r, err := tx.Run(ctx, id)
	if err != nil {
		return err
	}
	if r.State.Ended() {
		return fmt.Errorf("run %d has ended already: %s: %w", id, r.State, model.ErrConflict)
	}
	tx.Audit("run.cancel", sqldb.Subject("run", id), nil, imageOfRun(r))
	return tx.endRun(ctx, r, model.RunOutcome{State: model.RunCancelled, Reason: reason})
}

// EndOverdueRuns ends, or has wait again, the runs whose lease or time is over, and
// returns how many.
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

// holding finds a run that a claim still holds, or answers model.ErrConflict.
func (tx *Tx) holding(ctx context.Context, id, claim int64) (model.Run, error) {
	r, err := tx.Run(ctx, id)
	if err == nil && (!r.State.Begun() || r.Claim != claim) {
		err = fmt.Errorf("run %d is not this runner's any more: %s: %w", id, r.State, model.ErrConflict)
	}
	return r, err
}

// FinishRun ends an attempt as its runner says. A claim that is over is
// model.ErrConflict. It returns the run as it is then.
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

// RunProgress is what a runner says while it works.
type RunProgress struct {
	State  model.RunState
	Ref    string // once it is known; empty says nothing
	Commit string // once it is known; empty says nothing
	Offset int64  // of the log: bytes before
	Log    []byte // what came since
}

// ProgressRun notes how far a claimed run is, that its runner is there, and renews its
// lease. A claim that is over is model.ErrConflict, a state that cannot follow a
// *model.InvalidError. It locks no deployment: runs of one tenant tell of themselves side
// by side.
func (s *DB) ProgressRun(ctx context.Context, deploymentID, id, claim int64, p RunProgress) error {
	now := s.Now()
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		if err := hearOfRunner(ctx, q, deploymentID, id, claim, now); err != nil {
			return err
		}
		r, err := sqldb.One(ctx, q, scanRun, runSelect+`AND id = $2 AND claim = $3`+q.ForUpdate(), deploymentID, id, claim)
		if errors.Is(err, model.ErrNotFound) || err == nil && !r.State.Begun() {
			return fmt.Errorf("run %d is not this runner's any more: %w", id, model.ErrConflict)
		}
		if err != nil {
			return err
		}
		if _, over := r.Overdue(now); over {
			return fmt.Errorf("the lease of run %d is over: %w", id, model.ErrConflict)
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

// appendRunLog adds a piece of log and returns its size then. What is known already is
// left out, so that a piece may be sent twice; beyond the bound nothing is kept.
func appendRunLog(ctx context.Context, q *sqldb.Session, r model.Run, p RunProgress) (int64, error) {
	if p.Offset < 0 || p.Offset > r.LogSize {
		return 0, model.Invalid("offset", "the log has %d bytes, a piece cannot begin at %d", r.LogSize, p.Offset)
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

// RunLog reads the log of a run's newest attempt from an offset on.
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

// LeaseRun gives a runner the oldest run that is due, of a project that globs allow and of
// a host of which there are not too many under way; ok is false where there is none. Runs whose
// lease is over are looked at first.
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

// dueRuns lists runs that could be leased now, the one to take first.
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

// RunIsDue reports whether a runner that globs bind would be given something: a run that
// waits, or one whose lease is over.
func (tx *Tx) RunIsDue(ctx context.Context, globs model.ProjectGlobs) (bool, error) {
	due, err := tx.dueRuns(ctx, globs)
	if err != nil || len(due) > 0 {
		return len(due) > 0, err
	}
	return tx.RunIsOverdue(ctx)
}

// RunIsOverdue reports whether EndOverdueRuns would find one.
func (tx *Tx) RunIsOverdue(ctx context.Context) (bool, error) {
	n, err := sqldb.One(ctx, tx, sqldb.Scalar[int64], `SELECT COUNT(*) FROM managed_run WHERE deployment_id = $1 AND `+
		`state > $2 AND state < $3 AND (lease_until <= $4 OR begun_at <= $5)`,
		model.RunQueued, model.RunDone, tx.Now(), tx.Now().Add(-model.RunTimeLimit))
	return n > 0, err
}

// BindRunToken notes the token that dies with the attempt under way.
func (tx *Tx) BindRunToken(ctx context.Context, id, tokenID int64) error {
	return tx.Write(ctx, `UPDATE managed_run SET token_id = $3 WHERE deployment_id = $1 AND id = $2`, id, tokenID)
}

// RunOfToken finds the run under way whose attempt uploads with a token, or
// model.ErrNotFound.
func (tx *Tx) RunOfToken(ctx context.Context, tokenID int64) (model.Run, error) {
	if tokenID == 0 {
		return model.Run{}, model.ErrNotFound
	}
	return sqldb.One(ctx, tx, scanRun, runSelect+`AND state > $2 AND state < $3 AND token_id = $4`, model.RunQueued,
		model.RunDone, tokenID)
}

// DropRunsOf drops what a project has of managed runs.
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

// MergeRuns gives the managed runs of a project to another, whose own schedule counts.
func (tx *Tx) MergeRuns(ctx context.Context, from, into int64) error {
	if err := tx.Write(ctx, `DELETE FROM managed_plan WHERE deployment_id = $1 AND project_id = $2`, from); err != nil {
		return err
	}
	return tx.Reassign(ctx, "managed_run", from, into)
}
