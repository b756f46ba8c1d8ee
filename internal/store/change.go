package store

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt"
)

// Changed are the findings and lineages that changed after a version, those
// that are gone too.
type Changed struct {
	Findings map[int64]bool
	Lineages map[int64]bool
}

// ChangedSince reads from the feed what changed after a version. A feed that no
// longer reaches back so far, or never came so far, is redoubt.ErrConflict.
func (tx *Tx) ChangedSince(ctx context.Context, version int64) (Changed, error) {
	out := Changed{Findings: map[int64]bool{}, Lineages: map[int64]bool{}}
	if err := tx.reachesBack(ctx, version); err != nil {
		return out, err
	}
	changed, err := tx.changesSince(ctx, version)
	for id := range changed[changeFinding] {
		out.Findings[id] = true
	}
	for id := range changed[changeLineage] {
		out.Lineages[id] = true
	}
	return out, err
}

// ChangeSet names all that changed after a version. A feed that no longer reaches
// back so far, or never came so far, is redoubt.ErrConflict.
func (tx *Tx) ChangeSet(ctx context.Context, version int64) (redoubt.ChangeSet, error) {
	if err := tx.reachesBack(ctx, version); err != nil {
		return redoubt.ChangeSet{}, err
	}
	changed, err := tx.changesSince(ctx, version)
	keys := func(kind changeKind) map[int64]bool {
		out := map[int64]bool{}
		for id := range changed[kind] {
			out[id] = true
		}
		return out
	}
	return redoubt.ChangeSet{
		Version: tx.Version(), Findings: keys(changeFinding), Lineages: keys(changeLineage), Projects: keys(changeProject), Rules: keys(changeRule),
		Policies: len(changed[changePolicy])+len(changed[changePolicyRule]) > 0,
	}, err
}

func (tx *Tx) reachesBack(ctx context.Context, version int64) error {
	pruned, err := one(ctx, tx, scalar[int64], `SELECT pruned_version FROM deployment WHERE id = $1`)
	if err == nil && (version < pruned || version > tx.Version()) {
		err = fmt.Errorf("the feed does not tell what changed since version %d: %w", version, redoubt.ErrConflict)
	}
	return err
}
