package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt"
)

const servedSelect = `
	SELECT pr.id, pr.policy_id, pr.mode, pr.served, pr.last_change_at, pr.last_change_by, pr.rule_id, r.content_json,
		t.version, t.text_json, t.checked
	FROM policy_rule pr JOIN rule r ON r.deployment_id = pr.deployment_id AND r.id = pr.rule_id
	JOIN rule_text t ON t.deployment_id = pr.deployment_id AND t.policy_rule_id = pr.id
	WHERE pr.deployment_id = $1 AND pr.served = 1 AND pr.removed = 0
		AND t.version = (SELECT MAX(n.version) FROM rule_text n WHERE n.deployment_id = $1 AND n.policy_rule_id = pr.id)`

func scanServed(r row) (s redoubt.ServedRule, err error) {
	var ruleID int64
	var text string
	err = r.Scan(&s.ID, &s.PolicyID, &s.Mode, &s.Served, instant(&s.LastChangeAt), &s.LastChangeBy, &ruleID, decoded(&s.Rule),
		&s.Version, &text, &s.Checked)
	s.Rule.ID, s.Text = ruleID, []byte(text) // the content does not tell the id
	return s, err
}

// ServedRules lists the rules that scanners are served, with the newest text of
// each, by id.
func (tx *Tx) ServedRules(ctx context.Context) ([]redoubt.ServedRule, error) {
	return many(ctx, tx, scanServed, servedSelect+` ORDER BY pr.id`)
}

// RuleTexts returns the newest text of every rule that is or was served, by its
// name.
func (tx *Tx) RuleTexts(ctx context.Context) (map[string][]byte, error) {
	texts := map[string][]byte{}
	return texts, each(ctx, tx, func(r row) error {
		var name, text string
		err := r.Scan(&name, &text)
		texts[name] = []byte(text)
		return err
	}, `SELECT pr.rule_name, t.text_json
		FROM policy_rule pr JOIN rule_text t ON t.deployment_id = pr.deployment_id AND t.policy_rule_id = pr.id
		WHERE pr.deployment_id = $1
			AND t.version = (SELECT MAX(n.version) FROM rule_text n WHERE n.deployment_id = $1 AND n.policy_rule_id = pr.id)
		ORDER BY pr.served, pr.id`)
}

// RemovedRules lists the rules that left every policy.
func (tx *Tx) RemovedRules(ctx context.Context) ([]string, error) {
	return many(ctx, tx, scalar[string], `
		SELECT pr.rule_name FROM policy_rule pr WHERE pr.deployment_id = $1 AND pr.removed = 1 AND NOT EXISTS (
			SELECT 1 FROM policy_rule o WHERE o.deployment_id = $1 AND o.rule_name = pr.rule_name AND o.removed = 0)
		ORDER BY pr.rule_name`)
}

type servedImage struct {
	Version int    `json:"version"`
	Mode    string `json:"mode"`
	Checked bool   `json:"checked"`
}

// ServeRule puts a rule into the default policy of its product, to be served to
// scanners, and returns it as it stands now. A mode of 0 keeps that of a rule
// that was served before, and is monitor for others (decisions §10). Another
// text is another version.
func (tx *Tx) ServeRule(ctx context.Context, rule redoubt.Rule, text []byte, checked bool, mode redoubt.PolicyMode) (s redoubt.ServedRule, err error) {
	if _, err := tx.PutRules(ctx, []*redoubt.Rule{&rule}); err != nil {
		return s, err
	}
	c := contentOf(&rule)
	known, err := tx.ruleIDs(ctx, []string{c.key.name})
	if err != nil {
		return s, err
	}
	if err := tx.enterPolicy(ctx, rule.IssueType, []policyEntry{{c.key.name, known[c.key], rule}}); err != nil {
		return s, err
	}
	listing, err := one(ctx, tx, scanPolicyRule, policyRuleSelect+` AND pr.rule_name = $2
		AND pr.policy_id = (SELECT id FROM policy WHERE deployment_id = $1 AND product = $3 AND is_default = 1)`, c.key.name, int64(rule.IssueType))
	if err != nil {
		return s, err
	}
	before, err := one(ctx, tx, scanServed, servedSelect+` AND pr.id = $2`, listing.ID)
	switch {
	case errors.Is(err, redoubt.ErrNotFound):
		mode = max(mode, redoubt.ModeMonitor)
	case err != nil:
		return s, err
	case mode == 0:
		mode = before.Mode
	}
	if err := tx.serve(ctx, listing.ID, text, checked, mode); err != nil {
		return s, err
	}
	s, err = one(ctx, tx, scanServed, servedSelect+` AND pr.id = $2`, listing.ID)
	var was any
	if before.ID != 0 {
		was = servedImage{before.Version, before.Mode.String(), before.Checked}
	}
	tx.audit("policy.serve_rule", subject("policy", listing.PolicyID)+"/"+c.key.name, was, servedImage{s.Version, s.Mode.String(), s.Checked})
	return s, err
}

// serve writes the text as the newest version, unless it is that already.
func (tx *Tx) serve(ctx context.Context, id int64, text []byte, checked bool, mode redoubt.PolicyMode) error {
	texts, err := many(ctx, tx, scalar[string], `SELECT text_json FROM rule_text WHERE deployment_id = $1 AND policy_rule_id = $2 ORDER BY version`, id)
	if err != nil {
		return err
	}
	version := len(texts)
	if version > 0 && texts[version-1] == string(text) {
		_, err = tx.exec(ctx, `UPDATE rule_text SET checked = $4 WHERE deployment_id = $1 AND policy_rule_id = $2 AND version = $3 AND checked < $4`, id, version, checked)
	} else {
		err = tx.insert(ctx, `rule_text (deployment_id, policy_rule_id, version, text_json, checked, added_at, added_by)`,
			[][]any{{id, version + 1, string(text), checked, tx.now, tx.actor.String()}}, "")
	}
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `UPDATE policy_rule SET served = 1, removed = 0, mode = $3, last_change_at = $4, last_change_by = $5
		WHERE deployment_id = $1 AND id = $2`, id, mode, tx.now, tx.actor.String())
	tx.change(changePolicyRule, id)
	return err
}

// RemoveRule takes a rule out of a policy: it is served no more, and the next
// full scan removes its findings (decisions §5). An unknown one is
// redoubt.ErrNotFound.
func (tx *Tx) RemoveRule(ctx context.Context, policyID int64, name string) error {
	p, err := one(ctx, tx, scanPolicyRule, policyRuleSelect+listed+` AND pr.policy_id = $2 AND pr.rule_name = $3`, policyID, name)
	if err != nil {
		return fmt.Errorf("rule %.80q of policy %d: %w", name, policyID, err)
	}
	_, err = tx.exec(ctx, `UPDATE policy_rule SET served = 0, removed = 1, mode = $3, last_change_at = $4, last_change_by = $5
		WHERE deployment_id = $1 AND id = $2`, p.ID, redoubt.ModeMonitor, tx.now, tx.actor.String())
	if err != nil {
		return err
	}
	tx.change(changePolicyRule, p.ID)
	tx.audit("policy.remove_rule", subject("policy", policyID)+"/"+name, ruleModeImage{p.Mode.String()}, nil)
	return nil
}
