package findings

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// secretStep is the most occurrences that a page of secrets looks at in one go.
const secretStep = 5000

// SecretsPage lists secrets with all that is kept of them, by id, after the one
// with the given id, limit at most, and tells whether there are more. Removed
// ones are not listed (docs/reference/findings.md).
func (tx *Tx) SecretsPage(
	ctx context.Context, f model.SecretFilter, afterID int64, limit int,
) ([]Occurrence, bool, error) {
	seen, all, err := tx.VisibleProjectIDs(ctx, f.Visible)
	if err != nil {
		return nil, false, err
	}
	visible := func(projectID int64) bool { return all || slices.Contains(seen, projectID) }
	list := []Occurrence{}
	for step := limit + 1; len(list) <= limit; step = min(2*step, max(secretStep, limit+1)) {
		// The type stands in the text, so that the index on secrets applies.
		part, err := sqldb.Many(ctx, tx, scanOccurrence,
			occurrenceSelect+` AND f.issue_type = 3 AND f.id > $2 ORDER BY f.id LIMIT $3`, afterID, step)
		if err != nil {
			return nil, false, err
		}
		for _, o := range part {
			if visible(o.ProjectID) && keepsSecret(f, o) {
				list = append(list, o)
			}
		}
		if len(part) < step {
			break
		}
		afterID = part[len(part)-1].ID
	}
	list, more := sqldb.Page(list, limit)
	return list, more, nil
}

// keepsSecret reports whether an occurrence passes the filter, but for who may
// see it.
func keepsSecret(f model.SecretFilter, o Occurrence) bool {
	status := model.StatusOf(o.State, o.Lineage.Triage.State)
	return status != 0 && oneOf(f.Statuses, status) &&
		(f.Ref == "" || f.Ref == o.Ref) && !o.RelevantSince.Before(f.Since) &&
		oneOf(f.ProjectIDs, o.ProjectID) && oneOf(f.Severities, o.Severity) &&
		oneOf(f.SecretTypes, o.SecretType) && oneOf(f.ValidationStates, o.ValidationState)
}

// SecretRules tells which rules look for secrets: those that PutSecretRules was
// told of are true, those that only a policy serves to Semgrep are false.
func (tx *Tx) SecretRules(ctx context.Context) (map[model.SecretRule]bool, error) {
	rules := map[model.SecretRule]bool{}
	return rules, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var rule model.SecretRule
		var settled bool
		err := r.Scan(&rule.Tool, &rule.Name, &settled)
		rules[rule] = rules[rule] || settled
		return err
	}, `SELECT tool, name, settled FROM secret_rule WHERE deployment_id = $1
		UNION ALL SELECT 'semgrep', p.rule_name, 0 FROM policy_rule p JOIN rule r ON r.deployment_id = p.deployment_id
		AND r.id = p.rule_id
		WHERE p.deployment_id = $1 AND p.served = 1 AND r.issue_type = $2`, int64(model.Secrets))
}

// PutSecretRules remembers rules that look for secrets, of which there are no
// findings of code any more.
func (tx *Tx) PutSecretRules(ctx context.Context, rules []model.SecretRule) error {
	rows := model.Map(rules, func(r model.SecretRule) []any { return []any{r.Tool, r.Name, true} })
	return tx.Insert(ctx, `secret_rule (deployment_id, tool, name, settled)`, rows,
		`ON CONFLICT (deployment_id, tool, name) DO UPDATE SET settled = excluded.settled`)
}

// CodeFindings reads all findings of code of the rules, with their bodies, by
// id. It looks at every finding of the deployment, so it is for the seldom case
// that a rule becomes known.
func (tx *Tx) CodeFindings(ctx context.Context, rules []model.SecretRule) ([]model.FindingWrite, error) {
	names := make([]string, len(rules))
	wanted := make(map[model.SecretRule]bool, len(rules))
	for i, r := range rules {
		names[i], wanted[r] = r.Name, true
	}
	in, arg := tx.In("f.rule_name", 3, names)
	list := []model.FindingWrite{}
	return list, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var w model.FindingWrite
		err := r.Scan(append(findingFields(&w.Finding), &w.Body, &w.Evidence)...)
		if tool, _, _ := strings.Cut(w.Source, ":"); err == nil && wanted[model.SecretRule{Tool: tool, Name: w.RuleName}] {
			list = append(list, w)
		}
		return err
	}, `SELECT `+sqldb.Qualified("f", FindingColumns)+`, b.body, b.evidence_json
		FROM finding f JOIN finding_body b ON b.deployment_id = f.deployment_id AND b.finding_id = f.id
		WHERE f.deployment_id = $1 AND f.issue_type = $2 AND `+in+` ORDER BY f.id`, int64(model.SAST), arg)
}

// ConcealFindings writes findings of code anew that are secrets now, and drops
// all other identities of their lineages, which could be guessed from. What
// SQLite frees is overwritten; PostgreSQL keeps it until its vacuum.
func (tx *Tx) ConcealFindings(ctx context.Context, findings []model.FindingWrite) error {
	if err := tx.Shred(ctx); err != nil {
		return err
	}
	if err := tx.UpdateFindings(ctx, findings); err != nil {
		return err
	}
	if err := tx.InvalidateUploads(ctx, 0); err != nil { // they would be read otherwise now
		return err
	}
	lineages, counts := make([]int64, len(findings)), map[string]int{}
	for i, f := range findings {
		lineages[i] = f.LineageID
		counts[f.RuleName]++
	}
	in, arg := tx.In("lineage_id", 2, lineages)
	// A finding of another rule may be in the lineage: what that is known by stays.
	if err := tx.Write(ctx, `DELETE FROM lineage_identity WHERE deployment_id = $1 AND `+in+
		` AND kind <> $3 AND NOT EXISTS (
		SELECT 1 FROM finding f WHERE f.deployment_id = lineage_identity.deployment_id
		AND f.lineage_id = lineage_identity.lineage_id
			AND f.identity_kind = lineage_identity.kind AND f.identity_hash = lineage_identity.hash)`, arg,
		int64(model.IdentitySecret)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		tx.Audit("rule.conceal", "rule:"+name, nil, concealImage{counts[name]})
	}
	return nil
}

type concealImage struct {
	Findings int `json:"findings"`
}

// oneOf reports whether a value is in a list, of which an empty one does not
// filter.
func oneOf[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
}
