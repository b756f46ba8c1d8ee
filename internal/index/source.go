package index

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
)

// Source is what the index is built from.
type Source interface {
	// Version is that of the deployment's newest commit. It grows, unless commits are
	// lost; then others have other versions.
	Version(ctx context.Context, deploymentID int64) (int64, error)
	// Versions are those of several deployments, without those that there are not.
	Versions(ctx context.Context, deploymentIDs []int64) (map[int64]int64, error)
	// Feed hands over everything when since is 0, else what changed after that
	// version, in batches that are all of one state of the store, and returns
	// its version. Dictionaries (projects, rules, policies, lineages) come
	// before the findings that need them. When since is 0, several batches may come
	// at the same time. A feed pruned past since, or of another history, answers
	// stale = true and hands over nothing: build anew.
	Feed(ctx context.Context, deploymentID, since int64, take func(*model.Batch) error) (version int64, stale bool, err error)
	// Bodies reads bodies by finding id, for those that do not fit in memory.
	Bodies(ctx context.Context, deploymentID int64, ids []int64) (map[int64][]byte, error)
}
