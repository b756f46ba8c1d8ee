package findings

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// VisibleProjects returns all projects that the globs allow, by name.
func (tx *Tx) VisibleProjects(ctx context.Context, globs model.ProjectGlobs) ([]model.Project, error) {
	return tx.Projects(ctx, projects.ProjectQuery{Globs: globs})
}

// InventoryCommit returns the commit of the newest current inventory of a ref that has one, or an
// empty string.
func (tx *Tx) InventoryCommit(ctx context.Context, projectID int64, ref string) (string, error) {
	commits, err := sqldb.Many(ctx, tx, sqldb.Scalar[string], `
		SELECT commit_hash FROM inventory
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND commit_hash <> ''
		ORDER BY stated_at DESC, scan_id DESC LIMIT 1`, projectID, ref)
	if err != nil || len(commits) == 0 {
		return "", err
	}
	return commits[0], nil
}

// supplyChainSelect selects findings with lineage, body and rule.
var supplyChainSelect = `SELECT ` + sqldb.Qualified("f", FindingColumns) + `, ` + sqldb.Qualified("l", lineageColumns) +
	`, b.body, r.content_json
	FROM finding f
	JOIN lineage l ON l.deployment_id = f.deployment_id AND l.id = f.lineage_id
	JOIN finding_body b ON b.deployment_id = f.deployment_id AND b.finding_id = f.id
	JOIN rule r ON r.deployment_id = f.deployment_id AND r.id = f.rule_id
	WHERE f.deployment_id = $1`

// SupplyChainFindings calls visit with the unresolved supply-chain findings of a ref by id,
// including ignored ones. visit must not use the transaction.
func (tx *Tx) SupplyChainFindings(ctx context.Context, projectID int64, ref string,
	visit func(model.IndexedFinding, model.Rule, model.Lineage) error,
) error {
	return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var f model.IndexedFinding
		var l model.Lineage
		var rule model.Rule
		fields := append(findingFields(&f.Finding), lineageFields(&l)...)
		if err := r.Scan(append(fields, &f.Body, sqldb.Decoded(&rule))...); err != nil {
			return err
		}
		rule.ID = f.RuleID // not part of the content
		return visit(f, rule, l)
	}, supplyChainSelect+` AND f.project_id = $2 AND f.ref = $3 AND f.issue_type = $4 AND f.state = $5 ORDER BY f.id`,
		projectID, ref, int64(model.SCA), int64(model.Unresolved))
}
