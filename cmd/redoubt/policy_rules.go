package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

// pageOfRules is how many rules are read at once.
const pageOfRules = 1000

func allRules(ctx context.Context, tx *store.Tx, policyID int64) (all []redoubt.PolicyRule, err error) {
	for after, more := int64(0), true; more; {
		var rules []redoubt.PolicyRule
		if rules, more, err = tx.PolicyRules(ctx, policyID, after, pageOfRules); err != nil {
			return nil, err
		}
		all = append(all, rules...)
		if len(rules) > 0 {
			after = rules[len(rules)-1].ID
		}
	}
	return all, nil
}

type policyAddRulesCmd struct {
	tenant
	Policy  string   `help:"The policy to put them into, by slug or id; the default one of each rule's product by default." placeholder:"POLICY"`
	Mode    string   `help:"What their findings do to a build: monitor, comment or block; by default what they did before, monitor for new ones." placeholder:"MODE"`
	Semgrep string   `help:"The semgrep to check the rules with." default:"semgrep" env:"REDOUBT_SEMGREP" placeholder:"FILE"`
	Starter bool     `help:"The rules that come with the server, as this version has them; those that were removed come back."`
	Skip    bool     `help:"Take the rest where some rules are invalid, and say what was left out and why." name:"skip-invalid"`
	Files   []string `arg:"" name:"file" optional:"" help:"Files of rules, or folders, of which all .yaml and .yml files are taken."`
}

// Run adds all rules of all files, or none; with --skip-invalid those that will do.
func (c policyAddRulesCmd) Run(a *app) error {
	mode, ok := redoubt.ParsePolicyMode(c.Mode)
	if c.Mode != "" && !ok {
		return fmt.Errorf("there is no mode %q: take monitor, comment or block", c.Mode)
	}
	switch {
	case c.Starter && len(c.Files) > 0:
		return errors.New("--starter and files exclude each other")
	case c.Starter:
		return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
			n, err := addStarterRules(ctx, tx, mode)
			return fmt.Sprintf("%d starter rules are served", n), err
		})
	case len(c.Files) == 0:
		return errors.New("name a file of rules, or --starter for those that come with the server")
	}
	set, err := readRules(c.Files, true) // check tells of what was left out, or drops it
	if err != nil {
		return err
	}
	checked, err := c.check(a, set)
	if err != nil {
		return err
	}
	for _, f := range set.left {
		fmt.Fprintf(a.err, "left out: %s: %s\n", f.Location, f.Message)
	}
	if len(set.rules) == 0 {
		return errors.New("no rule is left to be served")
	}
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		var policyID int64
		if c.Policy != "" {
			p, err := policyNamed(ctx, tx, c.Policy)
			if err != nil {
				return "", err
			}
			policyID = p.ID
		}
		served, err := serveRules(ctx, tx, set.rules, store.Serving{Checked: checked, Mode: mode, PolicyID: policyID})
		if err != nil {
			return "", err
		}
		for i, r := range set.rules {
			fmt.Fprintf(a.err, "%s: %s, version %d\n", r.ID, served[i].Mode, served[i].Version)
		}
		left := ""
		if len(set.left) > 0 {
			left = fmt.Sprintf("; %d faults, see above, left rules out", len(set.left))
		}
		if !checked {
			return fmt.Sprintf("%d rules are served; NOT checked, since there is no %s here: one that does not parse ends every scan with exit code 7%s", len(set.rules), c.Semgrep, left), nil
		}
		return fmt.Sprintf("%d rules are served; semgrep has parsed them%s", len(set.rules), left), nil
	})
}

// maxRounds bounds how often the scanner is asked for further faults where
// nothing will be taken.
const maxRounds = 20

// check lets the scanner parse the rules. It tells of one that it rejects and
// stops, mostly, so the rest is parsed again without that one: all faults are
// told at once, with those that reading found, or with --skip-invalid left out.
func (c policyAddRulesCmd) check(a *app, set *ruleSet) (checked bool, err error) {
	search := ruleSearch{app: a, semgrep: c.Semgrep, left: maxSearchRuns}
	for round := 1; len(set.rules) > 0; round++ {
		var bad *badRulesError
		if checked, err = checkRules(a, c.Semgrep, set.rules); !errors.As(err, &bad) {
			break
		}
		if len(bad.why) == 0 {
			if findErr := search.find(set, bad); findErr != nil {
				return false, findErr
			}
			if len(bad.why) == 0 {
				break
			}
		}
		set.withoutBad(bad)
		if round == maxRounds && !c.Skip {
			set.leaveOut("the other rules", "may have faults too: the scanner tells of one at a time, and was asked %d times", round)
			break
		}
		err = nil
	}
	if len(set.left) > 0 && !c.Skip && a.ctx.Err() == nil {
		return false, errors.Join(unlessRejected(err), &redoubt.InvalidError{Fields: set.left})
	}
	return checked, err
}

// unlessRejected drops the error that tells of rules, which are told with their
// files.
func unlessRejected(err error) error {
	if bad, rejected := errors.AsType[*badRulesError](err); rejected && len(bad.why) > 0 {
		return nil
	}
	return err
}

// serveRules serves rules, each as s says.
func serveRules(ctx context.Context, tx *store.Tx, rules []policy.Rule, s store.Serving) ([]redoubt.ServedRule, error) {
	list := make([]store.Serving, len(rules))
	for i, r := range rules {
		content, err := report.ServedRule(r.Text, r.Product)
		if err != nil {
			return nil, err
		}
		s.Rule, s.Text = content, r.Text
		list[i] = s
	}
	return tx.ServeRules(ctx, list)
}

