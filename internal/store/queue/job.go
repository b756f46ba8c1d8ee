package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const jobColumns = `deployment_id, id, kind, token, state, claim, attempt, subject, key, input_json,
	result, media_type, error, created_at, finished_at`

func scanJob(r sqldb.Row) (j model.Job, err error) {
	var input string
	err = r.Scan(&j.DeploymentID, &j.ID, &j.Kind, &j.Token, &j.State, &j.Claim, &j.Attempt, &j.Subject, &j.Key,
		&input, &j.Result, &j.MediaType, &j.Error, sqldb.Instant(&j.CreatedAt), sqldb.Instant(&j.FinishedAt))
	j.Input = []byte(input)
	return j, err
}

// jobImage is the content of audit events about a job. It omits the token, which grants access to
// the result.
type jobImage struct {
	Kind  string `json:"kind"`
	Input string `json:"input"`
}

// AddJob queues a job that is due at once and returns it with its id. The caller sets kind, token
// and input; the token must be unguessable. The actor of the transaction is the requester that
// RequestJob counts.
func (tx *Tx) AddJob(ctx context.Context, j model.Job) (model.Job, error) {
	var err error
	if j.ID, err = tx.NewID(ctx, seqJob); err != nil {
		return j, err
	}
	j.DeploymentID, j.State, j.CreatedAt = tx.Deployment().ID, model.JobQueued, tx.Now()
	details := JobDetails{requester: requesterOf(tx.Actor())}
	if err := InsertJobs(ctx, tx.Session, tx.Deployment().ID, tx.Now(), []model.Job{j}, details); err != nil {
		return j, err
	}
	tx.Audit("job.create", sqldb.Subject("job", j.ID), nil, jobImage{j.Kind, string(j.Input)})
	return j, nil
}

// dueAtOnce is the due time of a job without delay, independent of clock adjustments.
var dueAtOnce = time.UnixMicro(0)

// JobDetails are further columns and options of new jobs.
type JobDetails struct {
	requester string
	Conflict  string        // ON CONFLICT clause of the insert
	Retention time.Duration // retention of ended jobs of the kind
}

// Enqueue adds a job. A waiting job of the same kind and subject is replaced instead: it gets the
// new input and the earlier due time. old is its previous input.
func (tx *Tx) Enqueue(ctx context.Context, j model.Job) (old []byte, err error) {
	before, err := Enqueue(ctx, tx.Session, tx.Deployment().ID, tx.Now(), []model.Job{j})
	return before[j.Subject], err
}

// EnsureJob adds a job unless one of its kind and subject waits or runs.
func (tx *Tx) EnsureJob(ctx context.Context, j model.Job) error {
	return ensureJob(ctx, tx.Session, tx.Deployment().ID, tx.Now(), j)
}

// EnsureServerJob is EnsureJob for a job of the server, which has no deployment.
func (s *DB) EnsureServerJob(ctx context.Context, j model.Job) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		if _, err := LockAdvisories(ctx, q); err != nil {
			return err
		}
		return ensureJob(ctx, q, 0, s.Now(), j)
	})
}

// EnqueueServer is Enqueue for a job of the server, which has no deployment.
func (s *DB) EnqueueServer(ctx context.Context, j model.Job) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		_, err := LockAdvisories(ctx, q)
		if err == nil {
			_, err = Enqueue(ctx, q, 0, s.Now(), []model.Job{j})
		}
		return err
	})
}

func ensureJob(ctx context.Context, q *sqldb.Session, deploymentID int64, now time.Time, j model.Job) error {
	open, err := sqldb.Many(ctx, q, sqldb.Scalar[int64], `SELECT id FROM job
		WHERE deployment_id = $1 AND kind = $2 AND subject = $3 AND state IN ($4, $5) LIMIT 1`,
		deploymentID, j.Kind, j.Subject, model.JobQueued, model.JobRunning)
	if err != nil || len(open) > 0 {
		return err
	}
	return InsertJobs(ctx, q, deploymentID, now, []model.Job{j}, JobDetails{})
}

