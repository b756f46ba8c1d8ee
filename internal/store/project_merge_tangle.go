package store

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// partedFinding is one that left a lineage on which people had decided.
type partedFinding struct {
	finding, of int64 // of: the finding that was decided on
	triage      redoubt.Triage
}

// tangle is what is known of lineages that are tied several to one, and what becomes
// of them. A decision is about the finding that its lineage has on the primary branch
// of its project, and stays with that; the other findings go by their identities.
type tangle struct {
	from   []int64                              // the lineages of the project that goes
	triage map[int64]redoubt.Lineage            // all of the tangle
	linked map[redoubt.Identity]redoubt.Lineage // by identity, in the project that stays
	about  map[int64]map[redoubt.Identity]bool  // what a lineage is about, by lineage
	heirs  map[int64][]int64                    // lineages that stay and are about the same, by from
	kept   []redoubt.Identity                   // of from's lineages, though into has them in others
	placed map[int64][]int64                    // findings that do not go with their lineage, by where they go
	parted []partedFinding                      // findings of which people had decided
}

// home is the lineage that one of from becomes part of, which may be itself.
func (t *tangle) home(from int64) int64 {
	if heirs := t.heirs[from]; len(heirs) > 0 {
		return heirs[0]
	}
	return from
}

// covers reports whether a decision on one lineage is about all that another is about.
func (t *tangle) covers(from, into int64) bool {
	for id := range t.about[into] {
		if !t.about[from][id] {
			return false
		}
	}
	return true
}

// subjects are the findings that a lineage is about: those that are live on the
// primary branch, else the oldest that is live somewhere, else the oldest.
func subjects(list []redoubt.Finding, primary string) []redoubt.Finding {
	live := slices.DeleteFunc(slices.Clone(list), func(f redoubt.Finding) bool { return f.State != redoubt.Unresolved && f.State != redoubt.Muted })
	onPrimary := slices.DeleteFunc(slices.Clone(live), func(f redoubt.Finding) bool { return f.Ref != primary })
	switch {
	case len(onPrimary) > 0:
		return onPrimary
	case len(live) > 0:
		return live[:1]
	}
	return list[:min(1, len(list))]
}

// loadTangle reads the lineages of the pairs and settles what becomes of them.
func (m *projectMerge) loadTangle(ctx context.Context, pairs []lineagePair) (t tangle, err error) {
	if len(pairs) == 0 {
		return t, nil
	}
	from, both := map[int64]bool{}, map[int64]bool{}
	for _, p := range pairs {
		from[p.from], both[p.from], both[p.into] = true, true, true
	}
	t.from = slices.Sorted(maps.Keys(from))
	all := slices.Sorted(maps.Keys(both))
	found, err := m.findingsOfLineages(ctx, all)
	if err != nil {
		return t, err
	}
	links, err := m.linksOfLineages(ctx, t.from)
	if err != nil {
		return t, err
	}
	t.triage, err = m.Lineages(ctx, all)
	if err != nil {
		return t, err
	}
	identities := make([]redoubt.Identity, 0, len(links)+len(found))
	for _, l := range links {
		identities = append(identities, l.Identity)
	}
	for i := range found {
		identities = append(identities, found[i].Identity)
	}
	t.linked, err = m.LineagesOf(ctx, m.into.ID, identities)
	if err != nil {
		return t, err
	}
	t.settle(m, found, links)
	return t, nil
}

// findingsOfLineages reads all findings of lineages, in any state and of any ref, by
// id: as LiveOfLineages does, with the project and without source and path.
func (m *projectMerge) findingsOfLineages(ctx context.Context, lineages []int64) ([]redoubt.Finding, error) {
	in, list := m.in("lineage_id", 2, lineages)
	return many(ctx, m.Tx, func(r row) (f redoubt.Finding, err error) {
		return f, r.Scan(&f.ID, &f.ProjectID, &f.LineageID, &f.Ref, &f.State, &f.Identity.Kind, digest(&f.Identity.Hash))
	}, `SELECT id, project_id, lineage_id, ref, state, identity_kind, identity_hash FROM finding WHERE deployment_id = $1 AND `+in+` ORDER BY id`, list)
}

