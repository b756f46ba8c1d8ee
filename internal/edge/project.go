package edge

import (
	"context"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// Seen answers as if a project that a token's globs leave out did not exist. It
// takes what looking for the project answered.
func Seen(globs redoubt.ProjectGlobs, p redoubt.Project, err error) (redoubt.Project, error) {
	if err == nil && !globs.Allows(p.Name) {
		return redoubt.Project{}, redoubt.ErrNotFound
	}
	return p, err
}

// MayTake refuses a name that a token's globs leave out, as if there were none.
// One that they allow may be taken, though it be an old name of a project that
// they leave out: that is not there for the token (semantics §12).
func MayTake(globs redoubt.ProjectGlobs, name string) error {
	if !globs.Allows(name) {
		return redoubt.ErrNotFound
	}
	return nil
}

// Judge shows the gate what stands before a report is applied.
func Judge(ctx context.Context, tx *store.Tx, effective *policy.EffectivePolicy, project redoubt.Project, scan redoubt.Scan, seen []ingest.Sighting) (*policy.Judge, error) {
	reported := make([]policy.Sighting, len(seen))
	for i, s := range seen {
		reported[i] = policy.Sighting{Finding: s.Finding, MatchBasedID: s.Result.MatchBasedID}
	}
	return effective.Judge(ctx, tx, project, scan, reported)
}
