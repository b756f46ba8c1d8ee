package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt"
)

const jobColumns = `deployment_id, id, kind, token, state, claim, attempt, subject, input_json, result, media_type, error, created_at, finished_at`

func scanJob(r row) (j redoubt.Job, err error) {
	var input string
	err = r.Scan(&j.DeploymentID, &j.ID, &j.Kind, &j.Token, &j.State, &j.Claim, &j.Attempt, &j.Subject, &input, &j.Result, &j.MediaType, &j.Error,
		instant(&j.CreatedAt), instant(&j.FinishedAt))
	j.Input = []byte(input)
	return j, err
}

// jobImage is what the audit trail tells of a job: not its token, which lets
// one read the result.
type jobImage struct {
	Kind  string `json:"kind"`
	Input string `json:"input"`
}

// AddJob queues work, due at once, and returns it with its id (semantics §11).
// Kind, token and input are the caller's; the token must be unguessable. The
// actor of the transaction is who asked for it, within the bounds of RequestJob.
func (tx *Tx) AddJob(ctx context.Context, j redoubt.Job) (redoubt.Job, error) {
	j, err := tx.insertJob(ctx, j, requesterOf(tx.actor), "")
	if err == nil {
		tx.audit("job.create", subject("job", j.ID), nil, jobImage{j.Kind, string(j.Input)})
	}
	return j, err
}

// dueAtOnce is when new work is due: now, even by a clock that steps back.
var dueAtOnce = time.UnixMicro(0)

func (tx *Tx) insertJob(ctx context.Context, j redoubt.Job, requester, conflict string) (redoubt.Job, error) {
	return tx.insertJobDue(ctx, j, dueAtOnce, requester, conflict)
}

// insertJobDue is insertJob of work that is due at a time.
func (tx *Tx) insertJobDue(ctx context.Context, j redoubt.Job, due time.Time, requester, conflict string) (redoubt.Job, error) {
	added, err := tx.insertJobs(ctx, []redoubt.Job{j}, due, requester, conflict)
	if err != nil {
		return j, err
	}
	return added[0], nil
}

// insertJobs is insertJobDue of several of one kind.
func (tx *Tx) insertJobs(ctx context.Context, list []redoubt.Job, due time.Time, requester, conflict string) ([]redoubt.Job, error) {
	ids, err := tx.newIDs(ctx, seqJob, len(list))
	if err != nil {
		return nil, err
	}
	added, rows := make([]redoubt.Job, len(list)), make([][]any, len(list))
	for i, j := range list {
		added[i] = redoubt.Job{
			ID: ids[i], DeploymentID: tx.deployment.ID, Kind: j.Kind, Token: j.Token, Subject: j.Subject, Input: j.Input,
			State: redoubt.JobQueued, CreatedAt: tx.now,
		}
		rows[i] = []any{ids[i], j.Kind, j.Token, added[i].State, 0, 0, due, string(j.Input), "", "", tx.now, requester, j.Subject}
	}
	if err := tx.session.jobDue(ctx, tx.deployment.ID, list[0].Kind, due); err != nil {
		return nil, err
	}
	return added, tx.insert(ctx, "job (deployment_id, id, kind, token, state, claim, attempt, run_at, input_json, media_type, error, created_at, requester, subject)", rows, conflict)
}

// droppedAtOnce is how many jobs go at once at most: more than come, so that what is
// left over goes too.
const droppedAtOnce = 100

// dropEnded forgets jobs of a kind that ended before a time, the first at first.
func (tx *Tx) dropEnded(ctx context.Context, kind string, before time.Time) error {
	return tx.write(ctx, `DELETE FROM job WHERE deployment_id = $1 AND id IN
		(SELECT id FROM job WHERE deployment_id = $1 AND kind = $2 AND finished_at < $3 ORDER BY finished_at LIMIT $4)`, kind, before, droppedAtOnce)
}

