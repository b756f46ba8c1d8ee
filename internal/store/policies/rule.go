package policies

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ruleContent is one version of a rule with its key.
type ruleContent struct {
	key     ruleKey
	product model.IssueType
	text    string // JSON of the rule without its id
}

type ruleKey struct {
	name   string
	digest model.Digest // of the text
}

func contentOf(r *model.Rule) ruleContent {
	content := *r
	content.ID, content.Name = 0, sqldb.CleanText(r.Name)
	text := sqldb.Encoded(content)
	sum := sha256.Sum256([]byte(text))
	return ruleContent{ruleKey{content.Name, model.Digest(sum[:len(model.Digest{})])}, r.IssueType, text}
}

// ScanRule reads a rule from its id and content.
func ScanRule(r sqldb.Row) (rule model.Rule, err error) {
	var id int64
	err = r.Scan(&id, sqldb.Decoded(&rule))
	rule.ID = id // not part of the content
	return rule, err
}

// Rule returns one content of a rule by id.
func (tx *Tx) Rule(ctx context.Context, id int64) (model.Rule, error) {
	rule, err := sqldb.One(ctx, tx, ScanRule, `SELECT id, content_json FROM rule WHERE deployment_id = $1 AND id = $2`, id)
	if err != nil {
		return rule, fmt.Errorf("rule %d: %w", id, err)
	}
	return rule, nil
}

// RuleMessages returns the messages of rules in their newest content, by name; unknown names are
// omitted.
func (tx *Tx) RuleMessages(ctx context.Context, names []string) (map[string]string, error) {
	out := map[string]string{}
	in, arg := tx.In("name", 2, names)
	return out, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var name string
		var rule model.Rule
		err := r.Scan(&name, sqldb.Decoded(&rule))
		out[name] = rule.Message
		return err
	}, `SELECT name, content_json FROM rule WHERE deployment_id = $1 AND `+in+` ORDER BY id`, arg)
}

// RuleLanguages returns the languages of rules in all their contents, by name; unknown names are
// omitted.
func (tx *Tx) RuleLanguages(ctx context.Context, names []string) (map[string][]string, error) {
	out := map[string][]string{}
	in, arg := tx.In("name", 2, names)
	return out, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var name string
		var rule model.Rule
		err := r.Scan(&name, sqldb.Decoded(&rule))
		out[name] = append(out[name], rule.Languages...)
		return err
	}, `SELECT name, content_json FROM rule WHERE deployment_id = $1 AND `+in, arg)
}

// PutRules stores new contents and returns the id of each rule's content, in the given order. Names
// that no policy lists are added to the default policy of their product, unserved, with their own
// mode or monitor. A new content of a known name replaces the one that policies show, with its gaps
// filled from the previous one (docs/reference/policies.md).
func (tx *Tx) PutRules(ctx context.Context, rules []*model.Rule) ([]int64, error) {
	contents, known, err := tx.knownContents(ctx, rules)
	if err != nil {
		return nil, err
	}
	var added []int // first index of each new content
	for i, c := range contents {
		if _, ok := known[c.key]; !ok {
			known[c.key] = 0
			added = append(added, i)
		}
	}
	if err := tx.addRules(ctx, contents, rules, added, known); err != nil {
		return nil, fmt.Errorf("store rules: %w", err)
	}
	return idsOf(contents, known), nil
}

// knownContents returns the contents of rules, and the ids of stored contents with the same names.
func (tx *Tx) knownContents(ctx context.Context, rules []*model.Rule) ([]ruleContent, map[ruleKey]int64, error) {
	contents := make([]ruleContent, len(rules))
	names := make([]string, len(rules))
	for i, r := range rules {
		if r.IssueType.String() == "" {
			return nil, nil, fmt.Errorf("rule %.80q has no product", r.Name)
		}
		contents[i] = contentOf(r)
		names[i] = contents[i].key.name
	}
	known, err := tx.ruleIDs(ctx, names)
	return contents, known, err
}

func idsOf(contents []ruleContent, known map[ruleKey]int64) []int64 {
	return model.Map(contents, func(c ruleContent) int64 { return known[c.key] })
}

