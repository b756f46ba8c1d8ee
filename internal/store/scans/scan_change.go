package scans

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// EventNew is the kind of ScanChanges for findings that a scan saw first. It does not occur in
// histories, because the finding's row contains the scan.
const EventNew model.FindingEventKind = "new"

// ScanChange is a change of a finding by a scan.
type ScanChange struct {
	Kind      model.FindingEventKind
	Detail    string // JSON, or empty
	FindingID int64
	IssueType model.IssueType
	Severity  model.Severity
	State     model.State // current state
	RuleName  string
	Path      string // current path
	Line      int
}

// scanChanges selects the changes by scan $4 on its ref. It starts at the findings of the ref and
// their events, which have indexes. Precedents are excluded because they accompany new findings,
// and merges because they accompany removals.
const scanChanges = `
	SELECT CAST('new' AS TEXT) AS kind, CAST('' AS TEXT) AS detail_json, f.id, f.issue_type, f.severity, f.state,
	f.rule_name, f.path, f.line
	FROM finding f WHERE f.deployment_id = $1 AND f.project_id = $2 AND f.ref = $3 AND f.first_scan_id = $4
	UNION ALL
	SELECT e.kind, e.detail_json, f.id, f.issue_type, f.severity, f.state, f.rule_name, f.path, f.line
	FROM finding f JOIN finding_event e ON e.deployment_id = f.deployment_id AND e.finding_id = f.id
	WHERE f.deployment_id = $1 AND f.project_id = $2 AND f.ref = $3 AND e.scan_id = $4 AND e.kind NOT IN ('precedent',
	'merged')`

func scanScanChange(r sqldb.Row) (c ScanChange, err error) {
	return c, r.Scan(&c.Kind, &c.Detail, &c.FindingID, &c.IssueType, &c.Severity, &c.State, &c.RuleName, &c.Path, &c.Line)
}

// ScanChanges returns the changes by a scan on its ref, by kind and worst first. It also returns
// the count of each kind. An empty kind selects all.
func (tx *Tx) ScanChanges(
	ctx context.Context, s model.Scan, kind model.FindingEventKind, skip, limit int,
) (changes []ScanChange, counts map[model.FindingEventKind]int, err error) {
	counts = map[model.FindingEventKind]int{}
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var kind string
		var n int
		err := r.Scan(&kind, &n)
		counts[model.FindingEventKind(kind)] = n
		return err
	}, `SELECT kind, count(*) FROM (`+scanChanges+`) c GROUP BY kind`, s.ProjectID, s.Ref, s.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("the changes of scan %d: %w", s.ID, err)
	}
	changes, err = sqldb.Many(ctx, tx, scanScanChange,
		`SELECT kind, detail_json, id, issue_type, severity, state, rule_name, path, line FROM (`+scanChanges+
			`) c WHERE $5 IN ('', kind) ORDER BY kind, severity DESC, id LIMIT $6 OFFSET $7`, s.ProjectID, s.Ref, s.ID,
		string(kind), limit, skip)
	return changes, counts, err
}

// SourceCount is the number of unresolved findings of a source.
type SourceCount struct {
	Source string
	Count  int
}

// UnresolvedBySource counts the unresolved findings of a ref by source.
func (tx *Tx) UnresolvedBySource(ctx context.Context, projectID int64, ref string) ([]SourceCount, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (c SourceCount, err error) { return c, r.Scan(&c.Source, &c.Count) }, `
		SELECT source, count(*) FROM finding WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND state = $4
		GROUP BY source ORDER BY source`, projectID, ref, int64(model.Unresolved))
}

// ScansWithUnread returns at most limit scans since a time that could not read some of their
// lockfiles, newest first. Scans followed by a later one of their ref and source are omitted
// (docs/reference/lockfiles.md).
func (tx *Tx) ScansWithUnread(ctx context.Context, since time.Time, limit int) ([]model.Scan, error) {
	return sqldb.Many(ctx, tx, ScanScan, `SELECT `+ScanColumns+` FROM scan s
		WHERE deployment_id = $1 AND started_at >= $2 AND unread_json <> '[]' AND NOT EXISTS (
			SELECT 1 FROM scan n WHERE n.deployment_id = $1 AND n.project_id = s.project_id AND n.ref = s.ref
			AND n.source = s.source
				AND (n.started_at > s.started_at OR n.started_at = s.started_at AND n.id > s.id))
		ORDER BY started_at DESC, id DESC LIMIT $3`, since, limit)
}
