package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt"
)

const servedSelect = `
	SELECT pr.id, pr.policy_id, pr.mode, pr.served, pr.last_change_at, pr.last_change_by, pr.rule_id, r.content_json,
		v.version, v.text_json, v.checked, v.starter
	FROM policy_rule pr JOIN rule r ON r.deployment_id = pr.deployment_id AND r.id = pr.rule_id
	JOIN rule_version v ON v.deployment_id = pr.deployment_id AND v.rule_name = pr.rule_name
	WHERE pr.deployment_id = $1 AND pr.served = 1 AND pr.removed = 0
		AND v.version = (SELECT MAX(n.version) FROM rule_version n WHERE n.deployment_id = $1 AND n.rule_name = pr.rule_name)`

func scanServed(r row) (s redoubt.ServedRule, err error) {
	var ruleID int64
	var text string
	err = r.Scan(&s.ID, &s.PolicyID, &s.Mode, &s.Served, instant(&s.LastChangeAt), &s.LastChangeBy, &ruleID, decoded(&s.Rule),
		&s.Version, &text, &s.Checked, &s.Starter)
	s.Rule.ID, s.Text = ruleID, []byte(text) // the content does not tell the id
	return s, err
}

// ServedRules lists what policies serve to scanners, with the newest text of
// each rule, by id. A rule of several policies is there for each of them.
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
	}, `SELECT rule_name, text_json FROM rule_version WHERE deployment_id = $1 ORDER BY rule_name, version`)
}

// ListedRules names the rules that one of the policies lists, served or known
// from imports.
func (tx *Tx) ListedRules(ctx context.Context, policyIDs []int64) (map[string]bool, error) {
	listed := map[string]bool{}
	in, arg := tx.in("policy_id", 2, policyIDs)
	return listed, each(ctx, tx, func(r row) error {
		name, err := scalar[string](r)
		listed[name] = true
		return err
	}, `SELECT DISTINCT rule_name FROM policy_rule WHERE deployment_id = $1 AND removed = 0 AND `+in, arg)
}

// BlockingRules lists the rules that a policy has in mode block, served or known
// from imports, by id.
func (tx *Tx) BlockingRules(ctx context.Context) ([]redoubt.PolicyRule, error) {
	return many(ctx, tx, scanPolicyRule, policyRuleSelect+notRemoved+` AND pr.mode = $2 ORDER BY pr.id`, redoubt.ModeBlock)
}

// RuleVersions lists the texts that a rule has had, the oldest first; none of a
// rule that was never served.
func (tx *Tx) RuleVersions(ctx context.Context, name string) ([]redoubt.RuleVersion, error) {
	return many(ctx, tx, func(r row) (v redoubt.RuleVersion, err error) {
		var text string
		err = r.Scan(&v.Version, &text, &v.Checked, &v.Starter, instant(&v.AddedAt), &v.AddedBy)
		v.Text = []byte(text)
		return v, err
	}, `SELECT version, text_json, checked, starter, added_at, added_by FROM rule_version
		WHERE deployment_id = $1 AND rule_name = $2 ORDER BY version`, name)
}

type servedImage struct {
	Version int    `json:"version"`
	Mode    string `json:"mode"`
	Checked bool   `json:"checked"`
}

// Serving is a rule that scanners are to be served, and how.
type Serving struct {
	Rule     redoubt.Rule
	Text     []byte             // JSON, in the scanner's own rule language
	Checked  bool               // whether the scanner itself has parsed the text
	Starter  bool               // it comes with the server
	Mode     redoubt.PolicyMode // 0 keeps that of a rule which the policy serves; else monitor (semantics §10)
	PolicyID int64              // 0 for the default policy of its product
}

// ServeRule puts a rule into a policy, to be served to scanners, and returns it
// as it stands now. Another text is another version, in all policies that have
// the rule. A policy or rule of another product is redoubt.ErrConflict; an
// unknown policy is redoubt.ErrNotFound.
func (tx *Tx) ServeRule(ctx context.Context, s Serving) (after redoubt.ServedRule, err error) {
	if err := tx.choosePolicy(ctx, &s); err != nil {
		return after, err
	}
	listing, err := tx.addToPolicy(ctx, &s)
	if err != nil {
		return after, err
	}
	before, err := one(ctx, tx, scanServed, servedSelect+` AND pr.id = $2`, listing)
	switch {
	case errors.Is(err, redoubt.ErrNotFound):
		s.Mode = max(s.Mode, redoubt.ModeMonitor)
	case err != nil:
		return after, err
	case s.Mode == 0:
		s.Mode = before.Mode
	}
	if err := tx.addVersion(ctx, &s); err != nil {
		return after, err
	}
	if before.ID == 0 || before.Mode != s.Mode {
		if err = tx.write(ctx, `UPDATE policy_rule SET served = 1, removed = 0, mode = $3, last_change_at = $4, last_change_by = $5
			WHERE deployment_id = $1 AND id = $2`, listing, s.Mode, tx.now, tx.actor.String()); err != nil {
			return after, err
		}
	}
	tx.change(changePolicyRule, listing)
	after, err = one(ctx, tx, scanServed, servedSelect+` AND pr.id = $2`, listing)
	var was any
	if before.ID != 0 {
		was = imageOfServed(before)
	}
	if was != any(imageOfServed(after)) {
		tx.audit("policy.serve_rule", subject("policy", s.PolicyID)+"/"+after.Rule.Name, was, imageOfServed(after))
	}
	return after, err
}

