package store

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/redoubt/redoubt"
)

// ruleContent is one version of a rule, and how it is told from others.
type ruleContent struct {
	key     ruleKey
	product redoubt.IssueType
	text    string // JSON of the rule without its id
}

type ruleKey struct {
	name   string
	digest redoubt.Digest // of the text
}

func contentOf(r *redoubt.Rule) ruleContent {
	content := *r
	content.ID, content.Name = 0, cleanText(r.Name)
	text := encoded(content)
	sum := sha256.Sum256([]byte(text))
	return ruleContent{ruleKey{content.Name, redoubt.Digest(sum[:len(redoubt.Digest{})])}, r.IssueType, text}
}

func scanRule(r row) (rule redoubt.Rule, err error) {
	var id int64
	err = r.Scan(&id, decoded(&rule))
	rule.ID = id // the content does not tell
	return rule, err
}

// PutRules stores contents not seen before and returns the id of each, in the
// order given. New names enter the default policy of their product with the
// mode they ask for, else monitor, not served; a new content of a known name
// becomes what the policy shows (decisions §10).
func (tx *Tx) PutRules(ctx context.Context, rules []*redoubt.Rule) ([]int64, error) {
	contents := make([]ruleContent, len(rules))
	names := make([]string, len(rules))
	for i, r := range rules {
		if r.IssueType.String() == "" {
			return nil, fmt.Errorf("rule %.80q names no product", r.Name)
		}
		contents[i] = contentOf(r)
		names[i] = contents[i].key.name
	}
	known, err := tx.ruleIDs(ctx, names)
	if err != nil {
		return nil, err
	}
	var added []int // first places of new contents
	for i, c := range contents {
		if _, ok := known[c.key]; !ok {
			known[c.key] = 0
			added = append(added, i)
		}
	}
	if err := tx.addRules(ctx, contents, rules, added, known); err != nil {
		return nil, fmt.Errorf("store rules: %w", err)
	}
	ids := make([]int64, len(contents))
	for i, c := range contents {
		ids[i] = known[c.key]
	}
	return ids, nil
}

// ruleIDs finds the contents of rules with the names.
func (tx *Tx) ruleIDs(ctx context.Context, names []string) (map[ruleKey]int64, error) {
	found := map[ruleKey]int64{}
	in, arg := tx.in("name", 2, names)
	return found, each(ctx, tx, func(r row) error {
		var id int64
		var key ruleKey
		err := r.Scan(&id, &key.name, digest(&key.digest))
		found[key] = id
		return err
	}, `SELECT id, name, digest FROM rule WHERE deployment_id = $1 AND `+in, arg)
}

// addRules stores the contents at the given places, notes their ids in known,
// and shows them in the default policies.
func (tx *Tx) addRules(ctx context.Context, contents []ruleContent, rules []*redoubt.Rule, places []int, known map[ruleKey]int64) error {
	ids, err := tx.newIDs(ctx, seqRule, len(places))
	if err != nil || len(ids) == 0 {
		return err
	}
	rows := make([][]any, len(ids))
	entries := map[redoubt.IssueType][]policyEntry{}
	for i, place := range places {
		c := contents[place]
		known[c.key] = ids[i]
		rows[i] = []any{ids[i], c.key.name, c.key.digest, int64(c.product), c.text}
		entries[c.product] = append(entries[c.product], policyEntry{c.key.name, ids[i], max(rules[place].Mode, redoubt.ModeMonitor)})
	}
	tx.change(changeRule, ids...)
	if err := tx.insert(ctx, `rule (deployment_id, id, name, digest, issue_type, content_json)`, rows, ""); err != nil {
		return err
	}
	for _, product := range []redoubt.IssueType{redoubt.SAST, redoubt.SCA, redoubt.Secrets} {
		if err := tx.enterPolicy(ctx, product, entries[product]); err != nil {
			return err
		}
	}
	return nil
}

// policyEntry is a rule as it enters a policy.
type policyEntry struct {
	name   string
	ruleID int64
	mode   redoubt.PolicyMode
}

// enterPolicy shows the entries, of which a name's last is the newest, in the
// product's default policy. A name that is there already keeps its mode.
func (tx *Tx) enterPolicy(ctx context.Context, product redoubt.IssueType, entries []policyEntry) error {
	if len(entries) == 0 {
		return nil
	}
	policyID, err := one(ctx, tx, scalar[int64],
		`SELECT id FROM policy WHERE deployment_id = $1 AND product = $2 AND is_default = 1`, int64(product))
	if err != nil {
		return fmt.Errorf("the default policy of %s: %w", product, err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	listed, err := tx.renewPolicyRules(ctx, policyID, product, names)
	if err != nil {
		return err
	}
	newest := map[string]policyEntry{}
	var fresh []string
	for _, e := range entries {
		if _, again := newest[e.name]; !again && !listed[e.name] {
			fresh = append(fresh, e.name)
		}
		newest[e.name] = e
	}
	ids, err := tx.newIDs(ctx, seqPolicyRule, len(fresh))
	if err != nil {
		return err
	}
	rows := make([][]any, len(ids))
	for i, name := range fresh {
		e := newest[name]
		rows[i] = []any{ids[i], policyID, e.name, e.ruleID, int64(e.mode), false, tx.now, ""}
	}
	tx.change(changePolicyRule, ids...)
	return tx.insert(ctx, `policy_rule (deployment_id, id, policy_id, rule_name, rule_id, mode, served, last_change_at, last_change_by)`, rows, "")
}

// renewPolicyRules lets those of the names that the policy lists show their
// newest content, and tells which they are.
func (tx *Tx) renewPolicyRules(ctx context.Context, policyID int64, product redoubt.IssueType, names []string) (map[string]bool, error) {
	listed := map[string]bool{}
	in, arg := tx.in("rule_name", 3, names)
	err := each(ctx, tx, func(r row) error {
		var id int64
		var name string
		err := r.Scan(&id, &name)
		listed[name] = true
		tx.change(changePolicyRule, id)
		return err
	}, `SELECT id, rule_name FROM policy_rule WHERE deployment_id = $1 AND policy_id = $2 AND `+in, policyID, arg)
	if err != nil || len(listed) == 0 {
		return listed, err
	}
	_, err = tx.exec(ctx, `
		UPDATE policy_rule SET rule_id = (
			SELECT max(r.id) FROM rule r WHERE r.deployment_id = $1 AND r.name = policy_rule.rule_name AND r.issue_type = $4)
		WHERE deployment_id = $1 AND policy_id = $2 AND `+in, policyID, arg, int64(product))
	return listed, err
}