// ruleIDs returns the stored contents of rules with the names.
func (tx *Tx) ruleIDs(ctx context.Context, names []string) (map[ruleKey]int64, error) {
	found := map[ruleKey]int64{}
	in, arg := tx.In("name", 2, names)
	return found, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var key ruleKey
		err := r.Scan(&id, &key.name, sqldb.Digest(&key.digest))
		found[key] = id
		return err
	}, `SELECT id, name, digest FROM rule WHERE deployment_id = $1 AND `+in, arg)
}

// addRules stores the contents at the given indexes, adds their ids to known, and updates the
// policies.
func (tx *Tx) addRules(
	ctx context.Context, contents []ruleContent, rules []*model.Rule, places []int, known map[ruleKey]int64,
) error {
	added := model.Map(places, func(place int) ruleContent { return contents[place] })
	ids, err := tx.insertRules(ctx, added)
	if err != nil || len(ids) == 0 {
		return err
	}
	entries := map[model.IssueType][]policyEntry{}
	for i, c := range added {
		known[c.key] = ids[i]
		entries[c.product] = append(entries[c.product], policyEntry{
			name:   c.key.name,
			ruleID: ids[i],
			rule:   *rules[places[i]],
		})
	}
	for _, product := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		if err := tx.enterPolicies(ctx, product, entries[product]); err != nil {
			return err
		}
	}
	return nil
}

// insertRules stores contents that do not exist yet.
func (tx *Tx) insertRules(ctx context.Context, contents []ruleContent) ([]int64, error) {
	ids, err := tx.NewIDs(ctx, seqRule, len(contents))
	if err != nil {
		return nil, err
	}
	rows := make([][]any, len(contents))
	for i, c := range contents {
		rows[i] = []any{ids[i], c.key.name, c.key.digest, int64(c.product), c.text}
	}
	tx.Change(sqldb.ChangeRule, ids...)
	return ids, tx.Insert(ctx, `rule (deployment_id, id, name, digest, issue_type, content_json)`, rows, "")
}

// policyEntry is a rule to add to a policy.
type policyEntry struct {
	name     string
	ruleID   int64
	rule     model.Rule
	policyID int64 // policy to add it to, if not listed
}

// enterPolicies updates the content shown by the product's policies that list the names. A name
// that no policy lists is added to the default one. If a name occurs twice, the last entry wins.
// Modes of listed names stay.
func (tx *Tx) enterPolicies(ctx context.Context, product model.IssueType, entries []policyEntry) error {
	if len(entries) == 0 {
		return nil
	}
	newest := map[string]policyEntry{}
	var names []string
	for _, e := range entries {
		if _, seen := newest[e.name]; !seen {
			names = append(names, e.name)
		}
		newest[e.name] = e
	}
	listed, err := tx.renewPolicyRules(ctx, product, names, newest, true)
	if err != nil {
		return err
	}
	policyID, err := tx.defaultPolicy(ctx, product)
	if err != nil {
		return err
	}
	var fresh []policyEntry
	for _, name := range names {
		if !listed[name] {
			e := newest[name]
			e.policyID = policyID
			fresh = append(fresh, e)
		}
	}
	_, err = tx.listRules(ctx, fresh)
	return err
}

func (tx *Tx) defaultPolicy(ctx context.Context, product model.IssueType) (int64, error) {
	id, err := sqldb.One(ctx, tx, sqldb.Scalar[int64],
		`SELECT id FROM policy WHERE deployment_id = $1 AND product = $2 AND is_default = 1`, int64(product))
	if err != nil {
		return 0, fmt.Errorf("the default policy of %s: %w", product, err)
	}
	return id, nil
}

// listRules adds rules to policies that do not list them, unserved, and returns their ids there.
func (tx *Tx) listRules(ctx context.Context, entries []policyEntry) ([]int64, error) {
	ids, err := tx.NewIDs(ctx, seqPolicyRule, len(entries))
	if err != nil {
		return nil, err
	}
	rows := make([][]any, len(ids))
	for i, e := range entries {
		rows[i] = []any{ids[i], e.policyID, e.name, e.ruleID, int64(max(e.rule.Mode, model.ModeMonitor)), false, tx.Now(), ""}
	}
	tx.Change(sqldb.ChangePolicyRule, ids...)
	return ids, tx.Insert(ctx, `policy_rule (deployment_id, id, policy_id, rule_name, rule_id, mode, served, `+
		`last_change_at, last_change_by)`, rows, "")
}

