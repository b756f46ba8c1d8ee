package lifecycle

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// lineagePair is two lineages that share an identity, one of each project.
type lineagePair struct{ from, into int64 }

// mergeIdentities merges the lineages of two projects (docs/reference/projects.md). For a finding
// of both projects the decision of into stays, else that of from. Two lineages that share
// identities only with each other are merged. If several share identities, their findings are
// matched one by one.
func (m *projectMerge) mergeIdentities(ctx context.Context, from, into int64) error {
	alone, several, err := m.sharedLineages(ctx)
	if err != nil {
		return err
	}
	if err := m.mergeLinks(ctx, from, into); err != nil {
		return err
	}
	moved, err := sqldb.Many(ctx, m.Tx, sqldb.Scalar[int64],
		`SELECT id FROM lineage WHERE deployment_id = $1 AND project_id = $2 ORDER BY id`, from)
	if err != nil {
		return err
	}
	m.Change(sqldb.ChangeLineage, moved...)
	for _, table := range []string{"lineage_identity", "lineage"} {
		if err := m.Reassign(ctx, table, from, into); err != nil {
			return err
		}
	}
	for _, p := range alone {
		if err := m.joinLineages(ctx, p); err != nil {
			return err
		}
	}
	return m.matchFindings(ctx, several, moved)
}

// sharedLineages returns the pairs of lineages that share an identity. alone are pairs without
// other matches; in several, one of the two also matches others.
func (m *projectMerge) sharedLineages(ctx context.Context) (alone, several []lineagePair, err error) {
	pairs, err := sqldb.Many(ctx, m.Tx, func(r sqldb.Row) (p lineagePair, err error) {
		return p, r.Scan(&p.from, &p.into)
	}, `
		SELECT DISTINCT f.lineage_id, t.lineage_id FROM lineage_identity f
		JOIN lineage_identity t ON t.deployment_id = f.deployment_id AND t.kind = f.kind AND t.hash = f.hash
		WHERE f.deployment_id = $1 AND f.project_id = $2 AND t.project_id = $3 ORDER BY f.lineage_id, t.lineage_id`,
		m.from.ID, m.into.ID)
	if err != nil {
		return nil, nil, err
	}
	of, to := map[int64]int{}, map[int64]int{}
	for _, p := range pairs {
		of[p.from]++
		to[p.into]++
	}
	for _, p := range pairs {
		if of[p.from] == 1 && to[p.into] == 1 {
			alone = append(alone, p)
		} else {
			several = append(several, p)
		}
	}
	return alone, several, nil
}

// mergeLinks leaves one lineage for each identity of both projects. That is the one of into, unless
// only from has a finding with the identity. A lineage of into without findings keeps its
// identities, so its decision is not lost.
func (m *projectMerge) mergeLinks(ctx context.Context, from, into int64) error {
	err := m.Write(ctx, `DELETE FROM lineage_identity WHERE deployment_id = $1 AND project_id = $3
		AND (kind, hash) IN (SELECT kind, hash FROM lineage_identity WHERE deployment_id = $1 AND project_id = $2)
		AND (kind, hash) IN (SELECT identity_kind, identity_hash FROM finding WHERE deployment_id = $1 AND project_id = $2)
		AND (kind, hash) NOT IN (SELECT identity_kind, identity_hash FROM finding WHERE deployment_id = $1
		AND project_id = $3)
		AND lineage_id IN (SELECT lineage_id FROM finding WHERE deployment_id = $1 AND project_id = $3)`, from, into)
	if err != nil {
		return err
	}
	return m.Write(ctx, `DELETE FROM lineage_identity WHERE deployment_id = $1 AND project_id = $2
		AND (kind, hash) IN (SELECT kind, hash FROM lineage_identity WHERE deployment_id = $1 AND project_id = $3)`, from,
		into)
}

