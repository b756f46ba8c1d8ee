package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/rulefiles"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

type policiesAddRulesCmd struct {
	webapi.Flags
	Policy  string   `help:"Slug or id of the policy (default: the default policy of each rule's product)." placeholder:"POLICY"`
	Mode    string   `help:"Mode: monitor, comment or block (default: unchanged; monitor for new rules)." enum:"monitor,comment,block," default:"" placeholder:"MODE"`
	Semgrep string   `help:"Path of the semgrep that checks the rules." default:"semgrep" env:"REDOUBT_SEMGREP" placeholder:"FILE"`
	Starter bool     `help:"Add this version's built-in starter rules, including removed ones."`
	Skip    bool     `help:"Skip invalid rules, print them, and add the others." name:"skip-invalid"`
	Files   []string `arg:"" name:"file" optional:"" help:"Rule files, or folders with .yaml and .yml files."`
}

// Run adds the rules of all files; with --skip-invalid only the valid ones.
func (c policiesAddRulesCmd) Run(a *command.App) error {
	switch {
	case c.Starter && len(c.Files) > 0:
		return errors.New("--starter cannot be combined with files")
	case !c.Starter && len(c.Files) == 0:
		return errors.New("no rules given: name a file, or use --starter for the built-in rules")
	}
	set, checked := &rulefiles.Set{}, true
	if !c.Starter {
		var err error
		if set, err = rulefiles.Read(c.Files, true); err != nil { // invalid rules are reported or dropped below
			return err
		}
		if checked, err = set.Check(a, c.Semgrep, c.Skip); err != nil {
			return err
		}
		for _, f := range set.Left {
			fmt.Fprintf(a.Err, "skipped: %s: %s\n", f.Location, f.Message)
		}
		if len(set.Rules) == 0 {
			return errors.New("no valid rules to add")
		}
	}
	added, err := c.Add(a, set, checked)
	if err != nil {
		return err
	}
	return c.printAdded(a, added, len(set.Left), checked)
}

// Add adds rules to their policies, and returns them in order.
func (c policiesAddRulesCmd) Add(a *command.App, set *rulefiles.Set, checked bool) (added []api.AddedRule, err error) {
	client, deployment, into, err := ofRule{Flags: c.Flags, Policy: c.Policy}.policies(a)
	if err != nil {
		return nil, err
	}
	into = slices.DeleteFunc(into, func(p api.Policy) bool { return c.Policy == "" && !p.IsDefault })
	added = []api.AddedRule{}
	for _, p := range into {
		requests := []api.AddPolicyRulesRequest{{Starter: true, Mode: c.Mode}}
		if !c.Starter {
			if requests, err = c.requests(set.Rules, p, checked); err != nil {
				return nil, err
			}
		}
		for _, r := range requests {
			answer, err := client.AddPolicyRules(a.Ctx, deployment, p.ID, r)
			if err != nil {
				return nil, err
			}
			added = append(added, answer.Rules...)
		}
	}
	return added, nil
}

// maxRulesText is the maximum size of the rules in one request, in bytes.
const maxRulesText = 900_000

// requests splits the rules for a policy into requests that the server accepts.
func (c policiesAddRulesCmd) requests(
	rules []policy.Rule, p api.Policy, checked bool,
) (list []api.AddPolicyRulesRequest, err error) {
	var texts []json.RawMessage
	size := 0
	flush := func() {
		document, failed := json.Marshal(map[string]any{"rules": texts})
		err = errors.Join(err, failed)
		list = append(list, api.AddPolicyRulesRequest{Text: string(document), Checked: checked, Mode: c.Mode})
		texts, size = nil, 0
	}
	for _, r := range rules {
		if c.Policy == "" && r.Product.String() != productOf(p) {
			continue
		}
		if len(texts) == policy.MaxGathered || len(texts) > 0 && size+len(r.Text) > maxRulesText {
			flush()
		}
		texts, size = append(texts, r.Text), size+len(r.Text)
	}
	if len(texts) > 0 {
		flush()
	}
	return list, err
}

func (c policiesAddRulesCmd) printAdded(a *command.App, added []api.AddedRule, left int, checked bool) error {
	if c.Output != "table" {
		return c.Print(a, "ID RULE MODE VERSION", model.Map(added, func(r api.AddedRule) []string {
			return []string{r.ID, r.Path, r.Mode, strconv.FormatInt(r.Version, 10)}
		}), added)
	}
	sentence := fmt.Sprintf("added %d rules", len(added))
	switch {
	case c.Starter:
		_, err := fmt.Fprintf(a.Out, "added %d starter rules\n", len(added))
		return err
	case checked:
		sentence += "; checked by semgrep"
	default:
		sentence += fmt.Sprintf(
			"; NOT checked, because %s was not found: an invalid rule ends every scan with exit code 7", c.Semgrep,
		)
	}
	for _, r := range added {
		fmt.Fprintf(a.Err, "%s: %s, version %d\n", r.Path, r.Mode, r.Version)
	}
	if left > 0 {
		sentence += fmt.Sprintf("; %d errors above, invalid rules skipped", left)
	}
	_, err := fmt.Fprintln(a.Out, sentence)
	return err
}

// ofRule is a command about a rule in the policies that have it.
type ofRule struct {
	webapi.Flags
	Rule   string `arg:"" help:"Id of the rule."`
	Policy string `help:"Limit to this policy (default: all policies with the rule)." placeholder:"POLICY"`
}

// ruleIn is a rule in a policy.
type ruleIn struct {
	policy api.Policy
	rule   api.PolicyRule
}

