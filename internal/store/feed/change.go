package feed

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Changed contains the findings and lineages that changed or were deleted after a version.
type Changed struct {
	Findings map[int64]bool
	Lineages map[int64]bool
}

// ChangedSince returns the changes after a version. If the feed does not reach back to it, it
// returns model.ErrConflict.
func (tx *Tx) ChangedSince(ctx context.Context, version int64) (Changed, error) {
	out := Changed{Findings: map[int64]bool{}, Lineages: map[int64]bool{}}
	if err := tx.ReachesBack(ctx, version); err != nil {
		return out, err
	}
	changed, err := tx.changesSince(ctx, version)
	for id := range changed[sqldb.ChangeFinding] {
		out.Findings[id] = true
	}
	for id := range changed[sqldb.ChangeLineage] {
		out.Lineages[id] = true
	}
	return out, err
}

// ChangeSet returns all changes after a version. If the feed does not reach back to it, it returns
// model.ErrConflict.
func (tx *Tx) ChangeSet(ctx context.Context, version int64) (model.ChangeSet, error) {
	set := model.ChangeSet{Version: tx.Version()}
	if err := tx.ReachesBack(ctx, version); err != nil {
		return set, err
	}
	return set, tx.changeRuns(ctx, version, func(run sqldb.ChangeRun) {
		of := model.IDRun{run.ID, run.More}
		switch run.Kind {
		case sqldb.ChangeFinding:
			set.Findings = append(set.Findings, of)
		case sqldb.ChangeLineage:
			set.Lineages = append(set.Lineages, of)
		case sqldb.ChangeProject:
			set.Projects = run.AppendTo(set.Projects)
		case sqldb.ChangeRule:
			set.Rules = run.AppendTo(set.Rules)
		case sqldb.ChangePolicy:
			set.Policies = true
		case sqldb.ChangePolicyRule:
			set.PolicyRules = true
		case sqldb.ChangeDictionary: // does not affect responses
		}
	})
}
