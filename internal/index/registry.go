package index

import "context"

// Registry remembers, in the store itself, which checkpoints tell of its history: a
// version number alone does not, once an older backup was restored and has come to
// the same number by another way.
type Registry interface {
	// KeepCheckpoint remembers one in a transaction that sees its version, and forgets
	// others. A deployment that never came to that version is model.ErrConflict.
	KeepCheckpoint(ctx context.Context, deploymentID int64, id string, version int64, forget []string) error
	// HasCheckpoint reports whether one is remembered.
	HasCheckpoint(ctx context.Context, deploymentID int64, id string) (bool, error)
}
