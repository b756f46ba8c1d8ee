package sqldb

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
)

// ReachesBack returns model.ErrConflict if the feed does not contain all changes since a version.
// See Knows.
func (tx *Tx) ReachesBack(ctx context.Context, version int64) error {
	known, err := tx.Knows(ctx, version)
	if err == nil && !known {
		err = fmt.Errorf("the feed does not contain all changes since version %d: %w", version, model.ErrConflict)
	}
	return err
}

// Knows reports whether the feed contains all changes since a version. It does not if they were
// pruned, or if the version belongs to a history that was lost by a restore.
func (tx *Tx) Knows(ctx context.Context, version int64) (bool, error) {
	if version == tx.Version() {
		return true, nil
	}
	had, err := One(ctx, tx, Scalar[int64], `SELECT CASE WHEN d.pruned_version = $2
		OR EXISTS (SELECT 1 FROM change c WHERE c.deployment_id = $1 AND c.version = $2) THEN 1 ELSE 0 END FROM deployment d
		WHERE d.id = $1`,
		version)
	return had > 0, err
}

// FeedBatch limits the rows of a kind in a batch. With bodies a batch has about five megabytes.
const FeedBatch = 2000
