package ingest

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt"
)

// uniteLineages makes one lineage of what each match stands for: its finding, those of
// groups that became part of it, and the oldest finding of each scanner that
// says the same, unless another of that scanner's is part of it already: a
// scanner may see several uses of one package, which are triaged apart. It
// returns the rows that the plan goes on with, or the context's error where that
// ends meanwhile.
func (f *follower) uniteLineages(ctx context.Context, rows []redoubt.Finding) ([]redoubt.Finding, error) {
	at := make(map[redoubt.Identity]*redoubt.Finding, len(rows))
	for i := range rows {
		at[rows[i].Identity] = &rows[i]
	}
	aside := map[int64]bool{}
	for i := range f.Matches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row := f.adoptExisting(i, at, aside)
		f.uniteFormerLineages(i, row)
		f.uniteTwins(i)
		if row == nil || live(row.State) {
			continue
		}
		f.plan.handedOver[row.ID] = slices.ContainsFunc(f.twins(i), func(t redoubt.Subject) bool {
			return t.Source == f.repeating || !live(t.State) && t.ChangedAt.Equal(f.plan.At)
		})
	}
	return slices.DeleteFunc(rows, func(r redoubt.Finding) bool { return aside[r.ID] }), nil
}

// adoptExisting finds the finding of a match under any of its groups. Of several the
// oldest stays; the others are removed, and lend it their identity if it is the
// match's.
func (f *follower) adoptExisting(i int, at map[redoubt.Identity]*redoubt.Finding, aside map[int64]bool) *redoubt.Finding {
	var d digester
	m, id := &f.Matches[i], f.sightings[i].Finding.Identity
	var found []*redoubt.Finding
	for _, group := range append([]int64{m.Group}, m.Former...) {
		if row := at[d.advised(m, group)]; row != nil && !aside[row.ID] {
			found = append(found, row)
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b *redoubt.Finding) int { return int(a.ID - b.ID) })
	stays := found[0]
	was := stays.Identity
	for _, other := range found[1:] {
		aside[other.ID] = true
		next := *other
		if other.Identity == id {
			next.Identity = was
		}
		if live(other.State) {
			next.State, next.StateUpdatedAt = redoubt.StateRemoved, f.plan.At
			f.plan.addEvent(other.ID, redoubt.EventRemoved, removalDetail{
				Reason: fmt.Sprintf("merged into #%d: the advisories name one vulnerability", stays.ID), MergedInto: stays.ID,
			})
		}
		if next != *other {
			f.plan.changes.Updated = append(f.plan.changes.Updated, redoubt.FindingWrite{Finding: next})
		}
		if live(other.State) {
			f.plan.changes.Items = append(f.plan.changes.Items, itemOf(&next, ItemRemoved))
		}
		f.plan.lineages.unite(stays.LineageID, other.LineageID)
	}
	if was != id {
		stays.Identity, stays.Content = id, redoubt.Digest{} // its body tells the identity: written anew
		if f.isCovered(id) && !live(stays.State) {
			f.plan.changes.Updated = append(f.plan.changes.Updated, redoubt.FindingWrite{Finding: *stays}) // no plan would
		}
	}
	return stays
}

// uniteFormerLineages joins the lineages under which a match was known on any ref.
func (f *follower) uniteFormerLineages(i int, row *redoubt.Finding) {
	var d digester
	m, id := &f.Matches[i], f.sightings[i].Finding.Identity
	lineage := int64(0)
	if row != nil {
		lineage = row.LineageID
	}
	for _, group := range append([]int64{m.Group}, m.Former...) {
		if known, ok := f.plan.lineages.known[d.advised(m, group)]; ok {
			if lineage != 0 {
				f.plan.lineages.unite(lineage, known.ID)
			}
			lineage = known.ID
		}
	}
	f.addIdentity(id, lineage)
}

func (f *follower) uniteTwins(i int) {
	id := f.sightings[i].Finding.Identity
	j := &f.plan.lineages
	joined := map[string]bool{}
	for _, t := range f.twins(i) {
		own := j.known[id].ID
		joined[t.Source] = joined[t.Source] || own != 0 && j.root(t.LineageID) == j.root(own)
	}
	for _, t := range f.twins(i) {
		if joined[t.Source] {
			continue
		}
		joined[t.Source] = true
		if own := j.known[id].ID; own != 0 {
			j.unite(own, t.LineageID)
		}
		f.addIdentity(id, t.LineageID)
	}
}

// addIdentity puts the identity into the lineage, unless it is in one.
func (f *follower) addIdentity(id redoubt.Identity, lineage int64) {
	j := &f.plan.lineages
	if _, known := j.known[id]; known || lineage == 0 {
		return
	}
	j.known[id] = j.lineages[lineage]
	f.plan.changes.Links = append(f.plan.changes.Links, redoubt.IdentityLink{Identity: id, LineageID: lineage})
}
