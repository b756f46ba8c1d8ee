package ingest

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// repeat answers for an upload that is the last one again.
func (a *application) repeat(ctx context.Context, sightings []Sighting, scanID int64) error {
	a.sum.Repeat, a.sum.ScanID, a.sum.Outcome, a.sum.Unchanged = true, scanID, redoubt.ScanApplied, len(sightings)
	if err := a.putVEX(ctx); err != nil { // somebody may have removed a document since
		return err
	}
	sightings, _, err := a.separateEchoes(ctx, sightings)
	if err != nil || !slices.ContainsFunc(sightings, func(s Sighting) bool { return s.blind }) {
		return err
	}
	return a.nameAgain(ctx, sightings)
}

// nameAgain tells what those of a repeated report are that it names otherwise than they
// are stored: what a plan says of which nothing is written.
func (a *application) nameAgain(ctx context.Context, sightings []Sighting) error {
	stored, err := a.load(ctx, sightings, nil)
	if err != nil {
		return err
	}
	ruleIDs, err := a.rules(ctx, sightings)
	if err != nil {
		return err
	}
	changes, err := Plan(stored, sightings, a.facts(scopeOf(a.upload, sightings), ruleIDs))
	a.sum.Became = changes.Became
	return err
}
