package ingest

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// loadPrimary reads what the primary branch has where some of it may have moved on the
// way to another ref: a scan of all of that sees code which nobody knows.
func (a *application) loadPrimary(ctx context.Context, stored *Stored, sightings []Sighting) (err error) {
	if !a.scan.Full || a.upload.Report.Failed || a.scan.Ref == a.project.Primary() {
		return nil
	}
	known := make(map[redoubt.Identity]bool, len(stored.Findings))
	for i := range stored.Findings {
		known[stored.Findings[i].Identity] = true
	}
	if !slices.ContainsFunc(sightings, func(s Sighting) bool {
		_, held := stored.Known[s.Finding.Identity]
		return !held && !known[s.Finding.Identity] && s.Finding.CodeHash != (redoubt.Digest{})
	}) {
		return nil
	}
	if stored.Primary, err = a.s.Findings(ctx, a.project.ID, a.project.Primary(), a.scan.Source); err != nil {
		return err
	}
	stored.beside.addPrimary(stored.Primary)
	return nil
}

// addPrimary adds the lineages of which the primary branch has several findings, since a
// ref may have as many.
func (b *beside) addPrimary(rows []redoubt.Finding) {
	of := map[int64][]redoubt.Finding{}
	for i := range rows {
		if live(rows[i].State) {
			of[rows[i].LineageID] = append(of[rows[i].LineageID], rows[i])
		}
	}
	for lineage, list := range of {
		if _, loaded := b.live[lineage]; !loaded && len(list) > 1 {
			if b.live == nil {
				b.live = map[int64][]redoubt.Finding{}
			}
			b.live[lineage] = list
		}
	}
}

// movedFromPrimary pairs what a scan of all of a ref sees and nobody knows with what the
// primary branch has in files that are not on the ref, as it would be paired if the ref
// had had those files before (semantics §5). It returns the lineages of the primary
// branch's findings by the identities under which they are seen here. A finding that was
// on the ref before is none of them: what became of it is known.
func (p *planner) movedFromPrimary(rows []redoubt.Finding, unseen []*Sighting) map[redoubt.Identity]int64 {
	here := map[int64]bool{}
	for i := range rows {
		if rows[i].State != redoubt.StateRemoved {
			here[p.lineages.root(rows[i].LineageID)] = true
		}
	}
	var from []*redoubt.Finding
	for i := range p.primary {
		row := &p.primary[i]
		if live(row.State) && !here[p.lineages.root(row.LineageID)] && p.Scope.isGone(row.Path) && p.Scope.absentState(row) == redoubt.Fixed {
			from = append(from, row)
		}
	}
	to := slices.DeleteFunc(slices.Clone(unseen), func(s *Sighting) bool { return p.lineages.of(s.Finding.Identity) != 0 })
	out := map[redoubt.Identity]int64{}
	for _, pass := range movePasses(p.Scope) {
		var found []pair
		found, from, to = matchCandidates(from, to, pass)
		for _, one := range found {
			out[one.sighting.Finding.Identity] = one.row.LineageID
		}
	}
	return out
}

// linkMoved puts the identities of what moved into the lineages that it came from, but
// for what left them again as a copy.
func (p *planner) linkMoved() {
	for i := range p.changes.Added {
		f := &p.changes.Added[i].Finding
		if lineage := p.moved[f.Identity]; lineage != 0 && f.LineageID == p.lineages.root(lineage) {
			p.changes.Links = append(p.changes.Links, redoubt.IdentityLink{Identity: f.Identity, LineageID: f.LineageID})
		}
	}
}
