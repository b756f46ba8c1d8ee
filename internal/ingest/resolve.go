package ingest

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
)

// resolve identifies the findings of a report that is recorded only. It plans the changes and
// stores none of them.
func (a *application) resolve(ctx context.Context, sightings []Sighting) error {
	facts := a.facts(scopeOf(a.upload, sightings), a.ruleIDs)
	stored, err := a.load(ctx, sightings, facts)
	if err != nil {
		return err
	}
	facts.Unwritten = true
	changes, err := Plan(stored, sightings, facts)
	a.sum.StoredAs, a.sum.Copies = changes.StoredAs, changes.Copies
	return err
}

// recordStoredAs records the stored identity of a sighting if the reported one differs.
func (p *planner) recordStoredAs(s *Sighting, is *model.Finding) {
	if s.Finding.Identity == is.Identity {
		return
	}
	if p.changes.StoredAs == nil {
		p.changes.StoredAs = map[model.Identity]model.KnownAs{}
	}
	p.changes.StoredAs[s.Finding.Identity] = model.KnownAs{Identity: is.Identity, CodeHash: is.CodeHash}
}

// stored returns the findings of the source on the ref.
func (u *Upload) stored(ctx context.Context, s Store, projectID int64) ([]model.Finding, error) {
	if u.rows != nil {
		return u.rows, nil
	}
	return s.Findings(ctx, projectID, u.Ref, u.source())
}