// Jobs lists the newest work of a kind, limit at most, without its results.
func (tx *Tx) Jobs(ctx context.Context, kind string, limit int) ([]redoubt.Job, error) {
	const columns = `deployment_id, id, kind, token, state, claim, attempt, subject, input_json, NULL, media_type, error, created_at, finished_at`
	return many(ctx, tx, scanJob, `SELECT `+columns+` FROM job WHERE deployment_id = $1 AND kind = $2 ORDER BY id DESC LIMIT $3`, kind, limit)
}

// Job finds work by its token.
func (tx *Tx) Job(ctx context.Context, token string) (redoubt.Job, error) {
	j, err := one(ctx, tx, scanJob, `SELECT `+jobColumns+` FROM job WHERE deployment_id = $1 AND token = $2`, token)
	if err != nil {
		return j, fmt.Errorf("job: %w", err)
	}
	return j, nil
}

// RenewJob prolongs a lease. One that another worker has by now is
// redoubt.ErrConflict.
func (s *Store) RenewJob(ctx context.Context, j redoubt.Job, lease time.Duration) error {
	return s.updateJob(ctx, j, `lease_until = $5`, s.now().Add(lease))
}

// FinishJob stores the result of a leased job, or redoubt.ErrConflict.
func (s *Store) FinishJob(ctx context.Context, j redoubt.Job, result []byte, mediaType string) error {
	return s.updateJob(ctx, j, `state = $5, finished_at = $6, lease_until = NULL, result = $7, media_type = $8, error = ''`,
		redoubt.JobDone, s.now(), result, mediaType)
}

// RetryJob makes a leased job due again after the wait, or redoubt.ErrConflict.
func (s *Store) RetryJob(ctx context.Context, j redoubt.Job, wait time.Duration) error {
	return s.requeueJob(ctx, j, s.now().Add(wait), `state = $5, run_at = $6, lease_until = NULL`, redoubt.JobQueued, s.now().Add(wait))
}

// ReleaseJob makes a leased job due again after the wait, or as it was before without
// one, and takes the attempt back, or is redoubt.ErrConflict.
func (s *Store) ReleaseJob(ctx context.Context, j redoubt.Job, wait time.Duration) error {
	const released = `state = $5, attempt = attempt - 1, lease_until = NULL`
	if wait <= 0 {
		return s.requeueJob(ctx, j, dueAtOnce, released, redoubt.JobQueued)
	}
	return s.requeueJob(ctx, j, s.now().Add(wait), released+`, run_at = $6`, redoubt.JobQueued, s.now().Add(wait))
}

// FailJob ends a leased job for good, with a text for people, or
// redoubt.ErrConflict.
func (s *Store) FailJob(ctx context.Context, j redoubt.Job, text string) error {
	return s.updateJob(ctx, j, `state = $5, finished_at = $6, lease_until = NULL, error = $7`, redoubt.JobFailed, s.now(), text)
}

// updateJob changes a job that is still leased by the claim that j is. What
// becomes of a job is told by the job itself; its creation is in the audit trail.
func (s *Store) updateJob(ctx context.Context, j redoubt.Job, assignments string, args ...any) error {
	return s.engine.update(ctx, func(ctx context.Context, q *session) error { return q.updateJob(ctx, j, assignments, args...) })
}

// requeueJob is updateJob for a job that is due from then on.
func (s *Store) requeueJob(ctx context.Context, j redoubt.Job, due time.Time, assignments string, args ...any) error {
	return s.engine.update(ctx, func(ctx context.Context, q *session) error {
		if err := q.updateJob(ctx, j, assignments, args...); err != nil {
			return err
		}
		return q.jobDue(ctx, j.DeploymentID, j.Kind, due)
	})
}

func (q *session) updateJob(ctx context.Context, j redoubt.Job, assignments string, args ...any) error {
	n, err := q.exec(ctx, `UPDATE job SET `+assignments+` WHERE deployment_id = $1 AND id = $2 AND claim = $3 AND state = $4`,
		append([]any{j.DeploymentID, j.ID, j.Claim, redoubt.JobRunning}, args...)...)
	if err == nil && n == 0 {
		err = fmt.Errorf("job %d: claim %d of it is over: %w", j.ID, j.Claim, redoubt.ErrConflict)
	}
	return err
}
