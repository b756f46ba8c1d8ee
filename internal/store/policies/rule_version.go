package policies

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const servedSelect = `
	SELECT pr.id, pr.policy_id, pr.mode, pr.served, pr.last_change_at, pr.last_change_by, pr.rule_id, r.content_json,
		v.version, v.text_json, v.checked, v.starter
	FROM policy_rule pr JOIN rule r ON r.deployment_id = pr.deployment_id AND r.id = pr.rule_id
	JOIN rule_version v ON v.deployment_id = pr.deployment_id AND v.rule_name = pr.rule_name
	WHERE pr.deployment_id = $1 AND pr.served = 1 AND pr.removed = 0
		AND v.version = (SELECT MAX(n.version) FROM rule_version n WHERE n.deployment_id = $1 AND n.rule_name = pr.rule_name)`

func scanServed(r sqldb.Row) (s model.ServedRule, err error) {
	var ruleID int64
	var text string
	err = r.Scan(&s.ID, &s.PolicyID, &s.Mode, &s.Served, sqldb.Instant(&s.LastChangeAt), &s.LastChangeBy, &ruleID,
		sqldb.Decoded(&s.Rule),
		&s.Version, &text, &s.Checked, &s.Starter)
	s.Rule.ID, s.Text = ruleID, []byte(text) // the id is not part of the content
	return s, err
}

// ServedRules returns the rules that policies serve to scanners, with their newest texts, by id. A
// rule of several policies occurs once for each of them.
func (tx *Tx) ServedRules(ctx context.Context) ([]model.ServedRule, error) {
	return sqldb.Many(ctx, tx, scanServed, servedSelect+` ORDER BY pr.id`)
}

// RuleTexts returns the newest text of every rule that is or was served, by name.
func (tx *Tx) RuleTexts(ctx context.Context) (map[string][]byte, error) {
	texts := map[string][]byte{}
	return texts, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var name, text string
		err := r.Scan(&name, &text)
		texts[name] = []byte(text)
		return err
	}, `SELECT rule_name, text_json FROM rule_version WHERE deployment_id = $1 ORDER BY rule_name, version`)
}

// ListedRules returns the names of the rules that one of the policies lists, served or imported.
func (tx *Tx) ListedRules(ctx context.Context, policyIDs []int64) (map[string]bool, error) {
	listed := map[string]bool{}
	in, arg := tx.In("policy_id", 2, policyIDs)
	return listed, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		name, err := sqldb.Scalar[string](r)
		listed[name] = true
		return err
	}, `SELECT DISTINCT rule_name FROM policy_rule WHERE deployment_id = $1 AND removed = 0 AND `+in, arg)
}

// BlockingRules returns the rules in mode block of all policies, served or imported, by id.
func (tx *Tx) BlockingRules(ctx context.Context) ([]model.PolicyRule, error) {
	return sqldb.Many(
		ctx, tx, ScanPolicyRule, PolicyRuleSelect+notRemoved+` AND pr.mode = $2 ORDER BY pr.id`, model.ModeBlock,
	)
}

// RuleVersions returns the versions of a rule, oldest first. It is empty for a rule that was never
// served.
func (tx *Tx) RuleVersions(ctx context.Context, name string) ([]model.RuleVersion, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (v model.RuleVersion, err error) {
		var text string
		err = r.Scan(&v.Version, &text, &v.Checked, &v.Starter, sqldb.Instant(&v.AddedAt), &v.AddedBy)
		v.Text = []byte(text)
		return v, err
	}, `SELECT version, text_json, checked, starter, added_at, added_by FROM rule_version
		WHERE deployment_id = $1 AND rule_name = $2 ORDER BY version`, name)
}

// RemoveRule removes a rule from a policy, which no longer serves it. The next full scan of a
// project that has the rule from no other policy removes its findings
// (docs/explanation/life-of-a-finding.md). An unknown rule is model.ErrNotFound.
func (tx *Tx) RemoveRule(ctx context.Context, policyID int64, name string) error {
	p, err := sqldb.One(
		ctx, tx, ScanPolicyRule, PolicyRuleSelect+notRemoved+` AND pr.policy_id = $2 AND pr.rule_name = $3`, policyID, name,
	)
	if err != nil {
		return fmt.Errorf("rule %.80q of policy %d: %w", name, policyID, err)
	}
	err = tx.Write(ctx,
		`UPDATE policy_rule SET served = 0, removed = 1, mode = $3, last_change_at = $4, last_change_by = $5
		WHERE deployment_id = $1 AND id = $2`, p.ID, model.ModeMonitor, tx.Now(), tx.Actor().String())
	if err != nil {
		return err
	}
	tx.Change(sqldb.ChangePolicyRule, p.ID)
	tx.Audit("policy.remove_rule", sqldb.Subject("policy", policyID)+"/"+name, ruleModeImage{p.Mode.String()}, nil)
	return nil
}
