package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
)

// accountVersion is the migration that takes findings out of the accounts of scans
// that went when two projects became one.
const accountVersion = 34

// forgetMergedFindings has scans of projects with another name from before no longer
// say that they reported findings which their project has not: those went as the
// other project had them too, and which ones took their place is not known.
func (e *engine) forgetMergedFindings(ctx context.Context, sqlTx *sql.Tx) error {
	q := &session{engine: e, tx: sqlTx}
	type renamed struct{ deployment, project int64 }
	projects, err := many(ctx, q, func(r row) (p renamed, err error) { return p, r.Scan(&p.deployment, &p.project) },
		`SELECT DISTINCT deployment_id, project_id FROM project_alias ORDER BY deployment_id, project_id`)
	if err != nil {
		return err
	}
	for _, p := range projects {
		tx := newTx(q, redoubt.Deployment{ID: p.deployment}, time.Time{}, redoubt.Actor{})
		if err := tx.forgetMergedFindings(ctx, p.project); err != nil {
			return fmt.Errorf("the scans of project %d: %w", p.project, err)
		}
	}
	return nil
}

func (tx *Tx) forgetMergedFindings(ctx context.Context, projectID int64) error {
	type account struct {
		scan     int64
		reported []byte
	}
	accounts, err := many(ctx, tx, func(r row) (a account, err error) { return a, r.Scan(&a.scan, &a.reported) },
		`SELECT a.scan_id, a.reported FROM scan_account a JOIN scan s ON s.deployment_id = a.deployment_id AND s.id = a.scan_id
		WHERE a.deployment_id = $1 AND s.project_id = $2 ORDER BY a.scan_id`, projectID)
	if err != nil || len(accounts) == 0 {
		return err
	}
	list, err := many(ctx, tx, scalar[int64], `SELECT id FROM finding WHERE deployment_id = $1 AND project_id = $2`, projectID)
	if err != nil {
		return err
	}
	there := make(map[int64]bool, len(list))
	for _, id := range list {
		there[id] = true
	}
	for _, a := range accounts {
		ids, err := unpackRuns(a.reported)
		if err != nil {
			return fmt.Errorf("what scan %d reported: %w", a.scan, err)
		}
		packed := packRuns(slices.DeleteFunc(ids, func(id int64) bool { return !there[id] }))
		if bytes.Equal(packed, a.reported) {
			continue
		}
		if _, err := tx.exec(ctx, `UPDATE scan_account SET reported = $3 WHERE deployment_id = $1 AND scan_id = $2`, a.scan, packed); err != nil {
			return err
		}
	}
	return nil
}
