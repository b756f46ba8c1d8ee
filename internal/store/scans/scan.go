package scans

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ScanColumns are the columns of table scan that ScanScan reads.
const ScanColumns = `id, project_id, ref, commit_hash, source, started_at, completed_at, exit_code, is_full, products,
	status, outcome,
	code, secrets, supply_chain, total_micros, digest, error, unread_json, muted, run_id`

// ScanScan reads a scan from a row of ScanColumns.
func ScanScan(r sqldb.Row) (s model.Scan, err error) {
	var exit, total sql.NullInt64
	err = r.Scan(&s.ID, &s.ProjectID, &s.Ref, &s.Commit, &s.Source, sqldb.Instant(&s.StartedAt),
		sqldb.Instant(&s.CompletedAt), &exit, &s.Full,
		&s.Products, &s.Status, &s.Outcome, &s.Counts.Code, &s.Counts.Secrets, &s.Counts.SupplyChain, &total,
		sqldb.Digest(&s.Digest), &s.Error, sqldb.Decoded(&s.Unread), &s.Muted, &s.RunID)
	s.ExitCode, s.TotalTime = int(exit.Int64), -1
	if total.Valid {
		s.TotalTime = time.Duration(total.Int64) * time.Microsecond
	}
	return s, err
}

// scanRow returns the values of ScanColumns.
func scanRow(s model.Scan) []any {
	var exit, total any
	if !s.CompletedAt.IsZero() {
		exit = s.ExitCode
	}
	if s.TotalTime >= 0 {
		total = s.TotalTime.Microseconds()
	}
	return []any{
		s.ID, s.ProjectID, s.Ref, s.Commit, s.Source, s.StartedAt,
		s.CompletedAt, exit, s.Full, s.Products, s.Status, s.Outcome,
		s.Counts.Code, s.Counts.Secrets, s.Counts.SupplyChain, total, s.Digest,
		s.Error, sqldb.Encoded(append([]string{}, s.Unread...)), s.Muted, s.RunID,
	}
}

// scanImage is the content of audit events about a scan.
type scanImage struct {
	ProjectID int64               `json:"project_id"`
	Ref       string              `json:"ref"`
	Commit    string              `json:"commit"`
	Source    string              `json:"source"`
	Full      bool                `json:"full"`
	Status    string              `json:"status"`
	Outcome   model.ScanOutcome   `json:"outcome"`
	Counts    model.FindingCounts `json:"counts"`
	Error     string              `json:"error,omitempty"`
}

func imageOfScan(s model.Scan) scanImage {
	return scanImage{s.ProjectID, s.Ref, s.Commit, s.Source, s.Full, s.Status.String(), s.Outcome, s.Counts, s.Error}
}

// AddScan stores a scan of a project and returns its id.
func (tx *Tx) AddScan(ctx context.Context, s model.Scan) (int64, error) {
	if _, err := tx.Project(ctx, s.ProjectID); err != nil {
		return 0, err
	}
	id, err := tx.NewID(ctx, seqScan)
	if err != nil {
		return 0, err
	}
	s.ID, s.RunID = id, cmp.Or(s.RunID, tx.RunID())
	if err := tx.Insert(ctx, `scan (deployment_id, `+ScanColumns+`, applied_at)`, [][]any{
		append(scanRow(s), tx.appliedAt(s)),
	}, ""); err != nil {
		return 0, err
	}
	tx.Audit("scan.create", sqldb.Subject("scan", id), nil, imageOfScan(s))
	tx.NotifyFailed(s)
	return id, nil
}

// Scan returns a scan by id.
func (tx *Tx) Scan(ctx context.Context, id int64) (model.Scan, error) {
	s, err := sqldb.One(ctx, tx, ScanScan, `SELECT `+ScanColumns+` FROM scan WHERE deployment_id = $1 AND id = $2`, id)
	if err != nil {
		return s, fmt.Errorf("scan %d: %w", id, err)
	}
	return s, nil
}

// FinishScan stores the end of a scan: completion time, exit code, status, outcome, products,
// counts, digest and error. Project, ref, commit, source, start time, kind and managed run stay as
// set by AddScan.
func (tx *Tx) FinishScan(ctx context.Context, s model.Scan) error {
	before, err := tx.Scan(ctx, s.ID)
	if err != nil {
		return err
	}
	s.ProjectID, s.Ref, s.Commit, s.Source = before.ProjectID, before.Ref, before.Commit, before.Source
	s.StartedAt, s.Full, s.RunID = before.StartedAt, before.Full, before.RunID
	row := scanRow(s)
	// By the order of ScanColumns, variable columns start at completed_at, skip is_full and end
	// before run_id.
	changed := slices.Concat([]any{s.ID}, row[6:8], row[9:len(row)-1], []any{tx.appliedAt(s)})
	err = tx.Write(ctx, `
		UPDATE scan SET completed_at = $3, exit_code = $4, products = $5, status = $6, outcome = $7,
			code = $8, secrets = $9, supply_chain = $10, total_micros = $11, digest = $12, error = $13, unread_json = $14,
			muted = $15, applied_at = $16
		WHERE deployment_id = $1 AND id = $2`, changed...)
	if err != nil {
		return err
	}
	tx.Audit("scan.finish", sqldb.Subject("scan", s.ID), imageOfScan(before), imageOfScan(s))
	if s.Status != model.ScanError { // for other scans PutScanGate follows
		return nil
	}
	tx.NotifyFailed(s)
	return tx.EnqueueStatusUpdate(ctx, s.ProjectID, s.Commit)
}