// shownRule is the content that a policy shows for a name.
type shownRule struct {
	policyRuleID, ruleID int64
	name                 string
	served               bool
	rule                 model.Rule
}

// renewPolicyRules updates the content shown by policies of the product that list the names, and
// returns these names. Formats contain different fields, so missing fields are filled from the
// previous content. For served rules, reported contents only fill gaps, because the rule's own text
// is more reliable.
func (tx *Tx) renewPolicyRules(
	ctx context.Context, product model.IssueType, names []string, newest map[string]policyEntry, reported bool,
) (map[string]bool, error) {
	in, arg := tx.In("p.rule_name", 3, names)
	shown, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (s shownRule, err error) {
		return s, r.Scan(&s.policyRuleID, &s.ruleID, &s.name, &s.served, sqldb.Decoded(&s.rule))
	},
		`SELECT p.id, p.rule_id, p.rule_name, p.served, r.content_json FROM policy_rule p
			JOIN rule r ON r.deployment_id = p.deployment_id AND r.id = p.rule_id
		WHERE p.deployment_id = $1 AND p.policy_id IN (SELECT id FROM policy WHERE deployment_id = $1 AND product = $2) AND `+
			in+` ORDER BY p.id`,
		int64(product), arg)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	entries, before := make([]policyEntry, len(shown)), make([]model.Rule, len(shown))
	for i, s := range shown {
		listed[s.name] = true
		entries[i], before[i] = newest[s.name], s.rule
		if reported && s.served {
			entries[i], before[i] = policyEntry{name: s.name, ruleID: s.ruleID, rule: s.rule}, newest[s.name].rule
		}
	}
	ids, err := tx.completedRules(ctx, entries, before)
	if err != nil {
		return nil, err
	}
	pairs := make([][2]int64, len(shown))
	for i, s := range shown {
		pairs[i] = [2]int64{s.policyRuleID, ids[i]}
		tx.Change(sqldb.ChangePolicyRule, s.policyRuleID)
	}
	return listed, sqldb.InBatches(pairs, func(part [][2]int64) error {
		with, args := sqldb.PairTable("shown(place, content)", part)
		return tx.Write(ctx, with+`UPDATE policy_rule SET rule_id = shown.content FROM shown
			WHERE policy_rule.deployment_id = $1 AND policy_rule.id = shown.place`, args...)
	})
}

// completedRules returns the content ids of the entries after filling their gaps from the previous
// contents. New contents are stored.
func (tx *Tx) completedRules(ctx context.Context, entries []policyEntry, before []model.Rule) ([]int64, error) {
	contents := make([]ruleContent, len(entries))
	known := map[ruleKey]int64{}
	var names []string // of contents that differ from the entry's own
	for i, e := range entries {
		completed := e.rule.Completed(before[i])
		contents[i] = contentOf(&completed)
		if own := contentOf(&e.rule); own.key == contents[i].key {
			known[own.key] = e.ruleID
		} else {
			names = append(names, own.key.name)
		}
	}
	if len(names) > 0 {
		stored, err := tx.ruleIDs(ctx, names)
		if err != nil {
			return nil, err
		}
		maps.Copy(known, stored)
	}
	if err := tx.insertMissing(ctx, contents, known); err != nil {
		return nil, err
	}
	return idsOf(contents, known), nil
}

// insertMissing stores the contents without an id in known, and adds their ids.
func (tx *Tx) insertMissing(ctx context.Context, contents []ruleContent, known map[ruleKey]int64) error {
	var missing []ruleContent
	for _, c := range contents {
		if _, is := known[c.key]; !is {
			known[c.key] = 0
			missing = append(missing, c)
		}
	}
	ids, err := tx.insertRules(ctx, missing)
	for i, id := range ids {
		known[missing[i].key] = id
	}
	return err
}

const seqRule sqldb.Sequence = "rule"

const seqPolicyRule sqldb.Sequence = "policy_rule"