// Enqueue adds jobs of one kind as Tx.Enqueue does, in a constant number of round trips. It
// returns replaced inputs by subject. It does not replace jobs that a queue claims concurrently.
func Enqueue(
	ctx context.Context, q *sqldb.Session, deploymentID int64, now time.Time, list []model.Job,
) (map[string][]byte, error) {
	old, kind := map[string][]byte{}, list[0].Kind
	waiting := map[string]int64{}
	in, subjects := q.In("subject", 4, subjectsOf(list))
	err := sqldb.Each(ctx, q, func(r sqldb.Row) error {
		var id int64
		var subject, input string
		err := r.Scan(&id, &subject, &input)
		waiting[subject], old[subject] = id, []byte(input)
		return err
	}, `SELECT id, subject, input_json FROM job
		WHERE deployment_id = $1 AND kind = $2 AND state = $3 AND `+in+` AND subject <> ''
		ORDER BY id DESC`+q.ForUpdate(),
		deploymentID, kind, model.JobQueued, subjects)
	if err != nil {
		return nil, err
	}
	var added []model.Job
	due := farFuture
	for _, j := range list {
		id, waits := waiting[j.Subject]
		if !waits {
			added = append(added, j)
			continue
		}
		due = earlier(due, atOnce(j.DueAt))
		err := q.Write(ctx, `UPDATE job SET input_json = $3, key = $4, created_at = $5, attempt = 0,
			run_at = CASE WHEN run_at < $6 THEN run_at ELSE $6 END
			WHERE deployment_id = $1 AND id = $2`, deploymentID, id, orObject(j.Input), j.Key, now, atOnce(j.DueAt))
		if err != nil {
			return nil, err
		}
	}
	if due != farFuture {
		if err := jobDue(ctx, q, deploymentID, kind, due); err != nil {
			return nil, err
		}
	}
	if len(added) > 0 {
		err = InsertJobs(ctx, q, deploymentID, now, added, JobDetails{})
	}
	return old, err
}

func subjectsOf(list []model.Job) []string {
	return model.Map(list, func(j model.Job) string { return j.Subject })
}

// farFuture is later than all due times.
var farFuture = time.UnixMicro(1 << 60)

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// atOnce returns the stored due time for a DueAt.
func atOnce(at time.Time) time.Time {
	if at.IsZero() {
		return dueAtOnce
	}
	return at
}

func orObject(input []byte) string { return cmp.Or(string(input), "{}") }

// InsertJobs adds jobs of one kind, and deletes some ended jobs of the kind.
func InsertJobs(
	ctx context.Context, q *sqldb.Session, deploymentID int64, now time.Time, list []model.Job, d JobDetails,
) error {
	kind, due := list[0].Kind, farFuture
	if err := dropEnded(ctx, q, deploymentID, kind, now.Add(-d.Retention)); err != nil {
		return err
	}
	rows := make([][]any, len(list))
	for i, j := range list {
		var id any = sqldb.NextID(seqJob)
		if j.ID != 0 {
			id = j.ID
		}
		due = earlier(due, atOnce(j.DueAt))
		rows[i] = []any{
			id, kind, cmp.Or(j.Token, rand.Text()), model.JobQueued, 0, 0, atOnce(j.DueAt), orObject(j.Input), "", "",
			now, d.requester, j.Subject, j.Key,
		}
	}
	if err := jobDue(ctx, q, deploymentID, kind, due); err != nil {
		return err
	}
	const into = `job (deployment_id, id, kind, token, state, claim, attempt, run_at, input_json, media_type, error,
		created_at, requester, subject, key)`
	return q.Insert(ctx, deploymentID, into, rows, d.Conflict)
}

// droppedAtOnce limits the ended jobs deleted per insert. It exceeds the inserted jobs, so a backlog
// shrinks.
const droppedAtOnce = 100

// dropEnded deletes jobs of a kind that ended before a time, the oldest first. RequestJob has the
// retention of jobs with a requester.
func dropEnded(ctx context.Context, q *sqldb.Session, deploymentID int64, kind string, before time.Time) error {
	return q.Write(ctx, `DELETE FROM job WHERE deployment_id = $1 AND id IN
		(SELECT id FROM job WHERE deployment_id = $1 AND kind = $2 AND requester = '' AND finished_at < $3
			ORDER BY finished_at LIMIT $4)`,
		deploymentID, kind, before, droppedAtOnce)
}

// Jobs returns the newest jobs of a kind, at most limit, without their results.
func (tx *Tx) Jobs(ctx context.Context, kind string, limit int) ([]model.Job, error) {
	const columns = `deployment_id, id, kind, token, state, claim, attempt, subject, key, input_json,
		NULL, media_type, error, created_at, finished_at`
	return sqldb.Many(ctx, tx, scanJob,
		`SELECT `+columns+` FROM job WHERE deployment_id = $1 AND kind = $2 ORDER BY id DESC LIMIT $3`, kind, limit)
}

// Job returns a job by its token.
func (tx *Tx) Job(ctx context.Context, token string) (model.Job, error) {
	j, err := sqldb.One(ctx, tx, scanJob, `SELECT `+jobColumns+` FROM job WHERE deployment_id = $1 AND token = $2`, token)
	if err != nil {
		return j, fmt.Errorf("job: %w", err)
	}
	return j, nil
}