func imageOfServed(s redoubt.ServedRule) servedImage {
	return servedImage{s.Version, s.Mode.String(), s.Checked}
}

// choosePolicy finds the policy and checks that the rule may enter it. A rule is
// of one product at a time, else its findings would be of two.
func (tx *Tx) choosePolicy(ctx context.Context, s *Serving) (err error) {
	if s.PolicyID == 0 {
		if s.PolicyID, err = tx.defaultPolicy(ctx, s.Rule.IssueType); err != nil {
			return err
		}
	}
	p, err := tx.Policy(ctx, s.PolicyID)
	if err != nil {
		return err
	}
	if p.Product != s.Rule.IssueType {
		return fmt.Errorf("%.80s is a rule for %s, and the policy %s one for %s: %w", s.Rule.Name, s.Rule.IssueType, p.Slug, p.Product, redoubt.ErrConflict)
	}
	other, err := many(ctx, tx, scalar[string], `SELECT p.slug FROM policy_rule pr JOIN policy p ON p.deployment_id = pr.deployment_id AND p.id = pr.policy_id
		WHERE pr.deployment_id = $1 AND pr.rule_name = $2 AND pr.served = 1 AND p.product <> $3 ORDER BY p.id`, s.Rule.Name, int64(s.Rule.IssueType))
	if err == nil && len(other) > 0 {
		return fmt.Errorf("the policy %s has %.80s as a rule for another product; remove it there first: %w", other[0], s.Rule.Name, redoubt.ErrConflict)
	}
	return err
}

// addToPolicy stores the rule's content, shows it where the rule is listed, and lists
// it in the policy. It returns the id of its place there.
func (tx *Tx) addToPolicy(ctx context.Context, s *Serving) (id int64, err error) {
	c := contentOf(&s.Rule)
	known, err := tx.ruleIDs(ctx, []string{c.key.name})
	if err != nil {
		return 0, err
	}
	entry := policyEntry{c.key.name, known[c.key], s.Rule}
	if entry.ruleID == 0 {
		ids, err := tx.insertRules(ctx, []ruleContent{c})
		if err != nil {
			return 0, err
		}
		entry.ruleID = ids[0]
	}
	if _, err := tx.renewPolicyRules(ctx, s.Rule.IssueType, []string{entry.name}, map[string]policyEntry{entry.name: entry}, false); err != nil {
		return 0, err
	}
	const place = `SELECT id FROM policy_rule WHERE deployment_id = $1 AND policy_id = $2 AND rule_name = $3`
	id, err = one(ctx, tx, scalar[int64], place, s.PolicyID, entry.name)
	if !errors.Is(err, redoubt.ErrNotFound) {
		return id, err
	}
	if err := tx.listRules(ctx, s.PolicyID, []policyEntry{entry}); err != nil {
		return 0, err
	}
	return one(ctx, tx, scalar[int64], place, s.PolicyID, entry.name)
}

// addVersion writes the text as the rule's newest version, unless it is that
// already.
func (tx *Tx) addVersion(ctx context.Context, s *Serving) error {
	name := cleanText(s.Rule.Name)
	versions, err := tx.RuleVersions(ctx, name)
	if err != nil {
		return err
	}
	n := len(versions)
	if n > 0 && string(versions[n-1].Text) == string(s.Text) {
		if versions[n-1].Checked || !s.Checked {
			return nil
		}
		err = tx.write(ctx, `UPDATE rule_version SET checked = 1 WHERE deployment_id = $1 AND rule_name = $2 AND version = $3`, name, n)
		return err
	}
	err = tx.insert(ctx, `rule_version (deployment_id, rule_name, version, text_json, checked, starter, added_at, added_by)`,
		[][]any{{name, n + 1, string(s.Text), s.Checked, s.Starter, tx.now, tx.actor.String()}}, "")
	if err != nil {
		return err
	}
	err = tx.write(ctx, `UPDATE policy_rule SET last_change_at = $3, last_change_by = $4 WHERE deployment_id = $1 AND rule_name = $2 AND served = 1`,
		name, tx.now, tx.actor.String())
	return err
}

// RemoveRule takes a rule out of a policy: it serves it no more, and the next
// full scan of a project that no other policy gives it removes its findings
// (semantics §5). An unknown one is redoubt.ErrNotFound.
func (tx *Tx) RemoveRule(ctx context.Context, policyID int64, name string) error {
	p, err := one(ctx, tx, scanPolicyRule, policyRuleSelect+notRemoved+` AND pr.policy_id = $2 AND pr.rule_name = $3`, policyID, name)
	if err != nil {
		return fmt.Errorf("rule %.80q of policy %d: %w", name, policyID, err)
	}
	err = tx.write(ctx, `UPDATE policy_rule SET served = 0, removed = 1, mode = $3, last_change_at = $4, last_change_by = $5
		WHERE deployment_id = $1 AND id = $2`, p.ID, redoubt.ModeMonitor, tx.now, tx.actor.String())
	if err != nil {
		return err
	}
	tx.change(changePolicyRule, p.ID)
	tx.audit("policy.remove_rule", subject("policy", policyID)+"/"+name, ruleModeImage{p.Mode.String()}, nil)
	return nil
}