// matchFindings assigns the findings of lineages with several matches to the lineages that have
// their identities now. A lineage that has no findings afterwards is merged into one that got its
// findings, or else into one that shares an identity. moved are all lineages of from, ascending.
func (m *projectMerge) matchFindings(ctx context.Context, pairs []lineagePair, moved []int64) error {
	home := map[int64]int64{}
	for _, p := range pairs {
		if home[p.from] == 0 {
			home[p.from] = p.into
		}
	}
	lineages := slices.Sorted(maps.Keys(home))
	placed, remains := map[lineagePair][]int64{}, map[int64]bool{}
	in, list := m.In("f.lineage_id", 4, lineages)
	err := sqldb.Each(ctx, m.Tx, func(r sqldb.Row) error {
		var id int64
		var p lineagePair
		err := r.Scan(&id, &p.from, &p.into)
		// stays in a lineage of from
		if _, stays := slices.BinarySearch(moved, p.into); stays {
			remains[p.from] = true
		} else {
			placed[p] = append(placed[p], id)
		}
		return err
	}, `SELECT f.id, f.lineage_id, l.lineage_id FROM finding f JOIN lineage_identity l ON l.deployment_id = f.deployment_id
			AND l.kind = f.identity_kind AND l.hash = f.identity_hash
		WHERE f.deployment_id = $1 AND f.project_id = $2 AND l.project_id = $3 AND `+in, m.from.ID, m.into.ID, list)
	if err != nil {
		return err
	}
	moves := slices.SortedFunc(maps.Keys(placed), comparePairs)
	for _, p := range slices.Backward(moves) {
		home[p.from] = p.into // the lowest one wins, since the order is descending
	}
	for _, p := range moves {
		if err := m.moveFindings(ctx, p, placed[p]); err != nil {
			return err
		}
	}
	for _, lineage := range lineages {
		if !remains[lineage] {
			if err := m.joinLineages(ctx, lineagePair{lineage, home[lineage]}); err != nil {
				return err
			}
		}
	}
	return nil
}

func comparePairs(a, b lineagePair) int {
	return slices.Compare([]int64{a.from, a.into}, []int64{b.from, b.into})
}

// moveFindings moves findings of one lineage to another, which also gets its decision unless it
// has one.
func (m *projectMerge) moveFindings(ctx context.Context, p lineagePair, ids []int64) error {
	if err := m.transferTriage(ctx, p); err != nil {
		return err
	}
	m.Change(sqldb.ChangeFinding, ids...)
	in, list := m.In("id", 4, ids)
	return m.Write(ctx, `UPDATE finding SET lineage_id = $2, version = $3 WHERE deployment_id = $1 AND `+in, p.into,
		m.NextVersion(), list)
}

// transferTriage copies the decision and the assignee of a lineage to another that has none.
func (m *projectMerge) transferTriage(ctx context.Context, p lineagePair) error {
	both, err := m.Lineages(ctx, []int64{p.from, p.into})
	if err != nil {
		return err
	}
	was, is := both[p.from].Triage, both[p.into].Triage
	after := is
	if after.State == model.TriageUntriaged {
		after = was
	}
	if after.Assignee = is.Assignee; after.Assignee == "" {
		after.Assignee = was.Assignee
	}
	if after == is {
		return nil
	}
	return m.UpdateTriage(ctx, []model.TriageEvent{
		{LineageID: p.into, At: m.Now(), By: m.Actor(), Before: is, After: after},
	})
}

// joinLineages merges two lineages. The decision and annotations of the first are used if the
// second has none.
func (m *projectMerge) joinLineages(ctx context.Context, p lineagePair) error {
	if err := m.transferTriage(ctx, p); err != nil {
		return err
	}
	both, err := m.Lineages(ctx, []int64{p.from, p.into})
	if err != nil {
		return err
	}
	is := both[p.into]
	if reflect.ValueOf(is.Annotations).IsZero() {
		is.Annotations = both[p.from].Annotations
	}
	return m.MergeLineages(ctx, []model.LineageMerge{{Into: is, From: []int64{p.from}}})
}
