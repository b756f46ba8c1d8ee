package store

import (
	"context"

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
