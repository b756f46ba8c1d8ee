package checkpoint

import "context"

// Registry stores in the database which checkpoints belong to its history. A version number does
// not identify a history: a restored backup may reach the same number with other commits.
type Registry interface {
	// RecordCheckpoint stores the ID of a checkpoint in a transaction that sees its version, and
	// deletes the IDs in forget. It returns model.ErrConflict if the deployment never had that
	// version.
	RecordCheckpoint(ctx context.Context, deploymentID int64, id string, version int64, forget []string) error
	// HasCheckpoint reports whether the ID of a checkpoint is stored.
	HasCheckpoint(ctx context.Context, deploymentID int64, id string) (bool, error)
}
