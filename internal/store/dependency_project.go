package store

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// dependencyProjectStep is of how many projects lockfiles are looked at at once.
const dependencyProjectStep = 100

// DependencyProjects lists the projects whose primary branch has dependencies
// that the filter keeps, with their count, by id, after the one with the given
// id, limit at most, and tells whether there are more (semantics §8).
func (tx *Tx) DependencyProjects(ctx context.Context, f redoubt.DependencyFilter, afterID int64, limit int) ([]redoubt.DependencyProject, bool, error) {
	list := []redoubt.DependencyProject{}
	q, err := tx.newDependencyQuery(ctx, f)
	if err != nil || q.nothing {
		return list, false, err
	}
	for len(list) <= limit {
		ids, err := many(ctx, tx, func(r row) (id int64, err error) { return id, r.Scan(&id) },
			`SELECT DISTINCT project_id FROM inventory WHERE deployment_id = $1 AND project_id > $2 ORDER BY project_id LIMIT $3`, afterID, dependencyProjectStep)
		if err != nil {
			return nil, false, err
		}
		part, err := q.countByProject(ctx, ids)
		if err != nil {
			return nil, false, err
		}
		list = append(list, part...)
		if len(ids) < dependencyProjectStep {
			break
		}
		afterID = ids[len(ids)-1]
	}
	list, more := page(list, limit)
	return list, more, nil
}

// countByProject counts what passes of some projects, which are in order; those
// of which nothing does are left out.
func (q *dependencyQuery) countByProject(ctx context.Context, ids []int64) ([]redoubt.DependencyProject, error) {
	in, arg := q.tx.in("i.project_id", 2, ids)
	places, err := q.tx.places(ctx, `AND i.ref = CASE WHEN p.primary_branch <> '' THEN p.primary_branch ELSE p.default_branch END AND `+in, arg)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(places, func(_ int64, p place) bool { return !q.acceptsPlace(p) })
	found := map[int64]*redoubt.DependencyProject{}
	for inventories := range slices.Chunk(slices.Sorted(maps.Keys(places)), lockfileStep) {
		counts, err := q.count(ctx, inventories)
		if err != nil {
			return nil, err
		}
		for id, n := range counts {
			of := places[id].project
			if found[of.ID] == nil {
				found[of.ID] = &redoubt.DependencyProject{ID: of.ID, Name: of.Name}
			}
			found[of.ID].Dependencies += n
		}
	}
	var list []redoubt.DependencyProject
	for _, id := range ids {
		if p := found[id]; p != nil && p.Dependencies > 0 {
			list = append(list, *p)
		}
	}
	return list, nil
}
