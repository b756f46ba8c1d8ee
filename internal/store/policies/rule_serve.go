package policies

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

type servedImage struct {
	Version int    `json:"version"`
	Mode    string `json:"mode"`
	Checked bool   `json:"checked"`
}

func imageOfServed(s model.ServedRule) servedImage {
	return servedImage{s.Version, s.Mode.String(), s.Checked}
}

// Serving is a rule to serve to scanners.
type Serving struct {
	Rule     model.Rule
	Text     []byte           // JSON in the scanner's rule language
	Checked  bool             // the scanner itself has parsed the text
	Starter  bool             // it is shipped with the server
	Mode     model.PolicyMode // 0: the current mode of a served rule, else monitor
	PolicyID int64            // 0: the default policy of its product
}

// placing is a Serving while it is added to its policy.
type placing struct {
	Serving
	content ruleContent
	newest  model.RuleVersion // zero if it was never served
	id      int64             // id of the rule in the policy
	before  model.ServedRule  // zero if the policy did not serve it
}

// ServeRule is ServeRules for one rule.
func (tx *Tx) ServeRule(ctx context.Context, s Serving) (model.ServedRule, error) {
	after, err := tx.ServeRules(ctx, []Serving{s})
	if err != nil {
		return model.ServedRule{}, err
	}
	return after[0], nil
}

// ServeRules adds rules to policies, to be served to scanners, and returns their resulting state. A
// changed text creates a new version for all policies with the rule.
//
// It returns model.ErrConflict for a policy or rule of another product, and for a changed text of a
// rule that only other policies have. An unknown policy is model.ErrNotFound. The error names the
// first such rule.
func (tx *Tx) ServeRules(ctx context.Context, list []Serving) ([]model.ServedRule, error) {
	after := make([]model.ServedRule, 0, len(list))
	for len(list) > 0 {
		part := distinctRules(list)
		served, err := tx.serveDistinct(ctx, part)
		if err != nil {
			return nil, err
		}
		after, list = append(after, served...), list[len(part):]
	}
	return after, nil
}

// distinctRules returns the longest start of a list with distinct names, at most one batch. A
// repeated name depends on the result of the earlier rule.
func distinctRules(list []Serving) []placing {
	var part []placing
	seen := map[string]bool{}
	for _, s := range list {
		c := contentOf(&s.Rule)
		if seen[c.key.name] || len(part) == sqldb.Batch {
			break
		}
		seen[c.key.name] = true
		part = append(part, placing{Serving: s, content: c})
	}
	return part
}

// serveDistinct is ServeRules for rules with distinct names.
func (tx *Tx) serveDistinct(ctx context.Context, list []placing) ([]model.ServedRule, error) {
	for _, step := range []func(
		context.Context, []placing,
	) error{tx.choosePolicies, tx.addToPolicies, tx.addVersions, tx.markServed} {
		if err := step(ctx, list); err != nil {
			return nil, err
		}
	}
	served, err := tx.servedAt(ctx, list)
	if err != nil {
		return nil, err
	}
	after := make([]model.ServedRule, len(list))
	for i, p := range list {
		after[i] = served[p.id]
		var was any
		if p.before.ID != 0 {
			was = imageOfServed(p.before)
		}
		if was != any(imageOfServed(after[i])) {
			tx.Audit("policy.serve_rule", sqldb.Subject("policy", p.PolicyID)+"/"+after[i].Rule.Name, was,
				imageOfServed(after[i]))
		}
	}
	return after, nil
}

// ruleUse is a policy that serves a rule.
type ruleUse struct {
	rule, slug string
	policyID   int64
	product    model.IssueType
}

