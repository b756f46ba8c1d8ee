package inventory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// LockfileStep is the number of lockfiles counted at once.
const LockfileStep = 100

// Lockfiles returns the lockfiles of a project's primary branch with matching dependencies, and
// their number of matches. They are sorted by id, follow the given id and are at most limit. It
// reports whether there are more (docs/reference/dependencies.md). An unknown project has none.
func (tx *Tx) Lockfiles(
	ctx context.Context, projectID int64, f model.DependencyFilter, afterID int64, limit int,
) ([]model.LockfileSummary, bool, error) {
	list := []model.LockfileSummary{}
	if len(f.ProjectIDs) > 0 && !slices.Contains(f.ProjectIDs, projectID) {
		return list, false, nil
	}
	f.ProjectIDs = []int64{projectID}
	q, err := tx.newDependencyQuery(ctx, f)
	if err != nil || q.nothing {
		return list, false, err
	}
	lockfiles, err := q.lockfiles(ctx, `i.project_id = ? AND i.id > ?`, projectID, afterID)
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(lockfiles, func(a, b currentLockfile) int { return cmp.Compare(a.inventory, b.inventory) })
	for part := range slices.Chunk(lockfiles, LockfileStep) {
		counted, err := q.summaries(ctx, part)
		if err != nil {
			return nil, false, err
		}
		if list = append(list, counted...); len(list) > limit {
			break
		}
	}
	list, more := sqldb.Page(list, limit)
	return list, more, nil
}

// summaries returns lockfiles with their number of matches; those without a match are omitted.
func (q *dependencyQuery) summaries(ctx context.Context, lockfiles []currentLockfile) ([]model.LockfileSummary, error) {
	counts, err := q.count(ctx, lockfiles)
	if err != nil {
		return nil, err
	}
	in, arg := q.tx.In("id", 2, slices.Sorted(maps.Keys(counts)))
	return sqldb.Many(ctx, q.tx, func(r sqldb.Row) (l model.LockfileSummary, err error) {
		err = r.Scan(&l.ID, &l.Path)
		l.Dependencies = counts[l.ID]
		return l, err
	}, `SELECT id, lockfile FROM inventory WHERE deployment_id = $1 AND `+in+` ORDER BY id`, arg)
}
