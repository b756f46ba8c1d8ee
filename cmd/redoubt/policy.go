package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

type policyCmd struct {
	List     policyListCmd     `cmd:"" help:"List the policies."`
	Show     policyShowCmd     `cmd:"" help:"Show the rules of a policy."`
	AddRules policyAddRulesCmd `cmd:"" help:"Serve the rules of Semgrep YAML files to scanners, each in the default policy of its product."`
	SetMode  policySetModeCmd  `cmd:"" help:"Decide what the findings of a rule do to a build."`
	Remove   policyRemoveCmd   `cmd:"" help:"Serve a rule no more; the next full scan of a branch removes its findings."`
}

type policyListCmd struct{ tenant }

// Run lists the policies.
func (c policyListCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		if err != nil {
			return err
		}
		served, err := tx.ServedRules(ctx)
		if err != nil {
			return err
		}
		count := map[int64]int{}
		for _, s := range served {
			count[s.PolicyID]++
		}
		rows := make([][]string, len(policies))
		for i, p := range policies {
			rows[i] = []string{strconv.FormatInt(p.ID, 10), p.Slug, p.Product.String(), strconv.Itoa(count[p.ID]), p.Name}
		}
		return table(a.out, "ID SLUG PRODUCT SERVED NAME", rows)
	})
}

type policyShowCmd struct {
	tenant
	Policy string `arg:"" help:"The policy, by slug or id."`
}

// Run lists the rules of a policy: those that are served, and those that are
// known from imports.
func (c policyShowCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		p, err := policyNamed(ctx, tx, c.Policy)
		if err != nil {
			return err
		}
		rules, err := allRules(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		served, err := tx.ServedRules(ctx)
		if err != nil {
			return err
		}
		rows := make([][]string, len(rules))
		for i, r := range rules {
			rows[i] = []string{r.Rule.Name, r.Mode.String(), "no", "-", "-", day(r.LastChangeAt)}
			if at := slices.IndexFunc(served, func(s redoubt.ServedRule) bool { return s.ID == r.ID }); at >= 0 {
				rows[i][2], rows[i][3], rows[i][4] = "yes", strconv.Itoa(served[at].Version), yesNo(served[at].Checked)
			}
		}
		return table(a.out, "RULE MODE SERVED VERSION CHECKED CHANGED", rows)
	})
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func policyNamed(ctx context.Context, tx *store.Tx, name string) (redoubt.Policy, error) {
	policies, err := tx.Policies(ctx)
	if err != nil {
		return redoubt.Policy{}, err
	}
	for _, p := range policies {
		if p.Slug == name || strconv.FormatInt(p.ID, 10) == name {
			return p, nil
		}
	}
	return redoubt.Policy{}, fmt.Errorf("there is no policy %q; redoubt policy list shows what there is", name)
}

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
	Mode    string   `help:"What their findings do to a build: monitor, comment or block; by default what they did before, monitor for new ones." placeholder:"MODE"`
	Semgrep string   `help:"The semgrep to check the rules with." default:"semgrep" env:"REDOUBT_SEMGREP" placeholder:"FILE"`
	Files   []string `arg:"" name:"file" help:"Files of rules."`
}

// Run adds all rules of all files, or none.
func (c policyAddRulesCmd) Run(a *app) error {
	mode, ok := redoubt.ParsePolicyMode(c.Mode)
	if c.Mode != "" && !ok {
		return fmt.Errorf("there is no mode %q: take monitor, comment or block", c.Mode)
	}
	rules, err := readRules(c.Files)
	if err != nil {
		return err
	}
	checked, err := checkRules(a, c.Semgrep, c.Files)
	if err != nil {
		return err
	}
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		for _, r := range rules {
			content, err := report.SemgrepRule(r.Text)
			if err != nil {
				return "", err
			}
			content.IssueType = r.Product
			s, err := tx.ServeRule(ctx, *content, r.Text, checked, mode)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(a.err, "%s: %s, version %d\n", r.ID, s.Mode, s.Version)
		}
		if !checked {
			return fmt.Sprintf("%d rules are served; NOT checked, since there is no %s here: one that does not parse ends every scan with exit code 7", len(rules), c.Semgrep), nil
		}
		return fmt.Sprintf("%d rules are served; semgrep has parsed them", len(rules)), nil
	})
}

func readRules(files []string) (rules []policy.Rule, err error) {
	from := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		parsed, err := policy.Parse(text)
		if err != nil {
			return nil, inFile(name, err)
		}
		for _, r := range parsed {
			if from[r.ID] != "" {
				return nil, fmt.Errorf("the rule %s is in %s and in %s", r.ID, from[r.ID], name)
			}
			from[r.ID] = name
		}
		rules = append(rules, parsed...)
	}
	return rules, nil
}

// inFile names the file in front of each fault.
func inFile(name string, err error) error {
	var invalid *redoubt.InvalidError
	if !errors.As(err, &invalid) {
		return fmt.Errorf("%s: %w", name, err)
	}
	for i := range invalid.Fields {
		invalid.Fields[i].Location = name + ": " + invalid.Fields[i].Location
	}
	return invalid
}

type policySetModeCmd struct {
	tenant
	Rule string `arg:"" help:"The rule's id."`
	Mode string `arg:"" help:"monitor: only list them; comment: list them for comments; block: fail the build on new ones." enum:"monitor,comment,block"`
}

// Run sets the mode in every policy that has the rule.
func (c policySetModeCmd) Run(a *app) error {
	mode, _ := redoubt.ParsePolicyMode(c.Mode)
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		err := inPolicies(ctx, tx, c.Rule, func(policyID int64) error {
			_, err := tx.SetRuleMode(ctx, policyID, c.Rule, mode)
			return err
		})
		return fmt.Sprintf("%s is now in mode %s", c.Rule, mode), err
	})
}

type policyRemoveCmd struct {
	tenant
	Rule string `arg:"" help:"The rule's id."`
}

// Run takes the rule out of every policy that has it.
func (c policyRemoveCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		err := inPolicies(ctx, tx, c.Rule, func(policyID int64) error { return tx.RemoveRule(ctx, policyID, c.Rule) })
		return fmt.Sprintf("%s is served no more", c.Rule), err
	})
}

// inPolicies does something in each policy that has a rule.
func inPolicies(ctx context.Context, tx *store.Tx, rule string, do func(policyID int64) error) error {
	policies, err := tx.Policies(ctx)
	if err != nil {
		return err
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
	if !found {
		return fmt.Errorf("no policy has a rule %q; redoubt policy show lists a policy's", rule)
	}
	return nil
}
