package ingest

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

// bodiesOf reads the bodies and evidence of findings.
func bodiesOf(ctx context.Context, s Store, ids []int64) (map[int64]model.FindingWrite, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.FindingBodies(ctx, ids)
}

// inheritCodeless sets the identities of results without code to those of paired findings on the
// primary branch. It pairs file by file, in the first full scan of a ref. Without it, a branch
// would have none of the decisions, because results without code share no identity.
func (u *Upload) inheritCodeless(
	ctx context.Context, s Store, project model.Project, sightings []Sighting,
) (err error) {
	codeless := slices.ContainsFunc(sightings, func(s Sighting) bool { return s.codeless })
	if !codeless || !u.Full || u.Ref == project.Primary() {
		return nil
	}
	if u.rows, err = u.stored(ctx, s, project.ID); err != nil || len(u.rows) > 0 {
		return err
	}
	all, err := s.Findings(ctx, project.ID, project.Primary(), u.source())
	if err != nil {
		return err
	}
	scope, links := scopeOf(u, sightings), weblink.New(project.URL, u.Commit, u.Ref)
	scope.searched = nil // so that no file counts as removed
	a := newAlignment(liveRows(all), pointers(sightings), func(*Sighting) weblink.Links { return links }, scope)
	a.decided, a.owned = func(*model.Finding) bool { return false }, func(model.Identity) bool { return false }
	if a.bodies, err = bodiesOf(ctx, s, a.loads()); err != nil {
		return err
	}
	pairs, err := a.pairs()
	for _, k := range pairs {
		if k.sighting.codeless && k.row.CodeHash == (model.Digest{}) {
			k.sighting.Finding.Identity, k.sighting.inherits = k.row.Identity, true
		}
	}
	return err
}
