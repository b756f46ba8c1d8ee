package ingest

import (
	"context"
	"errors"
	"slices"

	"github.com/redoubt/redoubt"
)

// repeat answers for an upload that is the last one again.
func (a *application) repeat(ctx context.Context, sightings []Sighting, scanID int64) error {
	a.sum.Repeat, a.sum.ScanID, a.sum.Outcome, a.sum.Unchanged = true, scanID, redoubt.ScanApplied, len(sightings)
	if err := a.putVEX(ctx); err != nil { // somebody may have removed a document since
		return err
	}
	if !slices.ContainsFunc(sightings, func(s Sighting) bool { return s.blind }) {
		return nil // what tells its code has been stored by its identity
	}
	if err := a.resolve(ctx, sightings, true); err != nil {
		return err
	}
	return a.recall(ctx, sightings, scanID)
}

// recall tells of what a repeated report says without code which findings it was of when
// it came first, as far as that is kept: beside other code nothing else could tell.
func (a *application) recall(ctx context.Context, sightings []Sighting, scanID int64) error {
	account, err := a.s.ScanAccount(ctx, scanID)
	switch {
	case errors.Is(err, redoubt.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	rows, err := a.upload.stored(ctx, a.s, a.project.ID)
	if err != nil {
		return err
	}
	was := map[likeness][]*redoubt.Finding{}
	for i := range rows {
		f := &rows[i]
		if _, reported := slices.BinarySearch(account.Reported, f.ID); reported && live(f.State) && f.CodeHash == (redoubt.Digest{}) && f.Package == "" {
			was[likenessOf(f)] = append(was[likenessOf(f)], f)
		}
	}
	for _, g := range blindGroups(sightings) {
		list := was[likenessOf(&g[0].Finding)]
		inOrder(list)
		if slices.EqualFunc(list, g, func(f *redoubt.Finding, s *Sighting) bool { return f.Line == s.Finding.Line }) {
			for i, s := range g {
				a.became(s.Finding.Identity, list[i])
			}
		}
	}
	return nil
}

func (a *application) became(told redoubt.Identity, is *redoubt.Finding) {
	if a.sum.Became == nil {
		a.sum.Became = map[redoubt.Identity]redoubt.KnownAs{}
	}
	a.sum.Became[told] = redoubt.KnownAs{Identity: is.Identity, CodeHash: is.CodeHash}
}

// resolve tells of a report that changes nothing, since it repeats the last one or is
// recorded only, what its findings are, as of one that counts: what a plan says of which
// nothing is carried out.
func (a *application) resolve(ctx context.Context, sightings []Sighting, repeated bool) error {
	stored, err := a.load(ctx, sightings)
	if err != nil {
		return err
	}
	if a.ruleIDs == nil {
		if a.ruleIDs, err = a.rules(ctx, sightings, a.s.RuleIDs); err != nil {
			return err
		}
	}
	facts := a.facts(scopeOf(a.upload, sightings), a.ruleIDs)
	facts.Unwritten, facts.Repeated = true, repeated
	changes, err := Plan(stored, sightings, facts)
	a.sum.Became, a.sum.Copies = changes.Became, changes.Copies
	return err
}

// became notes as what a sighting is stored, where the report names it otherwise.
func (p *planner) became(s *Sighting, is *redoubt.Finding) {
	if s.Finding.Identity == is.Identity {
		return
	}
	if p.changes.Became == nil {
		p.changes.Became = map[redoubt.Identity]redoubt.KnownAs{}
	}
	p.changes.Became[s.Finding.Identity] = redoubt.KnownAs{Identity: is.Identity, CodeHash: is.CodeHash}
}
