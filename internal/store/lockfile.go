package store

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// lockfileStep is how many lockfiles are counted at once.
const lockfileStep = 100

// Lockfiles lists the lockfiles of a project's primary branch that hold
// dependencies which the filter keeps, with their count, by id, after the one
// with the given id, limit at most, and tells whether there are more
// (semantics §8). An unknown project has none.
func (tx *Tx) Lockfiles(ctx context.Context, projectID int64, f redoubt.DependencyFilter, afterID int64, limit int) ([]redoubt.LockfileSummary, bool, error) {
	list := []redoubt.LockfileSummary{}
	if len(f.ProjectIDs) > 0 && !slices.Contains(f.ProjectIDs, projectID) {
		return list, false, nil
	}
	f.ProjectIDs = []int64{projectID}
	q, err := tx.newDependencyQuery(ctx, f)
	if err != nil || q.nothing {
		return list, false, err
	}
	if q.places, err = tx.places(ctx, `AND i.project_id = $2 AND i.id > $3`, projectID, afterID); err != nil {
		return nil, false, err
	}
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(q.places)), func(id int64) bool { return !q.acceptsPlace(q.places[id]) })
	for part := range slices.Chunk(ids, lockfileStep) {
		counts, err := q.count(ctx, part)
		if err != nil {
			return nil, false, err
		}
		for _, id := range part {
			if counts[id] > 0 {
				list = append(list, redoubt.LockfileSummary{ID: id, Path: q.places[id].lockfile, Dependencies: counts[id]})
			}
		}
		if len(list) > limit {
			break
		}
	}
	list, more := page(list, limit)
	return list, more, nil
}

// count counts the rows of inventories that pass.
func (q *dependencyQuery) count(ctx context.Context, inventories []int64) (map[int64]int, error) {
	counts := map[int64]int{}
	in, arg := q.tx.in("inventory_id", 2, inventories)
	args := []any{arg}
	if q.versions != nil {
		versions, list := q.tx.in("package_version_id", 3, slices.Sorted(maps.Keys(q.versions)))
		in, args = in+" AND "+versions, append(args, list)
	}
	return counts, each(ctx, q.tx, func(r row) error {
		var id int64
		var transitivity redoubt.Transitivity
		var licenses string
		var rows int
		if err := r.Scan(&id, &transitivity, &licenses, &rows); err != nil {
			return err
		}
		licensed, err := q.isLicensed(licenses)
		if licensed && q.isAskedFor(transitivity) {
			counts[id] += rows
		}
		return err
	}, `SELECT inventory_id, transitivity, licenses_json, count(*) FROM dependency
		WHERE deployment_id = $1 AND `+in+` GROUP BY inventory_id, transitivity, licenses_json`, args...)
}
