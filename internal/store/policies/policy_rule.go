package policies

import (
	"context"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// PolicyRuleSelect reads rules of policies with the newest content of each.
const PolicyRuleSelect = `
	SELECT pr.id, pr.policy_id, pr.mode, pr.served, pr.removed, pr.last_change_at, pr.last_change_by, pr.rule_id,
	r.content_json
	FROM policy_rule pr JOIN rule r ON r.deployment_id = pr.deployment_id AND r.id = pr.rule_id
	WHERE pr.deployment_id = $1`

// notRemoved leaves out the rules that were removed from their policy.
const notRemoved = ` AND pr.removed = 0`

// ScanPolicyRule reads a rule of a policy from a row of PolicyRuleSelect.
func ScanPolicyRule(r sqldb.Row) (p model.PolicyRule, err error) {
	var ruleID int64
	err = r.Scan(&p.ID, &p.PolicyID, &p.Mode, &p.Served, &p.Removed, sqldb.Instant(&p.LastChangeAt), &p.LastChangeBy,
		&ruleID, sqldb.Decoded(&p.Rule))
	p.Rule.ID = ruleID // the content does not tell
	return p, err
}

// PolicyRules lists the rules of a policy after the one with the given id, limit
// at most, and tells whether there are more. An unknown policy is
// model.ErrNotFound.
func (tx *Tx) PolicyRules(
	ctx context.Context, policyID, afterID int64, limit int,
) (rules []model.PolicyRule, more bool, err error) {
	return tx.PolicyRulesWithin(ctx, nil, policyID, afterID, limit)
}

// PolicyRulesWithin is PolicyRules for a token that globs bind: of the rules that
// are not served, those that its projects have or had findings of.
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

// PolicyRule finds a rule of a policy by the id that it has there. An unknown one, or one
// that was removed, is model.ErrNotFound.
func (tx *Tx) PolicyRule(ctx context.Context, policyID, id int64) (model.PolicyRule, error) {
	r, err := sqldb.One(
		ctx, tx, ScanPolicyRule, PolicyRuleSelect+notRemoved+` AND pr.policy_id = $2 AND pr.id = $3`, policyID, id,
	)
	if err != nil {
		return r, fmt.Errorf("rule %d of policy %d: %w", id, policyID, err)
	}
	return r, nil
}

// PolicyRuleNamed finds a rule of a policy by name. An unknown one, or one that was
// removed, is model.ErrNotFound.
func (tx *Tx) PolicyRuleNamed(ctx context.Context, policyID int64, name string) (model.PolicyRule, error) {
	r, err := sqldb.One(
		ctx, tx, ScanPolicyRule, PolicyRuleSelect+notRemoved+` AND pr.policy_id = $2 AND pr.rule_name = $3`, policyID, name,
	)
	if err != nil {
		return r, fmt.Errorf("rule %.80q of policy %d: %w", name, policyID, err)
	}
	return r, nil
}

// PolicyRuleCount counts the rules of a policy in one mode.
type PolicyRuleCount struct {
	PolicyID int64
	Mode     model.PolicyMode
	Rules    int
	Served   int // of these, given to scanners
}

// PolicyRuleCounts counts the rules of all policies by their modes.
func (tx *Tx) PolicyRuleCounts(ctx context.Context) ([]PolicyRuleCount, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (c PolicyRuleCount, err error) {
		return c, r.Scan(&c.PolicyID, &c.Mode, &c.Rules, &c.Served)
	}, `
		SELECT pr.policy_id, pr.mode, count(*), sum(pr.served) FROM policy_rule pr
		WHERE pr.deployment_id = $1`+notRemoved+` GROUP BY pr.policy_id, pr.mode ORDER BY pr.policy_id, pr.mode`)
}

// FindPolicyRules lists the rules of a policy whose name has a text, in any
// case, and whose mode is the given one, 0 for any, by id after the given one.
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

// SetRuleModes gives rules of a policy, as they were read in this transaction, one mode, as
// SetRuleMode does one after the other. Those that have it already stay as they are.
func (tx *Tx) SetRuleModes(ctx context.Context, policyID int64, rules []model.PolicyRule, mode model.PolicyMode) error {
	if mode.String() == "" {
		return model.Invalid("mode", "the mode is one of monitor, comment, block")
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

// SetRuleMode decides what a rule of a policy does to builds (docs/reference/policies.md).
// The rule now answers who changed it; a mode that it has already changes
// nothing. An unknown policy or rule is model.ErrNotFound.
func (tx *Tx) SetRuleMode(
	ctx context.Context, policyID int64, ruleName string, mode model.PolicyMode,
) (model.PolicyRule, error) {
	if mode.String() == "" {
		return model.PolicyRule{}, model.Invalid("mode", "the mode is one of monitor, comment, block")
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

// ListRules lists rules of other policies in a policy of the same product, in one mode, and
// distributes none of them. Rules that the policy lists already get the mode.
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
	var again []int64
	for _, r := range rules {
		tx.Audit("policy.set_rule_mode", sqldb.Subject("policy", policyID)+"/"+r.Rule.Name, nil, ruleModeImage{mode.String()})
		if id, ok := listed[r.Rule.Name]; ok {
			again = append(again, id)
			continue
		}
		content := r.Rule
		content.Mode = mode
		fresh = append(fresh, policyEntry{r.Rule.Name, r.Rule.ID, content, policyID})
	}
	if _, err := tx.listRules(ctx, fresh); err != nil || len(again) == 0 {
		return err
	}
	tx.Change(sqldb.ChangePolicyRule, again...)
	in, arg = tx.In("id", 5, again)
	return tx.Write(ctx, `UPDATE policy_rule SET mode = $2, removed = 0, last_change_at = $3, last_change_by = $4 WHERE `+
		`deployment_id = $1 AND `+in,
		mode, tx.Now(), tx.Actor().String(), arg)
}
