package store

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt"
)

// Workers serve all tenants, and each statement is about one: job_due tells which of them
// to ask. A time there is never later than that of the work. It moves on only where
// somebody looked and found none, behind a lock that who adds work waits for.

// jobDue says that a tenant has work of a kind from a time on.
func (q *session) jobDue(ctx context.Context, deploymentID int64, kind string, at time.Time) error {
	return q.write(ctx, `INSERT INTO job_due (deployment_id, kind, due_at) VALUES ($1, $2, $3)
		ON CONFLICT (deployment_id, kind) DO UPDATE SET due_at = excluded.due_at WHERE job_due.due_at > excluded.due_at`, deploymentID, kind, at)
}

// tenantDue is a tenant that may have work of a kind.
type tenantDue struct {
	deployment int64
	kind       string
}

// tenantsAsked is how many tenants one look for work asks at most.
const tenantsAsked = 100

// ClaimJob leases the oldest due job of one of the kinds in the deployment whose turn is the
// longest ago: one with many jobs keeps no other waiting. It returns nil when none is due. A job whose
// lease ran out, since its worker died, is due again. Each claim has a higher number, and
// only the newest one may renew, finish, retry or fail the job. It is another attempt too,
// but where the lease ran out in the outage: then it waits for the outage's end, and is not
// counted.
func (s *Store) ClaimJob(ctx context.Context, kinds []string, lease time.Duration, outage redoubt.JobOutage) (*redoubt.Job, error) {
	var due []tenantDue
	err := s.engine.view(ctx, func(ctx context.Context, q *session) (err error) {
		ofKind, list := q.in("kind", 2, kinds)
		due, err = many(ctx, q, func(r row) (t tenantDue, err error) { return t, r.Scan(&t.deployment, &t.kind) },
			`SELECT deployment_id, kind FROM job_due WHERE due_at <= $1 AND `+ofKind+` ORDER BY turn_at, deployment_id LIMIT $3`, s.now(), list, tenantsAsked)
		return err
	})
	var failed []error
	for _, t := range due {
		if err != nil {
			break
		}
		j, err := s.claimJob(ctx, t, lease, outage)
		if j != nil {
			return j, nil
		}
		if err != nil { // the next tenant may be where it can be asked
			failed = append(failed, err, s.passTurn(ctx, t))
		}
	}
	return nil, errors.Join(append(failed, err)...)
}

// passTurn moves a tenant that cannot be asked behind the others: many of them, on a node
// that is away, are not all that is ever asked.
func (s *Store) passTurn(ctx context.Context, t tenantDue) error {
	return s.engine.update(ctx, func(ctx context.Context, q *session) error {
		return q.write(ctx, `UPDATE job_due SET turn_at = $3 WHERE deployment_id = $1 AND kind = $2`, t.deployment, t.kind, s.now())
	})
}

// claimJob leases a job of a tenant, nil where it has none that is due.
func (s *Store) claimJob(ctx context.Context, t tenantDue, lease time.Duration, outage redoubt.JobOutage) (*redoubt.Job, error) {
	now := s.now()
	expired := now
	if now.Before(outage.Until) {
		expired = outage.From
	}
	var claimed []redoubt.Job
	err := s.engine.update(ctx, func(ctx context.Context, q *session) (err error) {
		claimed, err = many(ctx, q, scanJob, `
			UPDATE job SET state = $4, claim = claim + 1, lease_until = $6,
				attempt = attempt + CASE WHEN state = $4 AND lease_until > $8 AND lease_until <= $9 THEN 0 ELSE 1 END
			WHERE deployment_id = $1 AND id = (
				SELECT id FROM job WHERE deployment_id = $1 AND kind = $2 AND (state = $3 AND run_at <= $5 OR state = $4 AND lease_until <= $7)
				ORDER BY run_at, id LIMIT 1`+q.engine.skipLocked+`
			)
			RETURNING `+jobColumns, t.deployment, t.kind, redoubt.JobQueued, redoubt.JobRunning, now, now.Add(lease), expired, outage.From, outage.Until)
		if err != nil {
			return err
		}
		q.wrote = len(claimed) > 0
		return q.jobLooked(ctx, t, now, q.wrote)
	})
	if err != nil || len(claimed) == 0 {
		return nil, err
	}
	return &claimed[0], nil
}

// jobLooked moves a tenant behind the others, and notes, where no job of it was found, when
// it has one: never, where it has none. Where somebody is about to say that there is
// some, it leaves that to them: nobody waits here.
func (q *session) jobLooked(ctx context.Context, t tenantDue, now time.Time, found bool) error {
	held, err := many(ctx, q, scalar[int64], `SELECT due_at FROM job_due WHERE deployment_id = $1 AND kind = $2`+q.engine.skipLocked, t.deployment, t.kind)
	if err != nil || len(held) == 0 {
		return err
	}
	due := held[0]
	if !found { // what is leased is due when the lease ends; what waits for the end of an outage has been
		due, err = one(ctx, q, scalar[int64], `SELECT COALESCE(MIN(CASE WHEN state = $3 THEN run_at ELSE lease_until END), -1) FROM job
			WHERE deployment_id = $1 AND kind = $2 AND state IN ($3, $4)`, t.deployment, t.kind, redoubt.JobQueued, redoubt.JobRunning)
	}
	switch {
	case err != nil:
		return err
	case due < 0:
		return q.write(ctx, `DELETE FROM job_due WHERE deployment_id = $1 AND kind = $2`, t.deployment, t.kind)
	}
	return q.write(ctx, `UPDATE job_due SET due_at = $3, turn_at = $4 WHERE deployment_id = $1 AND kind = $2`, t.deployment, t.kind, due, now)
}