// policies connects and returns the named policy, or all.
func (c ofRule) policies(a *command.App) (client *api.Client, deployment string, list []api.Policy, err error) {
	if client, deployment, err = c.Connect(a); err != nil {
		return nil, "", nil, err
	}
	if c.Policy != "" {
		p, err := findPolicy(a, client, deployment, c.Policy)
		return client, deployment, []api.Policy{p}, err
	}
	all, err := client.ListPolicies(a.Ctx, deployment)
	if err != nil {
		return nil, "", nil, err
	}
	return client, deployment, all.Policies, nil
}

// Find returns the rule in each policy that has it, or in the named one.
func (c ofRule) Find(a *command.App) (client *api.Client, deployment string, found []ruleIn, err error) {
	client, deployment, policies, err := c.policies(a)
	if err != nil {
		return nil, "", nil, err
	}
	for _, p := range policies {
		for r, err := range client.PolicyRules(a.Ctx, deployment, p.ID, api.PolicyRulesQuery{Limit: 2000}) {
			if err != nil {
				return nil, "", nil, err
			}
			if r.Path == c.Rule {
				found = append(found, ruleIn{p, r})
			}
		}
	}
	return client, deployment, found, nil
}

// missing returns the error about a rule that no policy has.
func (c ofRule) missing() error {
	if c.Policy != "" {
		return fmt.Errorf("policy %s has no rule %q: run redoubt policies show %s",
			c.Policy, c.Rule, c.Policy)
	}
	return fmt.Errorf("rule %q not found in any policy: run redoubt policies show", c.Rule)
}

// printChanged prints a sentence about the rule, or the rule in its policies.
func (c ofRule) printChanged(a *command.App, sentence string, in []ruleIn) error {
	if c.Output == "table" {
		_, err := fmt.Fprintln(a.Out, sentence)
		return err
	}
	rows := model.Map(in, func(r ruleIn) []string {
		return []string{r.policy.Slug, r.rule.Path, modeOf(r.rule.PolicyMode)}
	})
	return c.Print(a, "POLICY RULE MODE", rows, model.Map(in, func(r ruleIn) api.PolicyRule { return r.rule }))
}

type policiesSetModeCmd struct {
	ofRule
	Mode string `arg:"" help:"Mode: monitor (list findings), comment (list them for comments) or block (fail builds on new ones)." enum:"monitor,comment,block"`
}

// Run sets the mode in all policies that have the rule. With --policy, the rule is added to that
// policy if another policy has it.
func (c policiesSetModeCmd) Run(a *command.App) error {
	client, deployment, policies, err := c.policies(a)
	if err != nil {
		return err
	}
	var found []ruleIn
	r := api.UpdatePolicyRequest{RulePath: c.Rule, PolicyMode: "MODE_" + strings.ToUpper(c.Mode)}
	for _, p := range policies {
		answer, err := client.UpdatePolicy(a.Ctx, deployment, p.ID, r)
		if isMissing(err) && c.Policy != "" {
			_, err = client.AddPolicyRules(a.Ctx, deployment, p.ID, api.AddPolicyRulesRequest{Rule: c.Rule, Mode: c.Mode})
			if err == nil {
				answer, err = client.UpdatePolicy(a.Ctx, deployment, p.ID, r)
			}
		}
		switch {
		case err == nil:
			found = append(found, ruleIn{p, answer.UpdatedRule})
		case !isMissing(err):
			return err
		}
	}
	if len(found) == 0 {
		return c.missing()
	}
	sentence := fmt.Sprintf("%s is now in mode %s", c.Rule, c.Mode)
	if c.Policy != "" {
		sentence += " in the policy " + c.Policy
	}
	return c.printChanged(a, sentence, found)
}

type policiesRemoveRuleCmd struct{ ofRule }

// Run removes the rule from all policies that have it, or from one.
func (c policiesRemoveRuleCmd) Run(a *command.App) error {
	client, deployment, found, err := c.Find(a)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return c.missing()
	}
	for _, in := range found {
		if _, err := client.RemovePolicyRule(a.Ctx, deployment, in.policy.ID, in.rule.ID); err != nil {
			return err
		}
	}
	if c.Policy != "" {
		return c.printChanged(a, fmt.Sprintf("removed %s from policy %s", c.Rule, c.Policy), found)
	}
	return c.printChanged(a, "removed "+c.Rule+" from all policies", found)
}

type policiesHistoryCmd struct {
	webapi.Flags
	Rule    string `arg:"" help:"Id of the rule."`
	Version int64  `help:"Print this version." placeholder:"N"`
}

// Run lists the versions of a rule, or prints the text of one.
func (c policiesHistoryCmd) Run(a *command.App) error {
	client, deployment, found, err := ofRule{Flags: c.Flags, Rule: c.Rule}.Find(a)
	if err != nil {
		return err
	}
	var versions []api.RuleVersion
	if len(found) > 0 {
		answer, err := client.GetPolicyRule(a.Ctx, deployment, found[0].policy.ID, found[0].rule.ID)
		if err != nil {
			return err
		}
		versions = answer.Versions
		slices.Reverse(versions)
	}
	if len(versions) == 0 {
		return fmt.Errorf("rule %q has no versions: run redoubt policies show", c.Rule)
	}
	if c.Version != 0 {
		i := slices.IndexFunc(versions, func(v api.RuleVersion) bool { return v.Version == c.Version })
		if i < 0 {
			return fmt.Errorf("version not found: %s has versions 1 to %d", c.Rule, len(versions))
		}
		_, err := io.WriteString(command.Exact(a.Out), versions[i].Text)
		return err
	}
	return c.Print(a, "VERSION CHECKED STARTER ADDED BY", model.Map(versions, func(v api.RuleVersion) []string {
		return []string{
			strconv.FormatInt(v.Version, 10), yesNo(v.Checked), yesNo(v.Starter), command.Day(v.AddedAt.Time), v.AddedBy,
		}
	}), versions)
}
