package ingest

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// loadCoexisting reads the live findings of lineages that the plan may join or split. These are
// lineages that may get several findings on the ref, and those of a match and its scanner findings.
func (f *follower) loadCoexisting(ctx context.Context) (err error) {
	var d digester
	stored, rows := f.stored, f.rows
	b := &f.stored.coexisting
	count, lineages, matched, fresh := map[int64]int{}, map[int64]bool{}, map[model.Identity]bool{}, map[int64]bool{}
	at := make(map[model.Identity]int64, len(rows))
	for i := range rows {
		at[rows[i].Identity] = rows[i].LineageID
	}
	for i := range f.Matches {
		m, of := &f.Matches[i], map[int64]bool{}
		for _, id := range d.everAdvised(m) {
			matched[id], of[at[id]], of[stored.Known[id].ID] = true, true, true
		}
		delete(of, 0)
		if !f.isCovered(f.sightings[i].Finding.Identity) {
			for lineage := range of {
				count[lineage]++
			}
		}
		for _, t := range f.twins(i) {
			of[t.LineageID] = true
		}
		if len(of) > 1 {
			maps.Copy(lineages, of)
		}
		if id := f.sightings[i].Finding.Identity; at[id] == 0 && !f.isCovered(id) {
			maps.Copy(fresh, of)
		}
	}
	for i := range rows {
		if live(rows[i].State) && !matched[rows[i].Identity] { // may have moved to a new match
			count[rows[i].LineageID]++
			lineages[rows[i].LineageID] = true
			maps.Copy(lineages, fresh)
		}
	}
	for lineage, n := range count {
		if n > 1 {
			lineages[lineage] = true
		}
	}
	if len(lineages) > 0 {
		if b.live, err = f.s.LiveOfLineages(ctx, f.project.ID, sortedKeys(lineages)); err != nil {
			return err
		}
		for lineage := range lineages {
			if _, some := b.live[lineage]; !some {
				b.live[lineage] = nil // marks the lineage as read
			}
		}
	}
	b.linked = stored.Known
	return nil
}

// uniteLineages joins the lineages that a match stands for. These are the lineages of its finding,
// of its former groups, and of the oldest finding of each scanner that reports the same. A
// scanner's finding is not joined if another one of that scanner already is, because a scanner may
// report several uses of one package. These are triaged separately.
//
// It returns the rows that the plan continues with, or the context's error if the context ends.
func (f *follower) uniteLineages(ctx context.Context, rows []model.Finding) ([]model.Finding, error) {
	at := make(map[model.Identity]*model.Finding, len(rows))
	for i := range rows {
		at[rows[i].Identity] = &rows[i]
	}
	f.separate, f.united = f.expected(at), map[int64]int64{}
	aside := map[int64]bool{}
	for i := range f.Matches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row, renamed := f.adoptExisting(i, at, aside)
		f.uniteFormerLineages(i, row, renamed)
		f.uniteTwins(i, row)
		if row == nil || live(row.State) {
			continue
		}
		f.plan.transferred[row.ID] = slices.ContainsFunc(f.twins(i), func(t model.Subject) bool {
			return !live(t.State) && t.ChangedAt.Equal(f.plan.At)
		})
	}
	return slices.DeleteFunc(rows, func(r model.Finding) bool { return aside[r.ID] }), nil
}

// expected returns the live findings of the lineages on all refs once this ref matches the
// advisories. Findings that leave the ref now must not separate two lineages.
func (f *follower) expected(at map[model.Identity]*model.Finding) coexisting {
	var d digester
	out := coexisting{live: make(map[int64][]model.Finding, len(f.plan.coexisting.live))}
	for lineage, list := range f.plan.coexisting.live {
		out.live[lineage] = slices.DeleteFunc(slices.Clone(list), func(g model.Finding) bool {
			return g.Ref == f.Ref && g.Source == model.SourceAdvisories
		})
	}
	for i := range f.Matches {
		m := &f.Matches[i]
		if f.isCovered(f.sightings[i].Finding.Identity) {
			continue
		}
		for _, id := range d.everAdvised(m) {
			row := at[id]
			if row == nil {
				continue
			}
			if list, queried := out.live[row.LineageID]; queried { // only these lineages were read
				out.live[row.LineageID] = append(list, *row)
			}
		}
	}
	return out
}

// adoptExisting returns the finding of a match under any of its groups. If there are several, the
// oldest remains. The others are removed; the remaining one gets the identity of the match. It
// reports whether the finding had the identity of another group.
func (f *follower) adoptExisting(
	i int, at map[model.Identity]*model.Finding, aside map[int64]bool,
) (_ *model.Finding, renamed bool) {
	var d digester
	m, id := &f.Matches[i], f.sightings[i].Finding.Identity
	var found []*model.Finding
	for _, known := range d.everAdvised(m) {
		if row := at[known]; row != nil && !aside[row.ID] {
			found = append(found, row)
		}
	}
	if len(found) == 0 {
		return nil, false
	}
	slices.SortFunc(found, func(a, b *model.Finding) int { return int(a.ID - b.ID) })
	stays := found[0]
	was := stays.Identity
	for _, other := range found[1:] {
		aside[other.ID] = true
		next := *other
		if other.Identity == id {
			next.Identity = was
		}
		if live(other.State) {
			next.State, next.StateUpdatedAt = model.StateRemoved, f.plan.At
			f.plan.addEvent(other.ID, model.EventRemoved, nil)
			f.united[other.ID] = stays.ID
		}
		if next != *other {
			f.plan.changes.Updated = append(f.plan.changes.Updated, model.FindingWrite{Finding: next})
		}
		if live(other.State) {
			f.plan.changes.Items = append(f.plan.changes.Items, itemOf(&next, ItemRemoved))
		}
		f.uniteUnlessSeparate(stays.LineageID, other.LineageID)
	}
	if was != id {
		stays.Identity, stays.Content = id, model.Digest{} // forces a rewrite of the body
		if f.isCovered(id) && !live(stays.State) {
			// The plan would not write it.
			f.plan.changes.Updated = append(f.plan.changes.Updated, model.FindingWrite{Finding: *stays})
		}
	}
	return stays, was != id
}

