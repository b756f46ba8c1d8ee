package scans

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// EventNew is what ScanChanges calls the findings that a scan saw first. The
// history does not have it: their scan is in their row.
const EventNew model.FindingEventKind = "new"

// ScanChange is what a scan did to one finding.
type ScanChange struct {
	Kind      model.FindingEventKind
	Detail    string // JSON, or empty
	FindingID int64
	IssueType model.IssueType
	Severity  model.Severity
	State     model.State // now
	RuleName  string
	Path      string // now
	Line      int
}

// scanChanges finds what a scan ($4) did on its ref. It starts from the rows of
// the ref, which are found by their key, as are the events of each. A precedent
// is told of a finding that is new, and that one took in another is told with its
// removal: neither is anything more that the scan did.
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

// ScanChanges accounts for a scan: how many findings of its ref it did what to,
// and a stretch of them, by what was done, worst first: of one kind, or with an
// empty kind of all.
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
		return nil, nil, fmt.Errorf("what scan %d changed: %w", s.ID, err)
	}
	changes, err = sqldb.Many(ctx, tx, scanScanChange,
		`SELECT kind, detail_json, id, issue_type, severity, state, rule_name, path, line FROM (`+scanChanges+
			`) c WHERE $5 IN ('', kind) ORDER BY kind, severity DESC, id LIMIT $6 OFFSET $7`, s.ProjectID, s.Ref, s.ID,
		string(kind), limit, skip)
	return changes, counts, err
}

// SourceCount is how many findings of a source are unresolved.
type SourceCount struct {
	Source string
	Count  int
}

// UnresolvedBySource counts the unresolved findings of a ref by the source that
// reports them: a scan speaks for its own only.
func (tx *Tx) UnresolvedBySource(ctx context.Context, projectID int64, ref string) ([]SourceCount, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (c SourceCount, err error) { return c, r.Scan(&c.Source, &c.Count) }, `
		SELECT source, count(*) FROM finding WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND state = $4
		GROUP BY source ORDER BY source`, projectID, ref, int64(model.Unresolved))
}

// ScansWithUnread lists the scans since a time that could not read some of the
// lockfiles that they found and that no later scan of their ref and source
// followed, newest first, limit at most (docs/reference/lockfiles.md).
func (tx *Tx) ScansWithUnread(ctx context.Context, since time.Time, limit int) ([]model.Scan, error) {
	return sqldb.Many(ctx, tx, ScanScan, `SELECT `+ScanColumns+` FROM scan s
		WHERE deployment_id = $1 AND started_at >= $2 AND unread_json <> '[]' AND NOT EXISTS (
			SELECT 1 FROM scan n WHERE n.deployment_id = $1 AND n.project_id = s.project_id AND n.ref = s.ref
			AND n.source = s.source
				AND (n.started_at > s.started_at OR n.started_at = s.started_at AND n.id > s.id))
		ORDER BY started_at DESC, id DESC LIMIT $3`, since, limit)
}