// choosePolicies sets the policies of the rules and checks that they may be added.
func (tx *Tx) choosePolicies(ctx context.Context, list []placing) error {
	policies, err := tx.Policies(ctx)
	if err != nil {
		return err
	}
	newest, err := tx.newestVersions(ctx, namesOf(list))
	if err != nil {
		return err
	}
	in, arg := tx.In("pr.rule_name", 2, namesOf(list))
	uses, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (u ruleUse, err error) {
		return u, r.Scan(&u.rule, &u.slug, &u.policyID, &u.product)
	}, `
		SELECT pr.rule_name, p.slug, p.id, p.product FROM policy_rule pr JOIN policy p ON p.deployment_id = pr.deployment_id
		AND p.id = pr.policy_id
		WHERE pr.deployment_id = $1 AND pr.served = 1 AND `+in+` ORDER BY p.id`, arg)
	if err != nil {
		return err
	}
	for i := range list {
		s := &list[i].Serving
		at := slices.IndexFunc(policies, func(p model.Policy) bool {
			return p.ID == s.PolicyID || s.PolicyID == 0 && p.Default && p.Product == s.Rule.IssueType
		})
		switch {
		case at < 0 && s.PolicyID == 0:
			return fmt.Errorf("the default policy of %s: %w", s.Rule.IssueType, model.ErrNotFound)
		case at < 0:
			return fmt.Errorf("policy %d: %w", s.PolicyID, model.ErrNotFound)
		}
		s.PolicyID = policies[at].ID
		list[i].newest = newest[list[i].content.key.name]
		if err := list[i].check(policies[at], uses); err != nil {
			return err
		}
	}
	return nil
}

// check returns model.ErrConflict if the rule may not be added to a policy. A rule belongs to one
// product at a time, because its findings do too. A changed text is accepted only for policies that
// serve the rule; elsewhere it is most likely another rule with the same id.
func (s *placing) check(p model.Policy, uses []ruleUse) error {
	name := s.content.key.name
	if p.Product != s.Rule.IssueType {
		return fmt.Errorf("%.80s is a rule for %s, but the policy %s is for %s: %w",
			s.Rule.Name, s.Rule.IssueType, p.Slug, p.Product, model.ErrConflict)
	}
	if other := slices.IndexFunc(uses, func(u ruleUse) bool {
		return u.rule == name && u.product != p.Product
	}); other >= 0 {
		return fmt.Errorf("the policy %s has %.80s as a rule for another product; remove it there first: %w",
			uses[other].slug, s.Rule.Name, model.ErrConflict)
	}
	if s.Starter || s.newest.Version == 0 || string(s.newest.Text) == string(s.Text) {
		return nil
	}
	if slices.ContainsFunc(uses, func(u ruleUse) bool { return u.rule == name && u.policyID == p.ID }) {
		return nil
	}
	if other := slices.IndexFunc(uses, func(u ruleUse) bool { return u.rule == name }); other >= 0 {
		return fmt.Errorf("the policy %s has another text of %.80s, which would be replaced: rename the rule, or add "+
			"the new text to that policy first: %w",
			uses[other].slug, s.Rule.Name, model.ErrConflict)
	}
	return nil
}

func namesOf(list []placing) []string {
	return model.Map(list, func(p placing) string { return p.content.key.name })
}

// addToPolicies stores the rules' contents and adds the rules to their policies. It updates other
// policies that list the rules, and sets the ids in the policies.
func (tx *Tx) addToPolicies(ctx context.Context, list []placing) error {
	known, err := tx.ruleIDs(ctx, namesOf(list))
	if err != nil {
		return err
	}
	contents := model.Map(list, func(p placing) ruleContent { return p.content })
	if err := tx.insertMissing(ctx, contents, known); err != nil {
		return err
	}
	names := map[model.IssueType][]string{}
	entries := map[string]policyEntry{}
	for _, p := range list {
		name := p.content.key.name
		names[p.Rule.IssueType] = append(names[p.Rule.IssueType], name)
		entries[name] = policyEntry{name, known[p.content.key], p.Rule, p.PolicyID}
	}
	for product, names := range names {
		if _, err := tx.renewPolicyRules(ctx, product, names, entries, false); err != nil {
			return err
		}
	}
	return tx.resolvePolicyRules(ctx, list, entries)
}

// resolvePolicyRules sets the id of each rule in its policy and its previous served state. It adds rules
// that are not listed.
func (tx *Tx) resolvePolicyRules(ctx context.Context, list []placing, entries map[string]policyEntry) error {
	type ruleKey struct {
		policyID int64
		name     string
	}
	known := map[ruleKey]int64{}
	in, arg := tx.In("rule_name", 2, namesOf(list))
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var at ruleKey
		var id int64
		err := r.Scan(&id, &at.policyID, &at.name)
		known[at] = id
		return err
	}, `SELECT id, policy_id, rule_name FROM policy_rule WHERE deployment_id = $1 AND `+in, arg)
	if err != nil {
		return err
	}
	var fresh []policyEntry
	var added []*placing
	for i := range list {
		p := &list[i]
		if p.id = known[ruleKey{p.PolicyID, p.content.key.name}]; p.id == 0 {
			fresh, added = append(fresh, entries[p.content.key.name]), append(added, p)
		}
	}
	ids, err := tx.listRules(ctx, fresh)
	if err != nil {
		return err
	}
	for i, p := range added {
		p.id = ids[i]
	}
	served, err := tx.servedAt(ctx, list)
	for i := range list {
		list[i].before = served[list[i].id]
	}
	return err
}

