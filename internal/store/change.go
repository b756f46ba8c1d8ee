package store

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
)

// Changed are the findings and lineages that changed after a version, those
// that are gone too.
type Changed struct {
	Findings map[int64]bool
	Lineages map[int64]bool
}

// ChangedSince reads from the feed what changed after a version. A feed that no
// longer reaches back so far, or never was there, is model.ErrConflict.
func (tx *Tx) ChangedSince(ctx context.Context, version int64) (Changed, error) {
	out := Changed{Findings: map[int64]bool{}, Lineages: map[int64]bool{}}
	if err := tx.ReachesBack(ctx, version); err != nil {
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
// back so far, or never was there, is model.ErrConflict.
func (tx *Tx) ChangeSet(ctx context.Context, version int64) (model.ChangeSet, error) {
	set := model.ChangeSet{Version: tx.Version()}
	if err := tx.ReachesBack(ctx, version); err != nil {
		return set, err
	}
	return set, tx.changeRuns(ctx, version, func(run changeRun) {
		of := model.IDRun{run.id, run.more}
		switch run.kind {
		case changeFinding:
			set.Findings = append(set.Findings, of)
		case changeLineage:
			set.Lineages = append(set.Lineages, of)
		case changeProject:
			set.Projects = run.appendTo(set.Projects)
		case changeRule:
			set.Rules = run.appendTo(set.Rules)
		case changePolicy:
			set.Policies = true
		case changePolicyRule:
			set.PolicyRules = true
		case changeDictionary: // no answer tells of it
		}
	})
}

// ReachesBack is model.ErrConflict where the feed does not tell what changed since a
// version: it no longer reaches back so far, or the version is of a history that was lost.
func (tx *Tx) ReachesBack(ctx context.Context, version int64) error {
	known, err := tx.knows(ctx, version)
	if err == nil && !known {
		err = fmt.Errorf("the feed does not tell what changed since version %d: %w", version, model.ErrConflict)
	}
	return err
}

// knows reports whether the feed tells what changed since a version: it is one that the
// deployment has had, and not of a history that was lost, and nothing since then was pruned.
func (tx *Tx) knows(ctx context.Context, version int64) (bool, error) {
	if version == tx.Version() {
		return true, nil
	}
	had, err := one(ctx, tx, scalar[int64], `SELECT CASE WHEN d.pruned_version = $2
		OR EXISTS (SELECT 1 FROM change c WHERE c.deployment_id = $1 AND c.version = $2) THEN 1 ELSE 0 END FROM deployment d WHERE d.id = $1`, version)
	return had > 0, err
}
