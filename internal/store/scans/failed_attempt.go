package scans

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Limits of stored failed attempts, per deployment and in total. They are deleted early because
// they contain personal data about working times.
const (
	maxAttempts    = 1000
	maxAllAttempts = 10_000
	attemptsKeep   = 30 * 24 * time.Hour
)

// maxAttemptCause limits the collected causes of one run, in bytes.
const maxAttemptCause = 4000

const attemptColumns = `deployment_id, name, at, step, exit_code, cause, scan_id, token_id, repository, ref, ` +
	`agent, address`

func scanAttempt(r sqldb.Row) (a model.FailedAttempt, err error) {
	var step string
	err = r.Scan(&a.DeploymentID, &a.Name, sqldb.Instant(&a.At), &step, &a.ExitCode, &a.Cause, &a.ScanID, &a.TokenID,
		&a.Repository, &a.Ref, &a.Agent, &a.Address)
	a.Step = model.FailedStep(step)
	return a, err
}

// AddFailedAttempt stores a failed scanner run, or adds a further step to a known run. The oldest
// attempts are deleted above the limits. It locks no deployment, creates no version and adds no
// audit event, because no response depends on it and it is a log itself.
func (s *DB) AddFailedAttempt(ctx context.Context, a model.FailedAttempt) error {
	now := s.Now()
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		known, err := sqldb.Many(ctx, q, scanAttempt,
			`SELECT `+attemptColumns+` FROM failed_attempt WHERE deployment_id = $1 AND name = $2`, a.DeploymentID, a.Name)
		if err != nil {
			return err
		}
		if len(known) > 0 {
			return mergeAttempt(ctx, q, known[0], a)
		}
		err = q.Insert(ctx, a.DeploymentID, `failed_attempt (`+attemptColumns+`)`, [][]any{{
			a.Name, now, a.Step, a.ExitCode, a.Cause, a.ScanID, a.TokenID, a.Repository, a.Ref, a.Agent, a.Address,
		}}, `ON CONFLICT DO NOTHING`)
		if err != nil {
			return err
		}
		return pruneAttempts(ctx, q, a.DeploymentID, now)
	})
}

// mergeAttempt adds a further step to a run. The first value of each field stays, but causes are
// appended.
func mergeAttempt(ctx context.Context, q *sqldb.Session, known, next model.FailedAttempt) error {
	cause := known.Cause
	if next.Cause != "" && !strings.Contains(cause, next.Cause) && len(cause)+len(next.Cause) < maxAttemptCause {
		cause = strings.TrimPrefix(cause+"; "+next.Cause, "; ")
	}
	first := func(a, b string) string {
		if a == "" {
			return b
		}
		return a
	}
	exit, scan := known.ExitCode, known.ScanID
	if exit == 0 {
		exit = next.ExitCode
	}
	if scan == 0 {
		scan = next.ScanID
	}
	return q.Write(ctx, `
		UPDATE failed_attempt SET exit_code = $3, cause = $4, scan_id = $5, token_id = $6, repository = $7, ref = $8
		WHERE deployment_id = $1 AND name = $2`, known.DeploymentID, known.Name, exit, cause, scan,
		first(known.TokenID, next.TokenID), first(known.Repository, next.Repository), first(known.Ref, next.Ref))
}

// pruneAttempts deletes old attempts and those above the limits.
func pruneAttempts(ctx context.Context, q *sqldb.Session, deploymentID int64, now time.Time) error {
	err := q.Write(ctx, fmt.Sprintf(`DELETE FROM failed_attempt WHERE deployment_id = $1 AND
		at <= (SELECT at FROM failed_attempt WHERE deployment_id = $1 ORDER BY at DESC LIMIT 1 OFFSET %d)`,
		maxAttempts), deploymentID)
	if err == nil {
		err = q.Write(ctx, fmt.Sprintf(`DELETE FROM failed_attempt WHERE at < $1 OR
			at <= (SELECT at FROM failed_attempt ORDER BY at DESC LIMIT 1 OFFSET %d)`, maxAllAttempts), now.Add(-attemptsKeep))
	}
	return err
}

// FailedAttempts returns at most limit failed attempts of the deployment, newest first.
func (tx *Tx) FailedAttempts(ctx context.Context, limit int) ([]model.FailedAttempt, error) {
	return sqldb.Many(ctx, tx, scanAttempt,
		`SELECT `+attemptColumns+` FROM failed_attempt WHERE deployment_id = $1 ORDER BY at DESC, name LIMIT $2`, limit)
}

// UnattributedAttempts returns the newest failed attempts without a token that identifies the
// deployment. They are for the operator of the server, not for tenants.
func (s *DB) UnattributedAttempts(ctx context.Context, limit int) (list []model.FailedAttempt, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.Many(ctx, q, scanAttempt,
			`SELECT `+attemptColumns+` FROM failed_attempt WHERE deployment_id = 0 ORDER BY at DESC, name LIMIT $1`, limit)
		return err
	})
	return list, err
}
