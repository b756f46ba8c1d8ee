package feed

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// maxCheckpoints limits the stored checkpoints of a deployment. Each server has one, and the one
// that it replaces.
const maxCheckpoints = 64

// RecordCheckpoint stores the id of a checkpoint file of a version. A database that contains the id
// has that version in its history, even after a restore from a backup. It deletes the ids in
// forget, and the oldest ids above the limit. A version newer than the deployment's is
// model.ErrConflict.
func (s *DB) RecordCheckpoint(
	ctx context.Context, deploymentID int64, id string, version int64, forget []string,
) error {
	by := model.Actor{Kind: "system", Name: "index"}
	return s.update(ctx, deploymentID, by, func(ctx context.Context, tx *Tx) error {
		if version > tx.Version() {
			return fmt.Errorf("the deployment is at version %d, but the checkpoint has version %d: %w",
				tx.Version(), version, model.ErrConflict)
		}
		in, list := tx.In("id", 2, forget)
		if err := tx.Write(ctx, `DELETE FROM index_checkpoint WHERE deployment_id = $1 AND `+in, list); err != nil {
			return err
		}
		err := tx.Write(ctx, `INSERT INTO index_checkpoint (deployment_id, id, version, created_at) VALUES ($1, $2, $3, $4)`,
			id, version, tx.Now())
		if err != nil {
			return err
		}
		return tx.Write(ctx, `DELETE FROM index_checkpoint WHERE deployment_id = $1 AND id IN (
			SELECT id FROM index_checkpoint WHERE deployment_id = $1 ORDER BY created_at DESC, id LIMIT 1000 OFFSET $2)`,
			maxCheckpoints)
	})
}

// HasCheckpoint reports whether the deployment's history contains the checkpoint with an id.
func (s *DB) HasCheckpoint(ctx context.Context, deploymentID int64, id string) (known bool, err error) {
	err = s.viewForIndex(ctx, deploymentID, func(ctx context.Context, tx *Tx) error {
		found, err := sqldb.Many(
			ctx, tx, sqldb.Scalar[string], `SELECT id FROM index_checkpoint WHERE deployment_id = $1 AND id = $2`, id,
		)
		known = len(found) > 0
		return err
	})
	return known, err
}
