package hosts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/accounts"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const runnerColumns = `id, token_id, name, labels_json, version, isolation, first_at, seen_at`

func scanRunner(r sqldb.Row) (u model.Runner, err error) {
	return u, r.Scan(&u.ID, &u.TokenID, &u.Name, sqldb.Decoded(&u.Labels), &u.Version, &u.Isolation,
		sqldb.Instant(&u.FirstAt), sqldb.Instant(&u.SeenAt))
}

// RecordRunnerContact stores that a runner requested work, and returns it with its id. Runners are
// identified by token and name. Above the limit, the idle runner with the oldest contact is
// deleted.
func (tx *Tx) RecordRunnerContact(ctx context.Context, r model.Runner) (model.Runner, error) {
	r = r.Normal()
	known, err := sqldb.Many(ctx, tx, scanRunner,
		`SELECT `+runnerColumns+` FROM runner WHERE deployment_id = $1 AND token_id = $2 AND name = $3`, r.TokenID, r.Name)
	if err != nil {
		return r, err
	}
	r.SeenAt, r.FirstAt = tx.Now(), tx.Now()
	if len(known) > 0 {
		r.ID, r.FirstAt = known[0].ID, known[0].FirstAt
		return r, tx.Write(ctx, `UPDATE runner SET labels_json = $3, version = $4, isolation = $5, seen_at = $6 WHERE `+
			`deployment_id = $1 AND id = $2`,
			r.ID, sqldb.Encoded(r.Labels), r.Version, r.Isolation, r.SeenAt)
	}
	if r.ID, err = tx.NewID(ctx, seqRunner); err != nil {
		return r, err
	}
	err = tx.Insert(ctx, `runner (deployment_id, `+runnerColumns+`)`, [][]any{
		{r.ID, r.TokenID, r.Name, sqldb.Encoded(r.Labels), r.Version, r.Isolation, r.FirstAt, r.SeenAt},
	}, "")
	if err != nil {
		return r, err
	}
	return r, tx.Write(ctx, fmt.Sprintf(`DELETE FROM runner WHERE deployment_id = $1 AND id IN
		(SELECT id FROM runner WHERE deployment_id = $1 ORDER BY seen_at DESC, id DESC LIMIT 1000 OFFSET %d)
		AND id NOT IN (SELECT runner_id FROM managed_run WHERE deployment_id = $1 AND state > $2 AND state < $3)`,
		model.MaxRunners),
		model.RunQueued, model.RunDone)
}

// TouchRunner updates the last-seen time of a token's runners in one statement. found is false if
// the token is invalid or has no runners.
func (s *DB) TouchRunner(ctx context.Context, deploymentID, tokenID int64) (found bool, err error) {
	n, err := s.WriteOne(ctx, `UPDATE runner SET seen_at = $3 WHERE deployment_id = $1 AND token_id = $2
		AND EXISTS (SELECT 1 FROM token
			WHERE deployment_id = $1 AND id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3))`,
		deploymentID, tokenID, s.Now())
	return n > 0, err
}

// contactInterval limits how often progress reports update a runner's last-seen time.
const contactInterval = time.Minute

// touchRunnerOfRun updates the last-seen time of the runner with a run's claim. It must precede the
// lock of the run's row, because requests for work lock the two in this order too.
func touchRunnerOfRun(ctx context.Context, q *sqldb.Session, deploymentID, run, claim int64, now time.Time) error {
	return q.Write(ctx, `UPDATE runner SET seen_at = $2 WHERE deployment_id = $1 AND seen_at <= $3
		AND id = (SELECT runner_id FROM managed_run WHERE deployment_id = $1 AND id = $4 AND claim = $5)`, deploymentID, now,
		now.Add(-contactInterval), run, claim)
}

// Runners returns the deployment's runners, last seen first.
func (tx *Tx) Runners(ctx context.Context) ([]model.Runner, error) {
	return sqldb.Many(
		ctx, tx, scanRunner, `SELECT `+runnerColumns+` FROM runner WHERE deployment_id = $1 ORDER BY seen_at DESC, id DESC`,
	)
}

// Runner returns a runner by id.
func (tx *Tx) Runner(ctx context.Context, id int64) (model.Runner, error) {
	r, err := sqldb.One(
		ctx, tx, scanRunner, `SELECT `+runnerColumns+` FROM runner WHERE deployment_id = $1 AND id = $2`, id,
	)
	if err != nil {
		return r, fmt.Errorf("runner %d: %w", id, err)
	}
	return r, nil
}

// RevokeRunner revokes the token of a runner, deletes all runners with that token and returns them.
// Their active runs are requeued when the lease expires.
func (tx *Tx) RevokeRunner(ctx context.Context, id int64) ([]model.Runner, error) {
	r, err := tx.Runner(ctx, id)
	if err != nil {
		return nil, err
	}
	gone, err := sqldb.Many(ctx, tx, scanRunner,
		`SELECT `+runnerColumns+` FROM runner WHERE deployment_id = $1 AND token_id = $2 ORDER BY id`, r.TokenID)
	if err != nil {
		return nil, err
	}
	if err := tx.RevokeToken(ctx, r.TokenID); err != nil && !errors.Is(err, model.ErrNotFound) {
		return nil, err
	}
	return gone, tx.Write(ctx, `DELETE FROM runner WHERE deployment_id = $1 AND token_id = $2`, r.TokenID)
}

// runnersInForce returns the runners with an active token that permits runs, and these tokens by
// id.
func (tx *Tx) runnersInForce(ctx context.Context) ([]model.Runner, map[int64]model.Token, error) {
	all, err := tx.Runners(ctx)
	if err != nil || len(all) == 0 {
		return all, nil, err
	}
	ids := model.Map(all, func(r model.Runner) int64 { return r.TokenID })
	in, list := tx.In("id", 2, ids)
	tokens, err := sqldb.Many(
		ctx, tx, accounts.ScanToken, `SELECT `+accounts.TokenColumns+` FROM token WHERE deployment_id = $1 AND `+in, list,
	)
	may := map[int64]model.Token{}
	for _, t := range tokens {
		if t.Active(tx.Now()) && t.Has(model.ScopeRunner) {
			may[t.ID] = t
		}
	}
	return slices.DeleteFunc(all, func(r model.Runner) bool { return may[r.TokenID].ID == 0 }), may, err
}

const seqRunner sqldb.Sequence = "runner"
