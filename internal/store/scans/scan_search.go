package scans

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ScanCursor is the last scan of a page. The zero value is before the first page.
type ScanCursor struct {
	StartedAt time.Time
	ID        int64
}

// Scans returns at most limit scans that match a filter after the cursor, and reports whether there
// are more. They are sorted by start time and id, both descending (docs/reference/scans.md). The
// filter evaluates statuses at the time of the transaction; returned statuses are as stored, see
// model.Scan.StatusAt.
func (tx *Tx) Scans(
	ctx context.Context, f model.ScanFilter, after ScanCursor, limit int,
) (scans []model.Scan, more bool, err error) {
	w := sqldb.Where{Tx: tx.Tx}
	ids, all, err := tx.VisibleProjectIDs(ctx, f.Projects)
	if err != nil {
		return nil, false, err
	}
	if !all {
		w.In("project_id", ids)
	}
	scanFilter(&w, f, tx.Now())
	if after != (ScanCursor{}) {
		w.And(`started_at <= ? AND (started_at < ? OR id < ?)`, after.StartedAt, after.StartedAt, after.ID)
	}
	scans, err = sqldb.Many(ctx, tx, ScanScan, `SELECT `+ScanColumns+` FROM scan WHERE deployment_id = $1`+w.Text.String()+
		fmt.Sprintf(` ORDER BY started_at DESC, id DESC LIMIT %d`, limit+1), w.Args...)
	scans, more = sqldb.Page(scans, limit)
	return scans, more, err
}

// LatestScans returns the last added scan of each ref of a project, newest first and at most limit.
// Scans with any outcome are included.
func (tx *Tx) LatestScans(ctx context.Context, projectID int64, limit int) ([]model.Scan, error) {
	return sqldb.Many(ctx, tx, ScanScan, `SELECT `+ScanColumns+` FROM scan WHERE deployment_id = $1
		AND id IN (SELECT max(id) FROM scan WHERE deployment_id = $1 AND project_id = $2 GROUP BY ref)
		ORDER BY started_at DESC, id DESC LIMIT $3`, projectID, limit)
}

// CurrentScans returns the last applied scan of each project, ref and source if it started after
// since, newest first. It reports whether there are more than limit. Nil projects select all.
func (tx *Tx) CurrentScans(
	ctx context.Context, since time.Time, projects []int64, limit int,
) (scans []model.Scan, more bool, err error) {
	w := sqldb.Where{Tx: tx.Tx, Args: []any{since, model.ScanApplied}}
	if projects != nil {
		w.In("project_id", projects)
	}
	scans, err = sqldb.Many(ctx, tx, ScanScan,
		`SELECT `+ScanColumns+` FROM scan s WHERE deployment_id = $1 AND started_at > $2 AND outcome = $3`+w.Text.String()+`
		AND NOT EXISTS (SELECT 1 FROM scan n WHERE n.deployment_id = s.deployment_id AND n.project_id = s.project_id
		AND n.ref = s.ref AND n.source = s.source
			AND n.outcome = $3 AND (n.applied_at, n.id) > (s.applied_at, s.id))
		ORDER BY started_at DESC, id DESC LIMIT `+fmt.Sprint(limit+1), w.Args...)
	scans, more = sqldb.Page(scans, limit)
	return scans, more, err
}

// ScannedRefs returns the distinct refs with applied scans of projects, last scanned first. Nil
// projects select all.
func (tx *Tx) ScannedRefs(ctx context.Context, projects []int64) ([]string, error) {
	w := sqldb.Where{Tx: tx.Tx, Args: []any{model.ScanApplied}}
	if projects != nil {
		w.In("project_id", projects)
	}
	return sqldb.Many(ctx, tx, sqldb.Scalar[string],
		`SELECT ref FROM scan WHERE deployment_id = $1 AND outcome = $2 AND ref <> ''`+w.Text.String()+`
		GROUP BY ref ORDER BY MAX(id) DESC`, w.Args...)
}

func scanFilter(w *sqldb.Where, f model.ScanFilter, now time.Time) {
	if f.Ref != "" {
		w.And(`ref = ?`, f.Ref)
	}
	if f.ProjectID != 0 {
		w.And(`project_id = ?`, f.ProjectID)
	}
	if len(f.AnyOf) > 0 {
		w.In("project_id", f.AnyOf)
	}
	if f.Full != nil {
		w.And(`is_full = ?`, *f.Full)
	}
	if len(f.Products) > 0 {
		var wanted model.Products
		for _, product := range f.Products {
			wanted = wanted.With(product)
		}
		w.And(`products & ? <> 0`, wanted)
	}
	if len(f.Statuses) > 0 {
		anyStatus(w, f.Statuses, now.Add(-model.ScanTimeout))
	}
	if !f.Since.IsZero() {
		w.And(`started_at > ?`, f.Since)
	}
	if f.MinTime != nil {
		w.And(`total_micros >= ?`, secondsToMicros(*f.MinTime))
	}
	if f.MaxTime != nil {
		w.And(`total_micros <= ?`, secondsToMicros(*f.MaxTime))
	}
}

// anyStatus adds the condition that a scan has one of the statuses. A running scan that started
// before the deadline never finished.
func anyStatus(w *sqldb.Where, statuses []model.ScanStatus, deadline time.Time) {
	alternatives := make([]string, len(statuses))
	var args []any
	for i, status := range statuses {
		alternatives[i] = `status = ?`
		switch status {
		case model.ScanRunning:
			alternatives[i] = `status = ? AND started_at >= ?`
			args = append(args, status, deadline)
		case model.ScanNeverFinished:
			alternatives[i] = `status = ? AND started_at < ?`
			args = append(args, model.ScanRunning, deadline)
		default:
			args = append(args, status)
		}
	}
	w.And(`(`+strings.Join(alternatives, ` OR `)+`)`, args...)
}

// secondsToMicros rounds to the stored precision, so that a total time from a response finds its
// scan.
func secondsToMicros(seconds float64) int64 {
	switch micros := math.Round(seconds * 1e6); {
	case micros >= math.MaxInt64: // exceeds int64
		return math.MaxInt64
	case micros < 0 || math.IsNaN(micros): // lower than any total time
		return -1
	default:
		return int64(micros)
	}
}
