package check

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/scans"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Relation is a column that refers to a row of another table in the same deployment.
type Relation struct{ Table, Column, Other, Key string }

// Relations are the references without a foreign key. Tenant tables are distributed by deployment
// and written in one transaction, so there are no foreign keys between them. 0 is no reference.
var Relations = []Relation{
	{"finding", "project_id", "project", "id"},
	{"finding", "lineage_id", "lineage", "id"},
	{"finding", "rule_id", "rule", "id"},
	{"finding", "id", "finding_body", "finding_id"},
	{"finding_body", "finding_id", "finding", "id"},
	{"finding_event", "finding_id", "finding", "id"},
	{"finding_snippet", "finding_id", "finding", "id"},
	{"finding_subject", "finding_id", "finding", "id"},
	{"lineage", "project_id", "project", "id"},
	{"lineage_identity", "lineage_id", "lineage", "id"},
	{"scan", "project_id", "project", "id"},
	{"scan_account", "scan_id", "scan", "id"},
	{"inventory", "project_id", "project", "id"},
	{"dependency", "inventory_id", "inventory", "id"},
	{"dependency", "inventory_id", "inventory_content", "inventory_id"},
	{"inventory_content", "inventory_id", "inventory", "id"},
	{"dependency", "package_version_id", "package_version", "id"},
	{"package_version", "package_id", "package", "id"},
	{"project_tag", "project_id", "project", "id"},
	{"project_alias", "project_id", "project", "id"},
	{"policy_rule", "policy_id", "policy", "id"},
	{"policy_rule", "rule_id", "rule", "id"},
	{"triage_event", "lineage_id", "lineage", "id"},
	{"inventory_graph", "inventory_id", "inventory", "id"},
	{"agent_scan", "scan_id", "scan", "id"},
	{"exception_statement", "exception_id", "exception", "id"},
	{"exception_name", "exception_id", "exception", "id"},
	{"exception_refusal", "project_id", "project", "id"},
	{"repository", "connection_id", "connection", "id"},
	{"repository", "project_id", "project", "id"},
	{"managed_run", "project_id", "project", "id"},
	{"managed_run_log", "run_id", "managed_run", "id"},
	{"managed_plan", "project_id", "project", "id"},
	{"change_request", "repository_id", "repository", "id"},
	{"change_comment", "repository_id", "repository", "id"},
	{"ticket_finding", "ticket_id", "ticket", "id"},
	{"ticket_finding", "lineage_id", "lineage", "id"},
	{"ticket_finding", "finding_id", "finding", "id"},
	{"webhook_delivery", "connection_id", "connection", "id"},
	{"notification", "rule_id", "notification_rule", "id"},
	{"saved_view_default", "view_id", "saved_view", "id"},
	{"exception", "project_id", "project", "id"},
	{"exception_finding", "exception_id", "exception", "id"},
	{"exception_finding", "lineage_id", "lineage", "id"},
	{"finding_comment", "lineage_id", "lineage", "id"},
	{"finding_comment_mention", "comment_id", "finding_comment", "id"},
}

// CheckRows checks the consistency of the deployment's rows and calls report with the faults of each
// check. It checks references, the feed, counts of scans, decisions, lockfile contents and tickets.
func (tx *Tx) CheckRows(ctx context.Context, report func(check string, faults []string)) error {
	ended := false // damage ended the transaction
	for _, check := range []struct {
		name string
		run  func(context.Context) ([]string, error)
	}{
		{"references between rows", tx.checkRelations},
		{"change feed", tx.checkFeed},
		{"scan counts", tx.checkScans},
		{"decisions and their records", tx.checkDecisions},
		{"lockfile contents", tx.checkContents},
		{"tickets of findings", tx.CheckTickets},
	} {
		if ended {
			report(check.name, []string{"skipped, because the damage above ended the check of this deployment"})
			continue
		}
		faults, err := check.run(ctx)
		if model.OutageOf(err) == model.ErrDamaged {
			faults, err, ended = append(faults, err.Error()), nil, tx.OnPostgres()
		}
		if err != nil {
			return fmt.Errorf("check %s: %w", check.name, err)
		}
		report(check.name, sqldb.FirstFaults(faults))
	}
	return nil
}

