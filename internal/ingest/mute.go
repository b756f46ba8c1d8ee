package ingest

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// proposeMutes reverts mutes outside of the code if the sender may not triage
// (docs/reference/uploads.md).
func (u *Upload) proposeMutes(sightings []Sighting) {
	for i := range sightings {
		if s := &sightings[i]; !u.Decides && s.Finding.State == model.Muted && s.Result.MutedOutside {
			s.Proposed, s.Finding.State = true, model.Unresolved
		}
	}
}

// presetMutes mutes proposed results whose identity is muted on the ref. This is a preliminary state
// until the plan decides.
func (u *Upload) presetMutes(ctx context.Context, s Store, projectID int64, sightings []Sighting) error {
	if !slices.ContainsFunc(sightings, func(s Sighting) bool { return s.Proposed }) {
		return nil
	}
	rows, err := s.Findings(ctx, projectID, u.Ref, u.source())
	if err != nil {
		return err
	}
	muted := make(map[model.Identity]bool, len(rows))
	for i := range rows {
		muted[rows[i].Identity] = rows[i].State == model.Muted
	}
	for i := range sightings {
		if f := &sightings[i].Finding; sightings[i].Proposed && muted[f.Identity] {
			f.State = model.Muted
		}
	}
	return nil
}

// openProposals counts proposed mutes that were not applied.
func openProposals(sightings []Sighting) (n int) {
	for i := range sightings {
		if sightings[i].Proposed && sightings[i].Finding.State != model.Muted {
			n++
		}
	}
	return n
}

// noteProposals adds the number of proposed mutes to the gaps of the scan.
func (u *Upload) noteProposals(n int) {
	if n > 0 {
		u.notDecided(fmt.Sprintf("%d mutes outside of the code", n))
	}
}

// resolveMutes applies the plan's decisions on proposed mutes, and corrects the counts of the
// summary and the scan.
func (a *application) resolveMutes(ctx context.Context, sightings []Sighting, applied map[model.Identity]bool) error {
	before := countSightings(sightings)
	for i := range sightings {
		if s := &sightings[i]; s.Proposed {
			if s.Finding.State = model.Unresolved; applied[s.Finding.Identity] {
				s.Finding.State = model.Muted
			}
		}
	}
	a.sum.ProposedMutes = openProposals(sightings)
	a.upload.noteProposals(a.sum.ProposedMutes)
	after := countSightings(sightings)
	if after == before {
		return nil
	}
	counts := &a.scan.Counts
	counts.Code += after.Code - before.Code
	counts.Secrets += after.Secrets - before.Secrets
	counts.SupplyChain += after.SupplyChain - before.SupplyChain
	a.sum.Counts = *counts
	return a.s.SetScanCounts(ctx, a.scan.ID, *counts)
}

// proposedState returns the state of a finding that only a proposal mutes. It is muted if it
// already was on the ref, or if it is muted on the primary branch.
func (p *planner) proposedState(row *model.Finding, id model.Identity) model.State {
	if row.State == model.Muted || p.mutedOnPrimary(row.LineageID, id) || p.mutedOnPrimary(p.lineages.of(id), id) {
		return model.Muted
	}
	return model.Unresolved
}

// mutedOnPrimary reports whether an identity of a lineage is muted on the primary branch. If the
// primary branch does not have the identity, all its findings of the lineage must be muted.
func (p *planner) mutedOnPrimary(lineage int64, id model.Identity) bool {
	if p.Ref == p.Primary || lineage == 0 {
		return false
	}
	all, some := true, false
	for _, f := range p.coexisting.live[lineage] {
		if f.Ref != p.Primary || f.Source != p.Source {
			continue
		}
		if f.Identity == id {
			return f.State == model.Muted
		}
		all, some = all && f.State == model.Muted, true
	}
	return all && some
}

// recordMute records whether a proposed mute applies.
func (p *planner) recordMute(s *Sighting, state model.State) {
	if p.changes.MuteDecisions == nil {
		p.changes.MuteDecisions = map[model.Identity]bool{}
	}
	p.changes.MuteDecisions[s.Finding.Identity] = state == model.Muted
}

// reopenCopy unmutes a copied finding that only a proposal mutes, because the mute applied to the
// original.
func (p *planner) reopenCopy(e entry) {
	switch {
	case e.added >= 0:
		if s, next := p.added[e.added], &p.changes.Added[e.added].Finding; s.Proposed && next.State == model.Muted {
			next.State = p.proposedState(&model.Finding{LineageID: next.LineageID}, next.Identity)
			p.recordMute(s, next.State)
		}
	case p.proposed[e.row.ID] != nil:
		i := slices.IndexFunc(p.changes.Updated, func(w model.FindingWrite) bool { return w.ID == e.row.ID })
		next := &p.changes.Updated[i].Finding
		if next.State != model.Muted || p.mutedOnPrimary(next.LineageID, next.Identity) {
			return
		}
		next.State, next.StateUpdatedAt = model.Unresolved, p.At
		p.changes.Events = slices.DeleteFunc(p.changes.Events, func(ev model.FindingEvent) bool {
			return ev.FindingID == e.row.ID && ev.Kind == model.EventMuted
		})
		p.recordMuting(e.row, next)
		p.changes.Reported = append(p.changes.Reported, e.row.ID)
		p.recordMute(p.proposed[e.row.ID], next.State)
		if !slices.ContainsFunc(p.changes.Items, func(it Item) bool { return it.FindingID == e.row.ID }) {
			p.changes.Items, p.changes.Unchanged = append(p.changes.Items, itemOf(next, ItemChanged)), p.changes.Unchanged-1
		}
	}
}
