package sqldb

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
)

// ReachesBack is model.ErrConflict where the feed does not tell what changed since a
// version: it no longer reaches back so far, or the version is of a history that was lost.
func (tx *Tx) ReachesBack(ctx context.Context, version int64) error {
	known, err := tx.Knows(ctx, version)
	if err == nil && !known {
		err = fmt.Errorf("the feed does not tell what changed since version %d: %w", version, model.ErrConflict)
	}
	return err
}

// Knows reports whether the feed tells what changed since a version: it is one that the
// deployment has had, and not of a history that was lost, and nothing since then was pruned.
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

// FeedBatch is how many rows of a kind a batch holds at most: with bodies some
// five megabytes.
const FeedBatch = 2000
