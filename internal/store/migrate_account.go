package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
)

// accountVersion is the migration that takes findings out of the accounts of scans
// that went when two projects became one, accountAgainVersion the one that looks at
// all projects: the first knew them by their names from before, which another
// project may have taken since.
const (
	accountVersion      = 34
	accountAgainVersion = 47
)

// forgetMergedFindings has scans of projects with another name from before no longer
// say that they reported findings which their project has not: those went as the
// other project had them too, and which ones took their place is not known.
func (e *engine) forgetMergedFindings(ctx context.Context, sqlTx *sql.Tx) error {
	return e.forgetFindings(ctx, sqlTx, `SELECT DISTINCT deployment_id, project_id FROM project_alias ORDER BY deployment_id, project_id`,
		func(context.Context, *Tx, []int64) ([]int64, error) { return nil, nil })
}

// forgetGoneFindings has scans of all projects no longer say that they reported
// findings which are not there at all. Findings go with their project, and with a
// merge of it: nothing else is forgotten by this.
func (e *engine) forgetGoneFindings(ctx context.Context, sqlTx *sql.Tx) error {
	return e.forgetFindings(ctx, sqlTx, `SELECT deployment_id, id FROM project ORDER BY deployment_id, id`,
		func(ctx context.Context, tx *Tx, ids []int64) ([]int64, error) {
			in, list := tx.in("id", 2, ids)
			return many(ctx, tx, scalar[int64], `SELECT id FROM finding WHERE deployment_id = $1 AND `+in, list)
		})
}

// forgetFindings has the scans of some projects name only findings that their project
// has. Spare tells which of the others are named all the same.
func (e *engine) forgetFindings(ctx context.Context, sqlTx *sql.Tx, projects string, spare func(context.Context, *Tx, []int64) ([]int64, error)) error {
	q := &session{engine: e, tx: sqlTx}
	type tenantProject struct{ deployment, project int64 }
	list, err := many(ctx, q, func(r row) (p tenantProject, err error) { return p, r.Scan(&p.deployment, &p.project) }, projects)
	if err != nil {
		return err
	}
	for _, p := range list {
		tx := newTx(q, redoubt.Deployment{ID: p.deployment}, time.Time{}, redoubt.Actor{})
		if err := tx.forgetFindings(ctx, p.project, spare); err != nil {
			return fmt.Errorf("the scans of project %d: %w", p.project, err)
		}
	}
	return nil
}

// reportedBy is what a scan reported, by ids.
type reportedBy struct {
	scan int64
	ids  []int64
}

func (tx *Tx) forgetFindings(ctx context.Context, projectID int64, spare func(context.Context, *Tx, []int64) ([]int64, error)) error {
	accounts, err := tx.reportedBy(ctx, projectID)
	if err != nil || len(accounts) == 0 {
		return err
	}
	list, err := many(ctx, tx, scalar[int64], `SELECT id FROM finding WHERE deployment_id = $1 AND project_id = $2`, projectID)
	if err != nil {
		return err
	}
	gone := map[int64]bool{}
	for _, a := range accounts {
		for _, id := range a.ids {
			gone[id] = true
		}
	}
	for _, id := range list {
		delete(gone, id)
	}
	if list, err = spare(ctx, tx, slices.Sorted(maps.Keys(gone))); err != nil {
		return err
	}
	for _, id := range list {
		delete(gone, id)
	}
	for _, a := range accounts {
		is := slices.DeleteFunc(slices.Clone(a.ids), func(id int64) bool { return gone[id] })
		if len(is) == len(a.ids) {
			continue
		}
		if _, err := tx.exec(ctx, `UPDATE scan_account SET reported = $3 WHERE deployment_id = $1 AND scan_id = $2`, a.scan, packRuns(is)); err != nil {
			return err
		}
	}
	return nil
}

// reportedBy reads what the scans of a project reported. One that cannot be read is
// left to redoubt check: it keeps no server from its start.
func (tx *Tx) reportedBy(ctx context.Context, projectID int64) (list []reportedBy, err error) {
	return list, each(ctx, tx, func(r row) error {
		var a reportedBy
		var runs []byte
		if err := r.Scan(&a.scan, &runs); err != nil {
			return err
		}
		if ids, err := unpackRuns(runs); err == nil {
			a.ids = ids
			list = append(list, a)
		}
		return nil
	}, `SELECT a.scan_id, a.reported FROM scan_account a JOIN scan s ON s.deployment_id = a.deployment_id AND s.id = a.scan_id
		WHERE a.deployment_id = $1 AND s.project_id = $2 ORDER BY a.scan_id`, projectID)
}
