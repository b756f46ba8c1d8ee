package findings

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// secretStep limits the occurrences that SecretsPage reads at once.
const secretStep = 5000

// SecretsPage returns at most limit secrets after the given id, by id, and reports whether there
// are more. Removed findings are omitted (docs/reference/findings.md).
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
		// The type is a literal, so that the partial index on secrets is used.
		part, err := sqldb.Many(ctx, tx, scanOccurrence,
			occurrenceSelect+` AND f.issue_type = 3 AND f.id > $2 ORDER BY f.id LIMIT $3`, afterID, step)
		if err != nil {
			return nil, false, err
		}
		for _, o := range part {
			if visible(o.ProjectID) && matchesSecret(f, o) {
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

// matchesSecret reports whether an occurrence passes the filter, except for its visibility.
func matchesSecret(f model.SecretFilter, o Occurrence) bool {
	status := model.StatusOf(o.State, o.Lineage.Triage.State)
	return status != 0 && oneOf(f.Statuses, status) &&
		(f.Ref == "" || f.Ref == o.Ref) && !o.RelevantSince.Before(f.Since) &&
		oneOf(f.ProjectIDs, o.ProjectID) && oneOf(f.Severities, o.Severity) &&
		oneOf(f.SecretTypes, o.SecretType) && oneOf(f.ValidationStates, o.ValidationState)
}

// SecretRules returns the rules that detect secrets. The value is true for rules stored by
// PutSecretRules, and false for rules that only a policy serves to Semgrep.
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

// PutSecretRules stores rules that detect secrets and whose code findings were converted.
func (tx *Tx) PutSecretRules(ctx context.Context, rules []model.SecretRule) error {
	rows := model.Map(rules, func(r model.SecretRule) []any { return []any{r.Tool, r.Name, true} })
	return tx.Insert(ctx, `secret_rule (deployment_id, tool, name, settled)`, rows,
		`ON CONFLICT (deployment_id, tool, name) DO UPDATE SET settled = excluded.settled`)
}

// CodeFindings returns all code findings of the rules, with their bodies, by id. It reads all
// findings of the deployment, so it is only for newly detected secret rules.
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

// ConcealFindings rewrites code findings that turned out to be secrets. It deletes the other
// identities of their lineages, from which secrets could be guessed. SQLite overwrites the freed
// data; PostgreSQL retains it until its vacuum.
func (tx *Tx) ConcealFindings(ctx context.Context, findings []model.FindingWrite) error {
	if err := tx.Shred(ctx); err != nil {
		return err
	}
	if err := tx.UpdateFindings(ctx, findings); err != nil {
		return err
	}
	if err := tx.InvalidateUploads(ctx, 0); err != nil { // their results would differ now
		return err
	}
	lineages, counts := make([]int64, len(findings)), map[string]int{}
	for i, f := range findings {
		lineages[i] = f.LineageID
		counts[f.RuleName]++
	}
	in, arg := tx.In("lineage_id", 2, lineages)
	// The lineage may contain a finding of another rule, whose identity stays.
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

// oneOf reports whether a value is in a list. An empty list contains every value.
func oneOf[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
}