// servedAt returns the rules that their policies serve, by id in the policy.
func (tx *Tx) servedAt(ctx context.Context, list []placing) (map[int64]model.ServedRule, error) {
	ids := model.Map(list, func(p placing) int64 { return p.id })
	in, arg := tx.In("pr.id", 2, ids)
	served, err := sqldb.Many(ctx, tx, scanServed, servedSelect+` AND `+in, arg)
	at := make(map[int64]model.ServedRule, len(served))
	for _, s := range served {
		at[s.ID] = s
	}
	return at, err
}

// addVersions stores the texts as the newest versions of the rules, if they changed.
func (tx *Tx) addVersions(ctx context.Context, list []placing) error {
	var checked, changed []string
	var rows [][]any
	for _, p := range list {
		name := p.content.key.name
		v := p.newest
		switch {
		case v.Version == 0 || string(v.Text) != string(p.Text):
			changed = append(changed, name)
			rows = append(rows, []any{name, v.Version + 1, string(p.Text), p.Checked, p.Starter, tx.Now(), tx.Actor().String()})
		case p.Checked && !v.Checked:
			checked = append(checked, name)
		}
	}
	if len(checked) > 0 {
		in, arg := tx.In("rule_name", 2, checked)
		if err := tx.Write(
			ctx, `UPDATE rule_version SET checked = 1 WHERE deployment_id = $1 AND `+in+newestVersion, arg,
		); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	err := tx.Insert(
		ctx, `rule_version (deployment_id, rule_name, version, text_json, checked, starter, added_at, added_by)`, rows, "",
	)
	if err != nil {
		return err
	}
	in, arg := tx.In("rule_name", 4, changed)
	return tx.Write(ctx, `UPDATE policy_rule SET last_change_at = $2, last_change_by = $3 WHERE deployment_id = $1 AND `+
		`served = 1 AND `+in,
		tx.Now(), tx.Actor().String(), arg)
}

// newestVersion is the condition for the newest version of a rule.
const newestVersion = ` AND version = (SELECT MAX(n.version) FROM rule_version n
	WHERE n.deployment_id = rule_version.deployment_id AND n.rule_name = rule_version.rule_name)`

// newestVersions returns the newest version and text of rules, by name; rules that were never
// served are omitted.
func (tx *Tx) newestVersions(ctx context.Context, names []string) (map[string]model.RuleVersion, error) {
	newest := map[string]model.RuleVersion{}
	in, arg := tx.In("rule_name", 2, names)
	return newest, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var v model.RuleVersion
		var name, text string
		err := r.Scan(&name, &v.Version, &text, &v.Checked)
		v.Text = []byte(text)
		newest[name] = v
		return err
	}, `SELECT rule_name, version, text_json, checked FROM rule_version WHERE deployment_id = $1 AND `+in+newestVersion,
		arg)
}

// markServed marks the rules as served by their policies, with their modes.
func (tx *Tx) markServed(ctx context.Context, list []placing) error {
	byMode := map[model.PolicyMode][]int64{}
	for _, p := range list {
		mode := p.Mode
		if mode == 0 {
			mode = max(p.before.Mode, model.ModeMonitor)
		}
		if p.before.ID == 0 || p.before.Mode != mode {
			byMode[mode] = append(byMode[mode], p.id)
		}
		tx.Change(sqldb.ChangePolicyRule, p.id)
	}
	for mode, ids := range byMode {
		in, arg := tx.In("id", 5, ids)
		err := tx.Write(ctx,
			`UPDATE policy_rule SET served = 1, removed = 0, mode = $2, last_change_at = $3, last_change_by = $4
			WHERE deployment_id = $1 AND `+in, mode, tx.Now(), tx.Actor().String(), arg)
		if err != nil {
			return err
		}
	}
	return nil
}
