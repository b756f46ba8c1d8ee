package findings

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// UnresolvedFindings returns the unresolved findings of (project, ref, source) by id. Only id,
// identity, lineage, path and code hash are set.
func (tx *Tx) UnresolvedFindings(ctx context.Context, projectID int64, ref, source string) ([]model.Finding, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (f model.Finding, err error) {
		return f, r.Scan(&f.ID, &f.Identity.Kind, sqldb.Digest(&f.Identity.Hash), &f.LineageID, &f.Path,
			sqldb.Digest(&f.CodeHash))
	}, `SELECT id, identity_kind, identity_hash, lineage_id, path, code_hash FROM finding
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND state = $5
		ORDER BY +id`, projectID, ref, source, int64(model.Unresolved))
}

// UnresolvedOf returns the unresolved findings of (project, ref, source) with one of the rules or
// products.
func (tx *Tx) UnresolvedOf(
	ctx context.Context, projectID int64, ref, source string, rules []string, products []model.IssueType,
) ([]model.Finding, error) {
	isRule, ruleList := tx.In("rule_name", 6, rules)
	kinds := model.Map(products, func(p model.IssueType) int64 { return int64(p) })
	isProduct, productList := tx.In("issue_type", 7, kinds)
	return sqldb.Many(ctx, tx, ScanFinding, `SELECT `+FindingColumns+` FROM finding
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND state = $5 AND (`+
		isRule+` OR `+isProduct+`)
		ORDER BY +id`, projectID, ref, source, int64(model.Unresolved), ruleList, productList)
}

// UnresolvedCount counts the unresolved findings of (project, ref, source), at most most.
func (tx *Tx) UnresolvedCount(ctx context.Context, projectID int64, ref, source string, most int) (int, error) {
	return sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM (SELECT 1 FROM finding
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND state = $5 LIMIT $6) counted`,
		projectID, ref, source, int64(model.Unresolved), most)
}

// OpenFindings returns the unresolved findings of (project, ref, source) by id. Only the fields
// that gates use are set: id, identity, product, rule, path, line, state, severity, confidence,
// reachability, transitivity and whether it is malicious.
func (tx *Tx) OpenFindings(ctx context.Context, projectID int64, ref, source string) ([]model.Finding, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (f model.Finding, err error) {
		var flags int64
		err = r.Scan(&f.ID, &f.Identity.Kind, sqldb.Digest(&f.Identity.Hash), &f.IssueType, &f.RuleName, &f.Path, &f.Line,
			&f.State, &f.Severity, &f.Confidence, &f.Reachability, &f.Transitivity, &flags)
		f.Malicious = flags&FlagMalicious != 0
		return f, err
	},
		`SELECT id, identity_kind, identity_hash, issue_type, rule_name, path, line, state, severity, confidence,
			reachability, transitivity, flags FROM finding
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND state = $5 ORDER BY +id`, projectID,
		ref, source, int64(model.Unresolved))
}

// Occurrences returns the findings of (project, ref, source) with some identities, in any state.
// Only id, identity, lineage, state and the time of relevance are set. Unknown identities are
// omitted.
func (tx *Tx) Occurrences(
	ctx context.Context, projectID int64, ref, source string, ids []model.Identity,
) (map[model.Identity]model.Finding, error) {
	found := make(map[model.Identity]model.Finding, len(ids))
	for kind, hashes := range hashesByKind(ids) {
		in, arg := tx.In("identity_hash", 6, hashes)
		err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
			f := model.Finding{Identity: model.Identity{Kind: kind}}
			err := r.Scan(&f.ID, sqldb.Digest(&f.Identity.Hash), &f.LineageID, &f.State, sqldb.Instant(&f.RelevantSince))
			found[f.Identity] = f
			return err
		}, `SELECT id, identity_hash, lineage_id, state, relevant_since FROM finding
			WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND identity_kind = $5 AND `+in,
			projectID, ref, source, int64(kind), arg)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// FixedFindings returns the fixed findings of (project, ref, source) with some identities, by the
// scan that fixed them last. Only identity, path, line and code hash are set.
func (tx *Tx) FixedFindings(
	ctx context.Context, projectID int64, ref, source string, ids []model.Identity,
) (map[int64][]model.Finding, error) {
	found := map[int64][]model.Finding{}
	for kind, hashes := range hashesByKind(ids) {
		in, arg := tx.In("identity_hash", 8, hashes)
		err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
			f, scan := model.Finding{Identity: model.Identity{Kind: kind}}, int64(0)
			err := r.Scan(sqldb.Digest(&f.Identity.Hash), &f.Path, &f.Line, sqldb.Digest(&f.CodeHash), &scan)
			found[scan] = append(found[scan], f)
			return err
		}, `SELECT identity_hash, path, line, code_hash, COALESCE((SELECT e.scan_id FROM finding_event e
				WHERE e.deployment_id = f.deployment_id AND e.finding_id = f.id AND e.kind = $7 ORDER BY e.id DESC LIMIT 1), 0)
				FROM finding f
			WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND identity_kind = $5 AND state = $6
			AND `+
			in,
			projectID, ref, source, int64(kind), int64(model.Fixed), string(model.EventFixed), arg)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// LineagesOfFindings returns the current lineages of findings of the project, by finding id.
func (tx *Tx) LineagesOfFindings(ctx context.Context, projectID int64, ids []int64) (map[int64]int64, error) {
	found := make(map[int64]int64, len(ids))
	in, arg := tx.In("id", 3, ids)
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id, lineage int64
		err := r.Scan(&id, &lineage)
		found[id] = lineage
		return err
	}, `SELECT id, lineage_id FROM finding WHERE deployment_id = $1 AND project_id = $2 AND `+in, projectID, arg)
	return found, err
}
