package policies

import (
	"context"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// PolicyRuleSelect selects rules of policies with the newest content of each.
const PolicyRuleSelect = `
	SELECT pr.id, pr.policy_id, pr.mode, pr.served, pr.removed, pr.last_change_at, pr.last_change_by, pr.rule_id,
	r.content_json
	FROM policy_rule pr JOIN rule r ON r.deployment_id = pr.deployment_id AND r.id = pr.rule_id
	WHERE pr.deployment_id = $1`

// notRemoved excludes rules that were removed from their policy.
const notRemoved = ` AND pr.removed = 0`

// ScanPolicyRule reads a rule of a policy from a row of PolicyRuleSelect.
func ScanPolicyRule(r sqldb.Row) (p model.PolicyRule, err error) {
	var ruleID int64
	err = r.Scan(&p.ID, &p.PolicyID, &p.Mode, &p.Served, &p.Removed, sqldb.Instant(&p.LastChangeAt), &p.LastChangeBy,
		&ruleID, sqldb.Decoded(&p.Rule))
	p.Rule.ID = ruleID // not part of the content
	return p, err
}

// PolicyRules returns at most limit rules of a policy after the given id, by id. It reports whether
// there are more. An unknown policy is model.ErrNotFound.
func (tx *Tx) PolicyRules(
	ctx context.Context, policyID, afterID int64, limit int,
) (rules []model.PolicyRule, more bool, err error) {
	return tx.PolicyRulesWithin(ctx, nil, policyID, afterID, limit)
}

// PolicyRulesWithin is PolicyRules for a token restricted by globs. Rules that are not served are
// included only if the token's projects have or had findings of them.
func (tx *Tx) PolicyRulesWithin(
	ctx context.Context, globs model.ProjectGlobs, policyID, afterID int64, limit int,
) (rules []model.PolicyRule, more bool, err error) {
	if _, err := tx.Policy(ctx, policyID); err != nil {
		return nil, false, err
	}
	own, all, err := tx.VisibleProjectIDs(ctx, globs)
	if err != nil {
		return nil, false, err
	}
	text, args := PolicyRuleSelect+notRemoved+` AND pr.policy_id = $2 AND pr.id > $3`, []any{policyID, afterID, limit + 1}
	if !all {
		in, list := tx.In("f.project_id", 5, own)
		text += ` AND (pr.served = 1 OR pr.rule_name IN (SELECT f.rule_name FROM finding f WHERE ` +
			`f.deployment_id = $1 AND ` + in + `))`
		args = append(args, list)
	}
	rules, err = sqldb.Many(ctx, tx, ScanPolicyRule, text+` ORDER BY pr.id LIMIT $4`, args...)
	rules, more = sqldb.Page(rules, limit)
	return rules, more, err
}

// PolicyRule returns a rule of a policy by its id there. An unknown or removed one is
// model.ErrNotFound.
func (tx *Tx) PolicyRule(ctx context.Context, policyID, id int64) (model.PolicyRule, error) {
	r, err := sqldb.One(
		ctx, tx, ScanPolicyRule, PolicyRuleSelect+notRemoved+` AND pr.policy_id = $2 AND pr.id = $3`, policyID, id,
	)
	if err != nil {
		return r, fmt.Errorf("rule %d of policy %d: %w", id, policyID, err)
	}
	return r, nil
}

// PolicyRuleNamed returns a rule of a policy by name. An unknown or removed one is
// model.ErrNotFound.
func (tx *Tx) PolicyRuleNamed(ctx context.Context, policyID int64, name string) (model.PolicyRule, error) {
	r, err := sqldb.One(
		ctx, tx, ScanPolicyRule, PolicyRuleSelect+notRemoved+` AND pr.policy_id = $2 AND pr.rule_name = $3`, policyID, name,
	)
	if err != nil {
		return r, fmt.Errorf("rule %.80q of policy %d: %w", name, policyID, err)
	}
	return r, nil
}

// PolicyRuleCount is the number of rules of a policy in one mode.
type PolicyRuleCount struct {
	PolicyID int64
	Mode     model.PolicyMode
	Rules    int
	Served   int // those served to scanners
}

// PolicyRuleCounts counts the rules of all policies by mode.
func (tx *Tx) PolicyRuleCounts(ctx context.Context) ([]PolicyRuleCount, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (c PolicyRuleCount, err error) {
		return c, r.Scan(&c.PolicyID, &c.Mode, &c.Rules, &c.Served)
	}, `
		SELECT pr.policy_id, pr.mode, count(*), sum(pr.served) FROM policy_rule pr
		WHERE pr.deployment_id = $1`+notRemoved+` GROUP BY pr.policy_id, pr.mode ORDER BY pr.policy_id, pr.mode`)
}

