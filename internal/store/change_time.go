package store

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt"
)

const (
	// changeTimeStep is how far times of versions lie apart at least.
	changeTimeStep = time.Minute
	// changeTimeSlack is how much further back a time is taken than it says: a commit is seen
	// some moments after it took its time, and clocks of servers and clients differ.
	changeTimeSlack = time.Minute
)

// noteChangeTime notes of the first commit in each step when it was, and which version was
// before it. The times rise: while the server's clock is behind, commits belong to the newest
// there is. The time is that of the commit, not the transaction's, which may have begun long
// before anybody sees what it did.
func (tx *Tx) noteChangeTime(ctx context.Context, at time.Time) error {
	return tx.write(ctx, `INSERT INTO change_time (deployment_id, at, version)
		SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT)
		WHERE NOT EXISTS (SELECT 1 FROM change_time WHERE deployment_id = $1 AND at > $4)`,
		at, tx.deployment.Version, at.Add(-changeTimeStep))
}

// VersionAt is a version of the deployment that is no younger than a time: all that was
// committed since then came after it, and so did some of the two minutes before. Where the
// feed does not tell all changes since, it is redoubt.ErrConflict.
func (tx *Tx) VersionAt(ctx context.Context, t time.Time) (int64, error) {
	version, err := one(ctx, tx, scalar[int64], `SELECT version FROM change_time WHERE deployment_id = $1 AND at > $2 ORDER BY at LIMIT 1`,
		t.Add(-changeTimeStep-changeTimeSlack))
	if errors.Is(err, redoubt.ErrNotFound) {
		return tx.Version(), nil // nothing was committed since
	}
	if err != nil {
		return 0, err
	}
	return version, tx.ReachesBack(ctx, version)
}

// pruneChangeTimes drops the times of what the feed forgot, but for the newest: what was
// committed in its step is known in part.
func (tx *Tx) pruneChangeTimes(ctx context.Context, through int64) error {
	return tx.write(ctx, `DELETE FROM change_time WHERE deployment_id = $1
		AND at < (SELECT MAX(at) FROM change_time WHERE deployment_id = $1 AND version < $2)`, through)
}
