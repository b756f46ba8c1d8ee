package check

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// checkDecisions checks that the data behind decisions exists: identities of findings, the triage
// trail, accounts of scans and VEX statements.
func (tx *Tx) checkDecisions(ctx context.Context) (faults []string, err error) {
	checks := []struct {
		fault, query string
		args         []any
	}{
		{
			"finding %d is live, but its identity has no lineage",
			`SELECT f.id FROM finding f LEFT JOIN lineage_identity i ON i.deployment_id = f.deployment_id
			AND i.project_id = f.project_id AND i.kind = f.identity_kind AND i.hash = f.identity_hash
			WHERE f.deployment_id = $1 AND f.state IN ($2, $3) AND i.lineage_id IS NULL ORDER BY f.id`,
			[]any{int64(model.Unresolved), int64(model.Muted)},
		},
		{
			"lineage %d has a decision, but no row in triage_event",
			`SELECT l.id FROM lineage l WHERE l.deployment_id = $1 AND l.triage_state <> $2 AND NOT EXISTS (
			SELECT 1 FROM triage_event e WHERE e.deployment_id = l.deployment_id AND e.lineage_id = l.id) ORDER BY l.id`,
			[]any{int64(model.TriageUntriaged)},
		},
		{
			"VEX document %d has a wrong number of statements",
			`SELECT d.id FROM exception d WHERE d.deployment_id = $1 AND d.state <= 2 AND d.statements <> (
			SELECT COUNT(*) FROM exception_statement s WHERE s.deployment_id = d.deployment_id AND s.exception_id = d.id)
			ORDER BY d.id`,
			nil,
		},
		{
			"deployment %d has a wrong number of open exception requests",
			`SELECT d.id FROM deployment d WHERE d.id = $1 AND d.open_requests <> (
			SELECT COUNT(*) FROM exception r WHERE r.deployment_id = d.id AND r.state = $2)`,
			[]any{int64(model.ExceptionRequested)},
		},
	}
	accounts, err := tx.hasAllAccounts(ctx)
	if err != nil {
		return nil, err
	}
	if accounts {
		checks = append(checks, checks[0])
		checks[len(checks)-1].fault = "scan %d was applied, but has no row in scan_account"
		checks[len(checks)-
			1].query = `SELECT s.id FROM scan s LEFT JOIN scan_account a ON a.deployment_id = s.deployment_id
				AND a.scan_id = s.id
			WHERE s.deployment_id = $1 AND s.outcome = $2 AND a.scan_id IS NULL ORDER BY s.id`
		checks[len(checks)-1].args = []any{int64(model.ScanApplied)}
	}
	for _, c := range checks {
		ids, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64], c.query, c.args...)
		if err != nil {
			return faults, err
		}
		for _, id := range ids {
			faults = append(faults, fmt.Sprintf(c.fault, id))
		}
	}
	return faults, nil
}

// hasAllAccounts reports whether each applied scan must have an account. Databases created before
// the baseline may contain scans without one.
func (tx *Tx) hasAllAccounts(ctx context.Context) (bool, error) {
	older, err := sqldb.One(ctx, tx.Session, sqldb.Scalar[int64],
		`SELECT COUNT(*) FROM goose_db_version WHERE version_id > 0 AND version_id < $1`, int64(sqldb.Baseline))
	return older == 0, err
}