// SetScanCounts stores the counts of a scan of this transaction, which were unknown when it was
// stored.
func (tx *Tx) SetScanCounts(ctx context.Context, scanID int64, c model.FindingCounts) error {
	_, err := tx.Exec(ctx, `UPDATE scan SET code = $3, secrets = $4, supply_chain = $5 WHERE deployment_id = `+
		`$1 AND id = $2`, scanID, c.Code, c.Secrets, c.SupplyChain)
	return err
}

// appliedAt returns the sort key of applied scans by commit order, or 0 for other scans.
func (tx *Tx) appliedAt(s model.Scan) int64 {
	if s.Outcome != model.ScanApplied {
		return 0
	}
	return tx.Now().UnixMicro()
}

// ScanOfUpload returns the newest applied scan of a project's ref whose upload had the digest, or
// model.ErrNotFound.
func (tx *Tx) ScanOfUpload(ctx context.Context, projectID int64, ref string, upload model.Digest) (model.Scan, error) {
	return sqldb.One(ctx, tx, ScanScan, `SELECT `+ScanColumns+
		` FROM scan WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND digest = $4 AND outcome = $5
		ORDER BY applied_at DESC, id DESC LIMIT 1`, projectID, ref, upload, model.ScanApplied)
}

// HasUpload reports whether a digest is that of the last applied scan of a source on the ref. It
// uses no transaction.
func (s *DB) HasUpload(
	ctx context.Context, deploymentID, projectID int64, ref string, upload model.Digest,
) (known bool, err error) {
	args := sqldb.Bind([]any{deploymentID, projectID, ref, upload, model.ScanApplied})
	err = s.RunQuery(ctx, func(ctx context.Context) error {
		return s.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM scan s
			WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND digest = $4 AND outcome = $5
			AND NOT EXISTS (SELECT 1 FROM scan n WHERE n.deployment_id = $1 AND n.project_id = $2 AND n.ref = $3
				AND n.source = s.source AND n.outcome = $5 AND (n.applied_at, n.id) > (s.applied_at, s.id)))`,
			args...).Scan(&known)
	})
	return known, err
}

// Stream returns the state of a source on a project's ref (docs/reference/scans.md). It is
// superseded if the commit was applied here before another one. Uploads without a commit do not
// take part, nor do those whose ref was deleted, so that a repeated scan applies again.
func (tx *Tx) Stream(ctx context.Context, projectID int64, ref, source, commit string) (s model.ScanStream, err error) {
	const applied = ` FROM scan WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND ` +
		`outcome = $5 `
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		return r.Scan(&s.LastScanID, sqldb.Digest(&s.LastDigest), sqldb.Instant(&s.LastFullStart),
			sqldb.Instant(&s.LastDiffStart), &s.Complete, &s.Superseded)
	}, `SELECT last.id, last.digest, every.full_start, every.diff_start, every.complete,
			$7 <> '' AND EXISTS (SELECT 1`+applied+`AND commit_hash NOT IN ('', $7) AND digest <> $8
				AND (applied_at, id) > (SELECT applied_at, id`+applied+
		`AND commit_hash = $7 AND digest <> $8 ORDER BY applied_at, id LIMIT 1))
		FROM (SELECT id, digest`+applied+`ORDER BY applied_at DESC, id DESC LIMIT 1) AS last
		CROSS JOIN (SELECT MAX(CASE WHEN is_full = 1 THEN started_at END) AS full_start, MAX(CASE WHEN is_full = 0 THEN
		started_at END) AS diff_start,
			COUNT(CASE WHEN is_full = 1 AND status <> $6 THEN 1 END) > 0 AS complete`+applied+`) AS every`,
		projectID, ref, source, model.ScanApplied, model.ScanError, commit, model.Digest{})
	return s, err
}

// FailingScans returns the newest scan since a time of each project where it failed, newest first
// and at most limit.
func (tx *Tx) FailingScans(ctx context.Context, since time.Time, limit int) ([]model.Scan, error) {
	return sqldb.Many(ctx, tx, ScanScan, `SELECT `+ScanColumns+` FROM scan s
		WHERE deployment_id = $1 AND started_at >= $2 AND status = $3 AND NOT EXISTS (
			SELECT 1 FROM scan n WHERE n.deployment_id = $1 AND n.project_id = s.project_id
				AND (n.started_at > s.started_at OR n.started_at = s.started_at AND n.id > s.id))
		ORDER BY started_at DESC, id DESC LIMIT $4`, since, int64(model.ScanError), limit)
}

// InvalidateUploads replaces the upload digests of a project, or of all projects if projectID is 0.
// Every later upload is then parsed. Superseded commits are still recognized.
func (tx *Tx) InvalidateUploads(ctx context.Context, projectID int64) error {
	var none model.Digest
	if _, err := rand.Read(none[:]); err != nil {
		return err
	}
	return tx.Write(ctx,
		`UPDATE scan SET digest = $3 WHERE deployment_id = $1 AND CAST($2 AS BIGINT) IN (0, project_id) AND digest <> $4`,
		projectID, none, model.Digest{})
}

const seqScan sqldb.Sequence = "scan"
