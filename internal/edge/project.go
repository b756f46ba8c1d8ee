package edge

import (
	"context"
	"errors"

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

// Projects finds projects.
type Projects interface {
	// ProjectByName finds a project by its name or an old one.
	ProjectByName(ctx context.Context, name string) (redoubt.Project, error)
}

// MayTake refuses the name of a project that a token's globs leave out, and one
// that they allow but that is an old name of such a project: both as if there
// were none (semantics §12). A name that nobody has may be taken.
func MayTake(ctx context.Context, projects Projects, globs redoubt.ProjectGlobs, name string) error {
	if !globs.Allows(name) {
		return redoubt.ErrNotFound
	}
	p, err := projects.ProjectByName(ctx, name)
	if errors.Is(err, redoubt.ErrNotFound) {
		return nil
	}
	_, err = Seen(globs, p, err)
	return err
}

// Judge shows the gate what stands before a report is applied.
func Judge(ctx context.Context, tx *store.Tx, effective *policy.EffectivePolicy, project redoubt.Project, scan redoubt.Scan, seen []ingest.Sighting) (*policy.Judge, error) {
	reported := make([]policy.Sighting, len(seen))
	for i, s := range seen {
		reported[i] = policy.Sighting{Finding: s.Finding, MatchBasedID: s.Result.MatchBasedID}
	}
	return effective.Judge(ctx, tx, project, scan, reported)
}
