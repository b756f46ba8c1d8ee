package projects

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ProjectsWithoutScan returns at most limit projects without a scan since a time, the longest
// inactive first. It also returns their total number.
func (tx *Tx) ProjectsWithoutScan(
	ctx context.Context, since time.Time, limit int,
) (projects []model.Project, total int, err error) {
	const silent = `AND (latest_scan_at IS NULL OR latest_scan_at < $2)`
	if total, err = sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT count(*) FROM project WHERE deployment_id = $1 `+silent,
		since); err != nil {
		return nil, 0, err
	}
	projects, err = tx.ProjectsWhere(ctx, silent+` ORDER BY coalesce(latest_scan_at, 0), id LIMIT $3`, since, limit)
	return projects, total, err
}

// ProjectsSilentSince returns the projects whose newest scan was in the interval (after, through].
// For projects without a scan the creation time is used.
func (tx *Tx) ProjectsSilentSince(ctx context.Context, after, through time.Time) ([]model.Project, error) {
	return tx.ProjectsWhere(ctx, `AND coalesce(latest_scan_at, created_at) > $2 AND coalesce(latest_scan_at, `+
		`created_at) <= $3 ORDER BY id`, after, through)
}

// ProjectNames returns the names of projects by id; unknown ids are omitted.
func (tx *Tx) ProjectNames(ctx context.Context, ids []int64) (map[int64]string, error) {
	in, arg := tx.In("id", 2, ids)
	refs, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (p projectRef, err error) { return p, r.Scan(&p.id, &p.name) },
		`SELECT id, name FROM project WHERE deployment_id = $1 AND `+in, arg)
	names := make(map[int64]string, len(refs))
	for _, p := range refs {
		names[p.id] = p.name
	}
	return names, err
}
