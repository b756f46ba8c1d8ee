package inventory

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// dependencyProjectStep is the number of projects whose lockfiles are read at once.
const dependencyProjectStep = 100

// DependencyProjects returns the projects with matching dependencies on their primary branch, and
// their number of matches. They are sorted by id, follow the given id and are at most limit. It
// reports whether there are more (docs/reference/dependencies.md).
func (tx *Tx) DependencyProjects(
	ctx context.Context, f model.DependencyFilter, afterID int64, limit int,
) ([]model.DependencyProject, bool, error) {
	list := []model.DependencyProject{}
	q, err := tx.newDependencyQuery(ctx, f)
	if err != nil || q.nothing {
		return list, false, err
	}
	for len(list) <= limit {
		ids, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (id int64, err error) { return id, r.Scan(&id) },
			`SELECT DISTINCT project_id FROM inventory WHERE deployment_id = $1 AND project_id > $2 ORDER BY `+
				`project_id LIMIT $3`, afterID, dependencyProjectStep)
		if err != nil {
			return nil, false, err
		}
		if len(ids) == 0 {
			break
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
	list, more := sqldb.Page(list, limit)
	return list, more, nil
}

// countByProject counts the matches per project. ids are ascending; projects without a match are
// omitted.
func (q *dependencyQuery) countByProject(ctx context.Context, ids []int64) ([]model.DependencyProject, error) {
	lockfiles, err := q.lockfiles(ctx, `i.project_id >= ? AND i.project_id <= ?`, ids[0], ids[len(ids)-1])
	if err != nil {
		return nil, err
	}
	counts, err := q.count(ctx, lockfiles)
	if err != nil {
		return nil, err
	}
	found := map[int64]int{}
	for _, l := range lockfiles {
		if n := counts[l.inventory]; n > 0 {
			found[l.project] += n
		}
	}
	in, arg := q.tx.In("id", 2, slices.Sorted(maps.Keys(found)))
	return sqldb.Many(ctx, q.tx, func(r sqldb.Row) (p model.DependencyProject, err error) {
		err = r.Scan(&p.ID, &p.Name)
		p.Dependencies = found[p.ID]
		return p, err
	}, `SELECT id, name FROM project WHERE deployment_id = $1 AND `+in+` ORDER BY id`, arg)
}