// FindPolicyRules returns rules of a policy by a part of their name, ignoring case, and by mode if
// nonzero. They are sorted by id and follow the given one. It reports whether there are more.
func (tx *Tx) FindPolicyRules(
	ctx context.Context, policyID int64, text string, mode model.PolicyMode, afterID int64, limit int,
) ([]model.PolicyRule, bool, error) {
	w := sqldb.Where{Tx: tx.Tx}
	w.And(`pr.policy_id = ? AND pr.id > ?`, policyID, afterID)
	if text != "" {
		w.And(`lower(pr.rule_name) LIKE ? ESCAPE '!'`, "%"+strings.NewReplacer("!", "!!", "%", "!%",
			"_", "!_").Replace(strings.ToLower(text))+"%")
	}
	if mode != 0 {
		w.And(`pr.mode = ?`, int64(mode))
	}
	rules, err := sqldb.Many(ctx, tx, ScanPolicyRule,
		PolicyRuleSelect+notRemoved+w.Text.String()+fmt.Sprintf(` ORDER BY pr.id LIMIT %d`, limit+1), w.Args...)
	rules, more := sqldb.Page(rules, limit)
	return rules, more, err
}

type ruleModeImage struct {
	Mode string `json:"mode"`
}

// SetRuleModes sets the mode of several rules of a policy, which were read in this transaction. It
// is equivalent to SetRuleMode for each of them.
func (tx *Tx) SetRuleModes(ctx context.Context, policyID int64, rules []model.PolicyRule, mode model.PolicyMode) error {
	if mode.String() == "" {
		return model.Invalid("mode", "the mode must be monitor, comment or block")
	}
	var ids []int64
	for _, r := range rules {
		if r.Mode == mode {
			continue
		}
		ids = append(ids, r.ID)
		tx.Change(sqldb.ChangePolicyRule, r.ID)
		tx.Audit("policy.set_rule_mode", strings.Join([]string{sqldb.Subject("policy", policyID), r.Rule.Name}, "/"),
			ruleModeImage{r.Mode.String()}, ruleModeImage{mode.String()})
	}
	if len(ids) == 0 {
		return nil
	}
	in, arg := tx.In("id", 6, ids)
	return tx.Write(ctx, `UPDATE policy_rule SET mode = $3, last_change_at = $4, last_change_by = $5 WHERE `+
		`deployment_id = $1 AND policy_id = $2 AND `+in,
		policyID, mode, tx.Now(), tx.Actor().String(), arg)
}

// SetRuleMode sets the effect of a rule of a policy on builds (docs/reference/policies.md) and
// records the actor in the rule. An unchanged mode has no effect. An unknown policy or rule is
// model.ErrNotFound.
func (tx *Tx) SetRuleMode(
	ctx context.Context, policyID int64, ruleName string, mode model.PolicyMode,
) (model.PolicyRule, error) {
	if mode.String() == "" {
		return model.PolicyRule{}, model.Invalid("mode", "the mode must be monitor, comment or block")
	}
	p, err := tx.PolicyRuleNamed(ctx, policyID, ruleName)
	if err != nil || p.Mode == mode {
		return p, err
	}
	before := ruleModeImage{p.Mode.String()}
	p.Mode, p.LastChangeAt, p.LastChangeBy = mode, tx.Now(), tx.Actor().String()
	err = tx.Write(ctx,
		`UPDATE policy_rule SET mode = $3, last_change_at = $4, last_change_by = $5 WHERE deployment_id = $1 AND id = $2`,
		p.ID, mode, p.LastChangeAt, p.LastChangeBy)
	if err != nil {
		return p, err
	}
	tx.Change(sqldb.ChangePolicyRule, p.ID)
	tx.Audit("policy.set_rule_mode", strings.Join([]string{sqldb.Subject("policy", policyID), ruleName}, "/"), before,
		ruleModeImage{mode.String()})
	return p, nil
}

// ListRules adds rules of other policies to a policy of the same product with one mode, without
// serving them. Rules already in the policy get the mode.
func (tx *Tx) ListRules(ctx context.Context, policyID int64, rules []model.PolicyRule, mode model.PolicyMode) error {
	if len(rules) == 0 {
		return nil
	}
	names := model.Map(rules, func(r model.PolicyRule) string { return r.Rule.Name })
	in, arg := tx.In("rule_name", 3, names)
	listed := map[string]int64{}
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var name string
		err := r.Scan(&id, &name)
		listed[name] = id
		return err
	}, `SELECT id, rule_name FROM policy_rule WHERE deployment_id = $1 AND policy_id = $2 AND `+in, policyID, arg)
	if err != nil {
		return err
	}
	var fresh []policyEntry
	var existing []int64
	for _, r := range rules {
		tx.Audit("policy.set_rule_mode", sqldb.Subject("policy", policyID)+"/"+r.Rule.Name, nil, ruleModeImage{mode.String()})
		if id, ok := listed[r.Rule.Name]; ok {
			existing = append(existing, id)
			continue
		}
		content := r.Rule
		content.Mode = mode
		fresh = append(fresh, policyEntry{r.Rule.Name, r.Rule.ID, content, policyID})
	}
	if _, err := tx.listRules(ctx, fresh); err != nil || len(existing) == 0 {
		return err
	}
	tx.Change(sqldb.ChangePolicyRule, existing...)
	in, arg = tx.In("id", 5, existing)
	return tx.Write(ctx, `UPDATE policy_rule SET mode = $2, removed = 0, last_change_at = $3, last_change_by = $4 WHERE `+
		`deployment_id = $1 AND `+in,
		mode, tx.Now(), tx.Actor().String(), arg)
}