// RenewJob extends a lease. If another worker has the job, it returns model.ErrConflict.
func (s *DB) RenewJob(ctx context.Context, j model.Job, lease time.Duration) error {
	return s.updateJob(ctx, j, `lease_until = $5`, s.Now().Add(lease))
}

// FinishJob stores the result of a leased job. If the lease was lost, it returns model.ErrConflict.
func (s *DB) FinishJob(ctx context.Context, j model.Job, result []byte, mediaType string) error {
	return s.updateJob(ctx, j,
		`state = $5, finished_at = $6, lease_until = NULL, result = $7, media_type = $8, error = ''`,
		model.JobDone, s.Now(), result, mediaType)
}

// RetryJob makes a leased job due again after the wait. If the lease was lost, it returns
// model.ErrConflict.
func (s *DB) RetryJob(ctx context.Context, j model.Job, wait time.Duration) error {
	return s.requeueJob(ctx, j, s.Now().Add(wait), `state = $5, run_at = $6, lease_until = NULL`,
		model.JobQueued, s.Now().Add(wait))
}

// ReleaseJob makes a leased job due after the wait, or at its previous time if wait is zero. The
// attempt is not counted. If the lease was lost, it returns model.ErrConflict.
func (s *DB) ReleaseJob(ctx context.Context, j model.Job, wait time.Duration) error {
	const released = `state = $5, attempt = attempt - 1, lease_until = NULL`
	if wait <= 0 {
		return s.requeueJob(ctx, j, dueAtOnce, released, model.JobQueued)
	}
	return s.requeueJob(ctx, j, s.Now().Add(wait), released+`, run_at = $6`, model.JobQueued, s.Now().Add(wait))
}

// FailJob ends a leased job permanently with a text for display. If the lease was lost, it returns
// model.ErrConflict.
func (s *DB) FailJob(ctx context.Context, j model.Job, text string) error {
	return s.updateJob(ctx, j, `state = $5, finished_at = $6, lease_until = NULL, error = $7`,
		model.JobFailed, s.Now(), text)
}

// updateJob updates a job if the claim of j is still valid. There is no audit event, because the
// job itself contains its state.
func (s *DB) updateJob(ctx context.Context, j model.Job, assignments string, args ...any) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		return updateJob(ctx, q, j, assignments, args...)
	})
}

// requeueJob is updateJob for a job that becomes due again. It deletes the job instead if a newer
// job of its subject waits.
func (s *DB) requeueJob(ctx context.Context, j model.Job, due time.Time, assignments string, args ...any) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		gone, err := q.Exec(ctx, `DELETE FROM job
			WHERE deployment_id = $1 AND id = $2 AND claim = $3 AND state = $4 AND subject <> ''
			AND EXISTS (SELECT 1 FROM job w
				WHERE w.deployment_id = $1 AND w.kind = job.kind AND w.subject = job.subject AND w.state = $5)`,
			j.DeploymentID, j.ID, j.Claim, model.JobRunning, model.JobQueued)
		if err != nil || gone > 0 {
			return err
		}
		if err := updateJob(ctx, q, j, assignments, args...); err != nil {
			return err
		}
		return jobDue(ctx, q, j.DeploymentID, j.Kind, due)
	})
}

func updateJob(ctx context.Context, q *sqldb.Session, j model.Job, assignments string, args ...any) error {
	n, err := q.Exec(ctx,
		`UPDATE job SET `+assignments+` WHERE deployment_id = $1 AND id = $2 AND claim = $3 AND state = $4`,
		append([]any{j.DeploymentID, j.ID, j.Claim, model.JobRunning}, args...)...)
	if err == nil && n == 0 {
		err = fmt.Errorf("job %d: its claim %d is no longer valid: %w", j.ID, j.Claim, model.ErrConflict)
	}
	return err
}

// LockAdvisories locks and returns the version of the advisories. It serializes writers of
// advisories and of server jobs, which have no deployment to lock.
func LockAdvisories(ctx context.Context, q *sqldb.Session) (int64, error) {
	return sqldb.One(ctx, q, sqldb.Scalar[int64], `SELECT version FROM advisory_state WHERE id = 1`+q.ForUpdate())
}

// HostKey returns the key of jobs that call a code host, from the base URL of the connection.
func HostKey(baseURL string) string {
	if u, err := url.Parse(baseURL); err == nil {
		return u.Host
	}
	return baseURL
}

const seqJob sqldb.Sequence = "job"
