package store

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/redoubt/redoubt"
)

// lineageMerge is how the lineages of two projects come together (semantics §7).
type lineageMerge struct {
	alone []lineagePair // an identity or several tie the two, and none ties either to a third
	tangle
}

type lineagePair struct{ from, into int64 }

// mergeIdentities brings the lineages over. Where both projects know an identity,
// and its two lineages no other of each other, these become one.
func (m *projectMerge) mergeIdentities(ctx context.Context, from, into int64) error {
	merge, err := m.planLineages(ctx)
	if err != nil {
		return err
	}
	for kind, hashes := range hashesByKind(merge.kept) {
		in, list := m.in("hash", 4, hashes)
		err := m.write(ctx, `DELETE FROM lineage_identity WHERE deployment_id = $1 AND project_id = $2 AND kind = $3 AND `+in, into, int64(kind), list)
		if err != nil {
			return err
		}
	}
	err = m.write(ctx, `
		DELETE FROM lineage_identity WHERE deployment_id = $1 AND project_id = $2 AND EXISTS (SELECT 1 FROM lineage_identity t
			WHERE t.deployment_id = $1 AND t.project_id = $3 AND t.kind = lineage_identity.kind AND t.hash = lineage_identity.hash)`, from, into)
	if err != nil {
		return err
	}
	moved, err := many(ctx, m.Tx, scalar[int64], `SELECT id FROM lineage WHERE deployment_id = $1 AND project_id = $2`, from)
	if err != nil {
		return err
	}
	m.change(changeLineage, moved...)
	for _, table := range []string{"lineage_identity", "lineage", "exception_request"} {
		if err := m.reassign(ctx, table, from, into); err != nil {
			return err
		}
	}
	for _, p := range merge.alone {
		if err := m.handOver(ctx, p.from, p.into); err != nil {
			return err
		}
		if err := m.joinLineages(ctx, p.from, p.into); err != nil {
			return err
		}
	}
	return m.untangle(ctx, merge.tangle)
}

func (m *projectMerge) planLineages(ctx context.Context) (merge lineageMerge, err error) {
	pairs, err := many(ctx, m.Tx, func(r row) (p lineagePair, err error) { return p, r.Scan(&p.from, &p.into) }, `
		SELECT DISTINCT f.lineage_id, t.lineage_id FROM lineage_identity f
		JOIN lineage_identity t ON t.deployment_id = f.deployment_id AND t.kind = f.kind AND t.hash = f.hash
		WHERE f.deployment_id = $1 AND f.project_id = $2 AND t.project_id = $3 ORDER BY f.lineage_id, t.lineage_id`, m.from.ID, m.into.ID)
	if err != nil {
		return merge, err
	}
	of, to := map[int64]int{}, map[int64]int{}
	for _, p := range pairs {
		of[p.from]++
		to[p.into]++
	}
	var tangled []lineagePair
	for _, p := range pairs {
		if of[p.from] == 1 && to[p.into] == 1 {
			merge.alone = append(merge.alone, p)
		} else {
			tangled = append(tangled, p)
		}
	}
	merge.tangle, err = m.loadTangle(ctx, tangled)
	return merge, err
}

// handOver has what was decided about a lineage, and who it was assigned to, hold for
// another where nothing was decided about that.
func (m *projectMerge) handOver(ctx context.Context, from, into int64) error {
	both, err := m.Lineages(ctx, []int64{from, into})
	if err != nil {
		return err
	}
	was, is := both[from].Triage, both[into].Triage
	after := is
	if after.State == redoubt.TriageUntriaged {
		after = was
	}
	if after.Assignee = is.Assignee; after.Assignee == "" {
		after.Assignee = was.Assignee
	}
	if after == is {
		return nil
	}
	return m.UpdateTriage(ctx, []redoubt.TriageEvent{{LineageID: into, At: m.now, By: m.actor, Before: is, After: after}})
}

// joinLineages makes one lineage of two. What was noted about the first holds where
// nothing was about the second.
func (m *projectMerge) joinLineages(ctx context.Context, from, into int64) error {
	both, err := m.Lineages(ctx, []int64{from, into})
	if err != nil {
		return err
	}
	is := both[into]
	if reflect.ValueOf(is.Annotations).IsZero() {
		is.Annotations = both[from].Annotations
	}
	return m.MergeLineages(ctx, []redoubt.LineageMerge{{Into: is, From: []int64{from}}})
}

// untangle carries out what was settled about lineages that are tied several to one.
func (m *projectMerge) untangle(ctx context.Context, t tangle) error {
	if len(t.from) == 0 {
		return nil
	}
	for _, to := range slices.Sorted(maps.Keys(t.placed)) {
		ids := t.placed[to]
		in, list := m.in("id", 4, ids)
		err := m.write(ctx, `UPDATE finding SET lineage_id = $2, version = $3 WHERE deployment_id = $1 AND `+in, to, m.nextVersion(), list)
		if err != nil {
			return err
		}
		m.change(changeFinding, ids...)
	}
	for _, from := range t.from {
		for _, into := range t.heirs[from] {
			if t.covers(from, into) {
				if err := m.handOver(ctx, from, into); err != nil {
					return err
				}
			}
		}
		if home := t.home(from); home != from {
			if err := m.joinLineages(ctx, from, home); err != nil {
				return err
			}
		}
	}
	m.parted = t.parted
	return nil
}

// addPrecedents tells in the histories of findings that left a decision behind what
// that was and which finding it is about.
func (m *projectMerge) addPrecedents(ctx context.Context) error {
	stays := func(id int64) int64 { return cmp.Or(m.stays[id], id) }
	ids := make([]int64, len(m.parted))
	for i, p := range m.parted {
		ids[i] = stays(p.finding)
	}
	now := map[int64]redoubt.Triage{}
	in, list := m.in("f.id", 2, ids)
	err := each(ctx, m.Tx, func(r row) error {
		var id int64
		var t redoubt.Triage
		err := r.Scan(&id, &t.State, &t.Automatic)
		now[id] = t
		return err
	}, `SELECT f.id, l.triage_state, l.automatic FROM finding f JOIN lineage l ON l.deployment_id = f.deployment_id AND l.id = f.lineage_id
		WHERE f.deployment_id = $1 AND `+in, list)
	if err != nil {
		return err
	}
	var events []redoubt.FindingEvent
	for i, p := range m.parted {
		of := stays(p.of)
		if ids[i] == of || decidedByPeople(now[ids[i]]) {
			continue
		}
		detail, err := json.Marshal(redoubt.PrecedentOf(of, p.triage))
		if err != nil {
			return err
		}
		events = append(events, redoubt.FindingEvent{FindingID: ids[i], Kind: redoubt.EventPrecedent, Detail: string(detail)})
	}
	return m.AddEvents(ctx, events)
}