type policySetModeCmd struct {
	tenant
	Rule   string `arg:"" help:"The rule's id."`
	Mode   string `arg:"" help:"monitor: only list them; comment: list them for comments; block: fail the build on new ones." enum:"monitor,comment,block"`
	Policy string `help:"Only in this policy, which serves the rule from now on if another one does; in all that have it by default." placeholder:"POLICY"`
}

// Run sets the mode in every policy that has the rule, or in one.
func (c policySetModeCmd) Run(a *app) error {
	mode, _ := redoubt.ParsePolicyMode(c.Mode)
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		err := inPolicies(ctx, tx, c.Rule, c.Policy, func(policyID int64) error {
			_, err := tx.SetRuleMode(ctx, policyID, c.Rule, mode)
			if c.Policy == "" || !errors.Is(err, redoubt.ErrNotFound) {
				return err
			}
			return serveToo(ctx, tx, policyID, c.Rule, mode)
		})
		if c.Policy != "" {
			return fmt.Sprintf("%s is now in mode %s in the policy %s", c.Rule, mode, c.Policy), err
		}
		return fmt.Sprintf("%s is now in mode %s", c.Rule, mode), err
	})
}

// serveToo adds a rule that another policy has to a policy: distributed, or, where only
// imports name it, listed.
func serveToo(ctx context.Context, tx *store.Tx, policyID int64, rule string, mode redoubt.PolicyMode) error {
	served, err := tx.ServedRules(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(served, func(s redoubt.ServedRule) bool { return s.Rule.Name == rule })
	if i >= 0 {
		_, err = tx.ServeRule(ctx, store.Serving{
			Rule: served[i].Rule, Text: served[i].Text, Checked: served[i].Checked, Starter: served[i].Starter, Mode: mode, PolicyID: policyID,
		})
		return err
	}
	into, err := tx.Policy(ctx, policyID)
	if err != nil {
		return err
	}
	policies, err := tx.Policies(ctx)
	if err != nil {
		return err
	}
	for _, p := range policies {
		if p.Product != into.Product {
			continue
		}
		found, err := tx.PolicyRuleNamed(ctx, p.ID, rule)
		if errors.Is(err, redoubt.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		return tx.ListRules(ctx, policyID, []redoubt.PolicyRule{found}, mode)
	}
	return redoubt.ErrNotFound
}

type policyRemoveCmd struct {
	tenant
	Rule   string `arg:"" help:"The rule's id."`
	Policy string `help:"Only out of this policy; out of all that have it by default." placeholder:"POLICY"`
}

// Run takes the rule out of every policy that has it, or out of one.
func (c policyRemoveCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		err := inPolicies(ctx, tx, c.Rule, c.Policy, func(policyID int64) error { return tx.RemoveRule(ctx, policyID, c.Rule) })
		if c.Policy != "" {
			return fmt.Sprintf("the policy %s serves %s no more", c.Policy, c.Rule), err
		}
		return fmt.Sprintf("%s is served no more", c.Rule), err
	})
}

// inPolicies does something in each policy that has a rule, or in the one named.
func inPolicies(ctx context.Context, tx *store.Tx, rule, only string, do func(policyID int64) error) error {
	policies, err := tx.Policies(ctx)
	if err != nil {
		return err
	}
	if only != "" {
		p, err := policyNamed(ctx, tx, only)
		if err != nil {
			return err
		}
		policies = []redoubt.Policy{p}
	}
	found := false
	for _, p := range policies {
		switch err := do(p.ID); {
		case err == nil:
			found = true
		case !errors.Is(err, redoubt.ErrNotFound):
			return err
		}
	}
	switch {
	case found:
		return nil
	case only != "":
		return fmt.Errorf("the policy %s has no rule %q; redoubt policy show %s lists its rules", only, rule, only)
	}
	return fmt.Errorf("no policy has a rule %q; redoubt policy show lists a policy's", rule)
}

type policyHistoryCmd struct {
	tenant
	Rule    string `arg:"" help:"The rule's id."`
	Version int    `help:"Print the text of this version." placeholder:"N"`
}

// Run lists the versions of a rule, or prints the text of one.
func (c policyHistoryCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		versions, err := tx.RuleVersions(ctx, c.Rule)
		if err != nil {
			return err
		}
		if len(versions) == 0 {
			return fmt.Errorf("a rule %q was never served; redoubt policy show lists a policy's", c.Rule)
		}
		if c.Version != 0 {
			i := slices.IndexFunc(versions, func(v redoubt.RuleVersion) bool { return v.Version == c.Version })
			if i < 0 {
				return fmt.Errorf("%s has the versions 1 to %d", c.Rule, len(versions))
			}
			return printRule(exact(a.out), versions[i].Text)
		}
		rows := make([][]string, len(versions))
		for i, v := range versions {
			rows[i] = []string{strconv.Itoa(v.Version), yesNo(v.Checked), yesNo(v.Starter), day(v.AddedAt), v.AddedBy}
		}
		return table(a.out, "VERSION CHECKED STARTER ADDED BY", rows)
	})
}

// printRule writes a rule as a file that add-rules takes.
func printRule(w io.Writer, text []byte) error {
	document, err := policy.YAML(text)
	if err == nil {
		_, err = w.Write(document)
	}
	return err
}