func (tx *Tx) checkRelations(ctx context.Context) (faults []string, err error) {
	for _, r := range Relations {
		lost, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64], `SELECT DISTINCT a.`+r.Column+` FROM `+r.Table+` a LEFT JOIN `+
			r.Other+` b ON b.deployment_id = a.deployment_id AND b.`+r.Key+` = a.`+r.Column+
			` WHERE a.deployment_id = $1 AND a.`+r.Column+` <> 0 AND b.`+r.Key+` IS NULL ORDER BY 1`)
		if err != nil {
			return faults, err
		}
		for _, id := range lost {
			faults = append(faults, fmt.Sprintf("%s has rows with the %s %d, missing in %s",
				r.Table, r.Column, id, r.Other))
		}
	}
	return faults, nil
}

// checkFeed checks that the feed contains each version since the last pruned one.
func (tx *Tx) checkFeed(ctx context.Context) (faults []string, err error) {
	const query = `SELECT COUNT(DISTINCT c.version), COALESCE(MAX(c.version), 0), (SELECT pruned_version FROM deployment
		WHERE id = $1)
		FROM change c WHERE c.deployment_id = $1 AND c.version > (SELECT pruned_version FROM deployment WHERE id = $1)`
	var had, newest, pruned int64
	_, err = sqldb.One(ctx, tx, func(r sqldb.Row) (struct{}, error) {
		return struct{}{}, r.Scan(&had, &newest, &pruned)
	}, query)
	if err != nil {
		return nil, err
	}
	if more := had - (model.Commits(tx.Version()) - model.Commits(pruned)); more != 0 {
		faults = append(faults, fmt.Sprintf("the feed has %+d versions compared with the deployment", more))
	}
	if newest > tx.Version() {
		faults = append(faults, fmt.Sprintf("the feed has version %d, the deployment is at %d", newest, tx.Version()))
	}
	return faults, nil
}

// checkScans checks that the findings reported by scans exist and belong to the project of the
// scan.
func (tx *Tx) checkScans(ctx context.Context) (faults []string, err error) {
	known := map[int64]int64{} // project by finding
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id, project int64
		err := r.Scan(&id, &project)
		known[id] = project
		return err
	}, `SELECT id, project_id FROM finding WHERE deployment_id = $1`)
	if err != nil {
		return nil, err
	}
	return faults, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var scan, project int64
		var runs []byte
		if err := r.Scan(&scan, &project, &runs); err != nil {
			return err
		}
		ids, err := scans.UnpackRuns(runs)
		if err != nil {
			faults = append(faults, fmt.Sprintf("the reported findings of scan %d cannot be read", scan))
		}
		lost := 0
		for _, id := range ids {
			if known[id] != project {
				lost++
			}
		}
		if lost > 0 {
			faults = append(
				faults, fmt.Sprintf("scan %d reported %d findings; its project lacks %d", scan, len(ids), lost),
			)
		}
		return nil
	},
		`SELECT s.id, s.project_id, a.reported FROM scan_account a JOIN scan s ON s.deployment_id = a.deployment_id
			AND s.id = a.scan_id
		WHERE a.deployment_id = $1 ORDER BY s.id`)
}

// CountFindings counts the deployment's stored findings.
func (tx *Tx) CountFindings(ctx context.Context) (map[FindingCount]int, error) {
	counts := map[FindingCount]int{}
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var c FindingCount
		var state model.State
		var triage model.TriageState
		var n int
		err := r.Scan(&c.ProjectID, &c.IssueType, &state, &triage, &n)
		c.Status = model.StatusOf(state, triage)
		counts[c] += n
		return err
	},
		`SELECT f.project_id, f.issue_type, f.state, l.triage_state, COUNT(*) FROM finding f
			JOIN lineage l ON l.deployment_id = f.deployment_id AND l.id = f.lineage_id
		WHERE f.deployment_id = $1 GROUP BY f.project_id, f.issue_type, f.state, l.triage_state`)
	return counts, err
}

// FindingCount is the key by which findings are counted.
type FindingCount struct {
	ProjectID int64
	IssueType model.IssueType
	Status    model.Status // zero for removed findings
}