func (m *projectMerge) linksOfLineages(ctx context.Context, lineages []int64) ([]redoubt.IdentityLink, error) {
	in, list := m.in("lineage_id", 2, lineages)
	return many(ctx, m.Tx, func(r row) (l redoubt.IdentityLink, err error) {
		return l, r.Scan(&l.Identity.Kind, digest(&l.Identity.Hash), &l.LineageID)
	}, `SELECT kind, hash, lineage_id FROM lineage_identity WHERE deployment_id = $1 AND `+in+` ORDER BY kind, hash`, list)
}

// settle decides. Found are the findings of all lineages of the tangle, links the
// identities of those of from.
func (t *tangle) settle(m *projectMerge, found []redoubt.Finding, links []redoubt.IdentityLink) {
	byLineage := map[int64][]redoubt.Finding{}
	for i := range found {
		byLineage[found[i].LineageID] = append(byLineage[found[i].LineageID], found[i])
	}
	t.about, t.heirs, t.placed = map[int64]map[redoubt.Identity]bool{}, map[int64][]int64{}, map[int64][]int64{}
	owner := map[redoubt.Identity]int64{} // the lineages of into, by what they are about
	first := map[int64]int64{}            // a finding that each is about
	for _, lineage := range slices.Sorted(maps.Keys(byLineage)) {
		list := byLineage[lineage]
		project := m.into
		if list[0].ProjectID == m.from.ID {
			project = m.from
		}
		t.about[lineage] = map[redoubt.Identity]bool{}
		for i, f := range subjects(list, project.Primary()) {
			t.about[lineage][f.Identity] = true
			if i == 0 {
				first[lineage] = f.ID
			}
			if project.ID == m.into.ID {
				owner[f.Identity] = lineage
			}
		}
	}
	for _, from := range t.from {
		for id := range t.about[from] {
			if heir := owner[id]; heir != 0 && !slices.Contains(t.heirs[from], heir) {
				t.heirs[from] = append(t.heirs[from], heir)
			}
		}
		slices.Sort(t.heirs[from])
	}
	keeper := t.keepLinks(links)
	for i := range found {
		f := &found[i]
		if f.ProjectID == m.from.ID {
			t.placeMoved(f, owner, first)
		} else if to := keeper[f.Identity]; to != 0 && !decidedByPeople(t.triage[f.LineageID].Triage) {
			t.placed[to] = append(t.placed[to], f.ID)
		}
	}
}

// keepLinks settles which identities lineages of from keep, though into has them in
// another: what such a lineage is about, where none of into is about the same.
func (t *tangle) keepLinks(links []redoubt.IdentityLink) (keeper map[redoubt.Identity]int64) {
	keeper = map[redoubt.Identity]int64{}
	for _, l := range links {
		if _, both := t.linked[l.Identity]; both && len(t.heirs[l.LineageID]) == 0 && t.about[l.LineageID][l.Identity] {
			keeper[l.Identity] = l.LineageID
			t.kept = append(t.kept, l.Identity)
		}
	}
	return keeper
}

// placeMoved settles which lineage a finding that comes over is in.
func (t *tangle) placeMoved(f *redoubt.Finding, owner map[redoubt.Identity]int64, first map[int64]int64) {
	home := t.home(f.LineageID)
	to := home
	switch other, known := t.linked[f.Identity]; {
	case owner[f.Identity] != 0:
		to = owner[f.Identity]
	case known && !t.about[f.LineageID][f.Identity]:
		to = other.ID
	}
	if to != home {
		t.placed[to] = append(t.placed[to], f.ID)
	}
	decision := t.triage[f.LineageID].Triage
	if decidedByPeople(decision) && decision.State != redoubt.TriageReopened && f.State != redoubt.StateRemoved {
		t.parted = append(t.parted, partedFinding{f.ID, first[f.LineageID], decision})
	}
}

// decidedByPeople reports whether a person decided, be it to open it again.
func decidedByPeople(t redoubt.Triage) bool {
	return !t.Automatic && t.State != redoubt.TriageUntriaged
}
