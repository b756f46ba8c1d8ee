package queue

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Queues serve all tenants, and each statement concerns one: job_due lists the tenants with
// possibly due jobs. Its time is never later than the jobs' own. Only a check without due jobs
// moves it forward, under a row lock that inserts of jobs wait for.

// jobDue records that a tenant has a job of a kind due at a time. The commit of a job without delay
// notifies the queue of this process and, on PostgreSQL, of others.
func jobDue(ctx context.Context, q *sqldb.Session, deploymentID int64, kind string, at time.Time) error {
	if at.Equal(dueAtOnce) {
		if err := q.AnnounceJobs(ctx); err != nil {
			return err
		}
	}
	return q.Write(ctx, `INSERT INTO job_due (deployment_id, kind, due_at) VALUES ($1, $2, $3)
		ON CONFLICT (deployment_id, kind) DO UPDATE SET due_at = excluded.due_at WHERE job_due.due_at > excluded.due_at`,
		deploymentID, kind, at)
}

// maxDueTenants limits the tenants that DueJobs returns.
const maxDueTenants = 200

// DueJobs lists tenants and kinds with jobs that may be due within a duration. The least recently
// checked tenant comes first, so a tenant with many jobs delays no other. It runs one statement
// without a transaction, and checks the schema version as CheckSchema does.
func (s *DB) DueJobs(ctx context.Context, kinds []string, within time.Duration) (due []model.JobDue, err error) {
	q := s.Pool()
	ofKind, list := s.List("kind", 2, sqldb.CleanList(kinds))
	schema := int64(0)
	err = s.RunQueryUnchecked(ctx, func(ctx context.Context) error {
		return sqldb.Misread(sqldb.Each(ctx, q, func(r sqldb.Row) error {
			d := model.JobDue{}
			err := r.Scan(&d.DeploymentID, &d.Kind, sqldb.Instant(&d.At), &schema)
			if d.Kind != "" {
				due = append(due, d)
			}
			return err
		}, `SELECT COALESCE(d.deployment_id, 0), COALESCE(d.kind, ''), COALESCE(d.due_at, 0), v.version_id
			FROM (SELECT MAX(version_id) AS version_id FROM goose_db_version) v LEFT JOIN
			(SELECT deployment_id, kind, due_at, turn_at FROM job_due
				WHERE due_at <= $1 AND `+ofKind+` ORDER BY turn_at, deployment_id LIMIT $3) d ON 0 = 0
			ORDER BY d.turn_at, d.deployment_id`, s.Now().Add(within), list, maxDueTenants))
	})
	if err != nil {
		return nil, err
	}
	return due, s.JudgeSchema(schema)
}

// ClaimJob leases the oldest due job of a tenant and kind, except jobs with a busy key. It returns
// nil without such a job. A job with an expired lease is due again. A job waits while another job
// of its subject runs; a job of an ordered kind waits while any other of the kind runs. Each claim
// has a higher number, and only the newest claim may renew, finish, retry or fail the job. After an
// error the tenant is checked last.
func (s *DB) ClaimJob(
	ctx context.Context, due model.JobDue, busy []string, lease time.Duration,
) (*model.Job, error) {
	now, ordered := s.Now(), 0
	if due.Ordered {
		ordered = 1
	}
	var claimed []model.Job
	err := s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) (err error) {
		isBusy, list := q.In("key", 7, busy)
		claimed, err = sqldb.Many(ctx, q, scanJob, `
			UPDATE job SET state = $4, claim = claim + 1, attempt = attempt + 1, lease_until = $6
			WHERE deployment_id = $1 AND id = (
				SELECT id FROM job WHERE deployment_id = $1 AND kind = $2
					AND (state = $4 AND lease_until <= $5 OR state = $3 AND run_at <= $5 AND (subject = '' OR subject NOT IN
						(SELECT subject FROM job WHERE deployment_id = $1 AND kind = $2 AND state = $4)))
					AND NOT (`+isBusy+`)
					AND ($8 = 0 OR state = $4 OR NOT EXISTS
						(SELECT 1 FROM job r WHERE r.deployment_id = $1 AND r.kind = $2 AND r.state = $4))
				ORDER BY run_at, id LIMIT 1`+q.SkipLocked()+`
			)
			RETURNING `+jobColumns,
			due.DeploymentID, due.Kind, model.JobQueued, model.JobRunning, now, now.Add(lease), list, ordered)
		if err != nil {
			return err
		}
		q.Wrote = len(claimed) > 0
		return jobLooked(ctx, q, due, now, q.Wrote)
	})
	if errors.Is(err, model.ErrConflict) { // a concurrent claim of a job of the subject
		return nil, nil
	}
	if err != nil {
		return nil, errors.Join(err, s.deferTenant(ctx, due))
	}
	if len(claimed) == 0 {
		return nil, nil
	}
	return &claimed[0], nil
}

// deferTenant moves a tenant behind the others after an error. Unreachable tenants, such as those of a
// lost node, must not fill all results of DueJobs.
func (s *DB) deferTenant(ctx context.Context, due model.JobDue) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		return q.Write(ctx, `UPDATE job_due SET turn_at = $3 WHERE deployment_id = $1 AND kind = $2`,
			due.DeploymentID, due.Kind, s.Now())
	})
}

// jobLooked moves a tenant behind the others. Without a claimed job it also stores the next due
// time, or deletes the row without jobs. It skips a row locked by a concurrent insert of a job.
func jobLooked(ctx context.Context, q *sqldb.Session, t model.JobDue, now time.Time, found bool) error {
	stored, err := sqldb.Many(ctx, q, sqldb.Scalar[int64], `SELECT due_at FROM job_due
		WHERE deployment_id = $1 AND kind = $2`+q.SkipLocked(), t.DeploymentID, t.Kind)
	if err != nil || len(stored) == 0 {
		return err
	}
	due := stored[0]
	if !found { // leased jobs are due at the end of their lease
		due, err = sqldb.One(ctx, q, sqldb.Scalar[int64],
			`SELECT COALESCE(MIN(CASE WHEN state = $3 THEN run_at ELSE lease_until END), -1) FROM job
			WHERE deployment_id = $1 AND kind = $2 AND state IN ($3, $4)`,
			t.DeploymentID, t.Kind, model.JobQueued, model.JobRunning)
	}
	switch {
	case err != nil:
		return err
	case due < 0:
		return q.Write(ctx, `DELETE FROM job_due WHERE deployment_id = $1 AND kind = $2`, t.DeploymentID, t.Kind)
	}
	return q.Write(ctx, `UPDATE job_due SET due_at = $3, turn_at = $4 WHERE deployment_id = $1 AND kind = $2`,
		t.DeploymentID, t.Kind, due, now)
}
