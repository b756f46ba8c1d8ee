package sqldb

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// changeTimeSlack is subtracted from the requested time by VersionAt. It covers clock skew and the
// delay between the end of a commit and its visibility to readers.
const changeTimeSlack = time.Minute

// VersionAt returns the version of the newest feed row that is at least changeTimeSlack older than
// a time. If the feed was pruned past that time, it returns model.ErrConflict. If nothing was ever
// pruned it returns 0, because all changes are later.
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

// commitTime returns the clock's time at the end of the transaction, but at least Now. Feed rows
// get it because readers may have listed findings while the transaction ran.
func (tx *Tx) commitTime() time.Time {
	if tx.clock == nil {
		return tx.now
	}
	return Later(tx.clock(), tx.now)
}
