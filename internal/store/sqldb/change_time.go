package sqldb

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// changeTimeSlack is how much earlier than requested VersionAt begins. It covers clocks
// that differ, and the time from the end of a commit until readers see it.
const changeTimeSlack = time.Minute

// VersionAt returns the version of the newest row of the feed that is a minute older than
// a time, or older. A feed that does not reach back to the time is model.ErrConflict,
// unless it has never been pruned: then it is 0, and all changes came later.
func (tx *Tx) VersionAt(ctx context.Context, t time.Time) (int64, error) {
	version, err := One(ctx, tx, Scalar[int64],
		`SELECT version FROM change WHERE deployment_id = $1 AND at <= $2 ORDER BY version DESC LIMIT 1`,
		t.Add(-changeTimeSlack))
	if errors.Is(err, model.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return 0, err
	}
	return version, tx.ReachesBack(ctx, version)
}

// commitTime returns the clock at the end of the transaction, which is never earlier than
// Now. Rows of the feed get it: readers may have listed findings while the transaction ran.
func (tx *Tx) commitTime() time.Time {
	if tx.clock == nil {
		return tx.now
	}
	return Later(tx.clock(), tx.now)
}