// uniteFormerLineages joins the lineages that a match had on any ref. If the finding on this ref
// has the match's identity in another lineage, one is a copy. Then the finding's lineage is used.
func (f *follower) uniteFormerLineages(i int, row *model.Finding, renamed bool) {
	var d digester
	m, id := &f.Matches[i], f.sightings[i].Finding.Identity
	lineage := int64(0)
	if row != nil {
		lineage = row.LineageID
	}
	for _, ever := range d.everAdvised(m) {
		if known, ok := f.plan.lineages.known[ever]; ok && (row == nil || renamed || ever != id) {
			if lineage == 0 || f.uniteUnlessSeparate(lineage, known.ID) {
				lineage = known.ID
			}
		}
	}
	f.addIdentity(id, lineage)
}

// uniteTwins joins scanner findings of a match to the lineage of the match. If both lineages have
// findings on the same ref, the match changes to the lineage of the scanner's finding on this ref.
// This occurs after a move and a copy.
func (f *follower) uniteTwins(i int, row *model.Finding) {
	id := f.sightings[i].Finding.Identity
	j := &f.plan.lineages
	own := func() int64 {
		if row != nil {
			return row.LineageID
		}
		return j.known[id].ID
	}
	joined := map[string]bool{}
	for _, t := range f.twins(i) {
		joined[t.Source] = joined[t.Source] || own() != 0 && j.root(t.LineageID) == j.root(own())
	}
	for _, t := range f.twins(i) {
		if joined[t.Source] {
			continue
		}
		joined[t.Source] = true
		if own := own(); own != 0 && !f.uniteUnlessSeparate(own, t.LineageID) {
			if f.speaks(row, t) && !f.existsElsewhere(t.LineageID, f.Matches[i].Dependency.Lockfile) {
				f.goOver(id, row, t.LineageID)
			}
			continue
		}
		f.addIdentity(id, t.LineageID)
	}
}

// uniteUnlessSeparate joins two lineages unless they have separate findings on some ref, and reports
// whether they are joined. Within one lockfile, several names of a vulnerability do not separate
// lineages.
func (f *follower) uniteUnlessSeparate(a, b int64) bool {
	inFiles := func(f, g model.Finding) bool { return f.Path != g.Path }
	if f.plan.lineages.root(a) != f.plan.lineages.root(b) &&
		f.separate.together(f.plan.lineages.members(a), f.plan.lineages.members(b), inFiles) {
		return false
	}
	f.plan.lineages.unite(a, b)
	return true
}

// speaks reports whether a finding of the advisories may change to the lineage of a scanner's
// finding. That finding must be live or close in this commit, unless the match has no finding yet.
// An earlier scanner finding is unrelated to a finding that moved here since.
func (f *follower) speaks(row *model.Finding, t model.Subject) bool {
	return row == nil || live(t.State) || t.ChangedAt.Equal(f.plan.At)
}

// existsElsewhere reports whether the advisories have a finding of a lineage on this ref in another
// lockfile. A finding here would be a copy of it.
func (f *follower) existsElsewhere(lineage int64, lockfile string) bool {
	return slices.ContainsFunc(f.plan.lineages.members(lineage), func(id int64) bool {
		return slices.ContainsFunc(f.separate.live[id], func(g model.Finding) bool {
			return g.Ref == f.Ref && g.Source == model.SourceAdvisories && g.Path != lockfile
		})
	})
}

// goOver moves a match to another lineage: its finding on this ref if it exists, and otherwise its
// identity.
func (f *follower) goOver(id model.Identity, row *model.Finding, lineage int64) {
	if row == nil {
		f.plan.lineages.known[id] = f.plan.lineages.lineages[lineage]
		return
	}
	row.LineageID, row.Content = lineage, model.Digest{} // so that the plan writes it
	if live(row.State) || !f.isCovered(id) {
		return
	}
	f.plan.changes.Updated = slices.DeleteFunc(f.plan.changes.Updated, func(w model.FindingWrite) bool {
		return w.ID == row.ID
	})
	// The plan would not write it.
	f.plan.changes.Updated = append(f.plan.changes.Updated, model.FindingWrite{Finding: *row})
}

// addIdentity adds the identity to the lineage, unless it already has one.
func (f *follower) addIdentity(id model.Identity, lineage int64) {
	j := &f.plan.lineages
	if _, known := j.known[id]; known || lineage == 0 {
		return
	}
	j.known[id] = j.lineages[lineage]
	f.plan.changes.Links = append(f.plan.changes.Links, model.IdentityLink{Identity: id, LineageID: lineage})
}
