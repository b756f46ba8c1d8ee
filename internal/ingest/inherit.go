package ingest

import (
	"context"

	"github.com/redoubt/redoubt"
)

// bodiesIn reads body and evidence of the findings in files.
func bodiesIn(ctx context.Context, s Store, rows []*redoubt.Finding, files map[string]bool) (map[int64]redoubt.FindingWrite, error) {
	ids := idsIn(rows, files)
	if len(ids) == 0 {
		return nil, nil
	}
	return s.FindingBodies(ctx, ids)
}

// inheritBlind gives what tells nothing of its code, in the first full scan of a ref, the
// identities of the findings of the primary branch that it continues: nothing else
// joins lineages of which no code is known. It is the alignment within each file.
func (u *Upload) inheritBlind(ctx context.Context, s Store, project redoubt.Project, sightings []Sighting) (err error) {
	var blind []*Sighting
	for i := range sightings {
		if sightings[i].blind {
			blind = append(blind, &sightings[i])
		}
	}
	if len(blind) == 0 || !u.Full || u.Ref == project.Primary() {
		return nil
	}
	if u.rows, err = u.stored(ctx, s, project.ID); err != nil || len(u.rows) > 0 {
		return err
	}
	all, err := s.Findings(ctx, project.ID, project.Primary(), u.source())
	if err != nil {
		return err
	}
	rows := liveRows(all)
	links := NewLinks(project.URL, u.Commit, u.Ref)
	a := alignment{rows: rows, sightings: pointers(sightings), gone: func(string) bool { return false }, owned: func(redoubt.Identity) bool { return false }}
	scope := scopeOf(u, sightings)
	a.byCode = func(f *redoubt.Finding) bool { return !scope.counted(f) }
	linksOf := func(*Sighting) Links { return links }
	a.changed = changedFiles(rows, a.sightings, linksOf, scope)
	if a.bodies, err = bodiesIn(ctx, s, rows, a.changed); err != nil {
		return err
	}
	pairs, err := a.pairs(linksOf)
	for _, k := range pairs {
		if k.sighting.blind && k.row.CodeHash == (redoubt.Digest{}) {
			k.sighting.Finding.Identity = k.row.Identity
		}
	}
	return err
}
