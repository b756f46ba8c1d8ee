package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

type policyCmd struct {
	List      policyListCmd      `cmd:"" help:"List the policies."`
	Show      policyShowCmd      `cmd:"" help:"Show a policy: its scope and its rules."`
	Create    policyCreateCmd    `cmd:"" help:"Create a policy for some projects or all."`
	Set       policySetCmd       `cmd:"" help:"Change the scope, the excluded paths and the gate of a policy."`
	Delete    policyDeleteCmd    `cmd:"" help:"Delete a policy that is not a default one; its rules stay in other policies that have them."`
	AddRules  policyAddRulesCmd  `cmd:"" help:"Serve the rules of Semgrep YAML files to scanners, each in the default policy of its product."`
	SetMode   policySetModeCmd   `cmd:"" help:"Set the mode of a rule: monitor, comment or block."`
	Remove    policyRemoveCmd    `cmd:"" help:"Stop serving a rule; the next full scan of a branch removes its findings."`
	Test      policyTestCmd      `cmd:"" help:"Try rules on a checkout before they are served: what they find, what of it is new, and what would fail a build."`
	Condition policyConditionCmd `cmd:"" help:"Manage conditions: which dependencies fail builds, whatever rule or advisory reports them."`
	History   policyHistoryCmd   `cmd:"" help:"List the versions of a rule, or print one."`
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
		count, starters := map[int64]int{}, map[int64]int{}
		for _, s := range served {
			count[s.PolicyID]++
			if s.Starter {
				starters[s.PolicyID]++
			}
		}
		rows := make([][]string, len(policies))
		for i, p := range policies {
			rows[i] = []string{
				strconv.FormatInt(p.ID, 10), p.Slug, p.Product.String(), strconv.Itoa(count[p.ID]), strconv.Itoa(starters[p.ID]),
				scopeOf(p), blocksOf(p), cmp.Or(strings.Join(p.Excludes, " "), "-"), p.Name,
			}
		}
		return table(a.out, "ID SLUG PRODUCT SERVED STARTER FOR BLOCKS EXCLUDES NAME", rows)
	})
}

// scopeOf says in a word which projects and branches a policy is for.
func scopeOf(p redoubt.Policy) string {
	var parts []string
	if p.Scope.Everything() {
		parts = append(parts, "all projects")
	}
	if len(p.Scope.Projects) > 0 {
		parts = append(parts, strings.Join(p.Scope.Projects, " "))
	}
	if len(p.Scope.Tags) > 0 {
		parts = append(parts, "tagged "+strings.Join(p.Scope.Tags, " or "))
	}
	if len(p.Branches) > 0 {
		parts = append(parts, "on "+strings.Join(p.Branches, " or "))
	}
	return strings.Join(parts, ", ")
}

func blocksOf(p redoubt.Policy) string {
	if p.BlockAll {
		return "all"
	}
	return "new"
}

type policyShowCmd struct {
	tenant
	Policy string `arg:"" help:"The policy, by slug or id."`
}

// Run shows a policy and its rules: those that are served, and those that are
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
			rows[i] = []string{r.Rule.Name, r.Mode.String(), "no", "-", "-", "-", day(r.LastChangeAt)}
			if at := slices.IndexFunc(served, func(s redoubt.ServedRule) bool { return s.ID == r.ID }); at >= 0 {
				rows[i][2], rows[i][3], rows[i][4], rows[i][5] = "yes", strconv.Itoa(served[at].Version), yesNo(served[at].Checked), yesNo(served[at].Starter)
			}
		}
		fmt.Fprintf(a.out, "%s: for %s; blocking rules fail builds on %s findings; paths left out: %s%s\n\n",
			p.Name, scopeOf(p), blocksOf(p), cmp.Or(strings.Join(p.Excludes, " "), "none"), dueOf(p))
		if err := table(a.out, "RULE MODE SERVED VERSION CHECKED STARTER CHANGED", rows); err != nil || len(p.Conditions) == 0 {
			return err
		}
		fmt.Fprintln(a.out)
		rows = make([][]string, len(p.Conditions))
		for i := range p.Conditions {
			c := &p.Conditions[i]
			rows[i] = []string{strconv.FormatInt(c.ID, 10), c.Mode.String(), c.Sentence()}
		}
		return table(a.out, "CONDITION MODE WHAT", rows)
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

type policyCreateCmd struct {
	tenant
	Name     string   `arg:"" help:"Its name; its slug is made of it."`
	Product  string   `help:"What its rules look for: sast, sca or secrets." required:"" enum:"sast,sca,secrets" placeholder:"PRODUCT"`
	Project  []string `help:"Only for projects whose name matches: * for anything but /, ** for anything. May be repeated." sep:"none" placeholder:"GLOB"`
	Tag      []string `help:"Only for projects with the tag. May be repeated: one of them is enough." sep:"none" placeholder:"TAG"`
	Branch   []string `help:"Only on branches whose name matches, or refs in full (refs/pull/**): elsewhere it fails no build and comments nothing. May be repeated." sep:"none" placeholder:"GLOB"`
	Exclude  []string `help:"Paths that scanners leave out for the product, as in .gitignore. May be repeated." sep:"none" placeholder:"GLOB"`
	BlockAll bool     `help:"Blocking rules fail builds on findings that the primary branch has too."`
	Due      dueFlags `name:"due" help:"Days to fix findings of a class: critical, high, medium, low; for the supply chain also not_rated and known_exploited. May be repeated." placeholder:"CLASS=DAYS"`
}

// Run makes the policy.
func (c policyCreateCmd) Run(a *app) error {
	product, _ := redoubt.ParseIssueType(c.Product)
	var due redoubt.DueDays
	if err := c.Due.set(&due); err != nil {
		return err
	}
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, removed, err := policy.Save(ctx, tx, redoubt.Policy{
			Name: c.Name, Product: product, Scope: redoubt.PolicyScope{Projects: c.Project, Tags: c.Tag}, Branches: c.Branch, Excludes: c.Exclude, BlockAll: c.BlockAll, Due: due,
		})
		if err != nil {
			return "", err
		}
		warning, err := unmatched(ctx, tx, p)
		return fmt.Sprintf("created policy %s (id %d) for %s%s%s; next: redoubt policy add-rules --policy %s FILE, or redoubt policy set-mode --policy %s RULE MODE",
			p.Slug, p.ID, scopeOf(p), removal(removed), warning, p.Slug, p.Slug), err
	})
}

// unmatched says which branches of a policy fit nothing that was scanned.
func unmatched(ctx context.Context, tx *store.Tx, p redoubt.Policy) (string, error) {
	u, err := policy.UnmatchedBranches(ctx, tx, p)
	if err != nil || len(u.Globs) == 0 {
		return "", err
	}
	said := fmt.Sprintf("; no branch that was scanned fits %s, there are %s", strings.Join(u.Globs, " "), strings.Join(u.Refs, " "))
	if u.More > 0 {
		said += fmt.Sprintf(" and %d more", u.More)
	}
	return said, nil
}

// removal says what became of findings on paths that are left out.
func removal(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d findings on paths that it leaves out are removed", n)
}

type policySetCmd struct {
	tenant
	Policy   string   `arg:"" help:"The policy, by slug or id."`
	Name     string   `help:"Another name; the slug stays." placeholder:"NAME"`
	Project  []string `help:"Only for projects whose name matches, in place of those before." sep:"none" placeholder:"GLOB"`
	Tag      []string `help:"Only for projects with one of the tags, in place of those before." sep:"none" placeholder:"TAG"`
	Branch   []string `help:"Only on branches whose name matches, in place of those before." sep:"none" placeholder:"GLOB"`
	Exclude  []string `help:"Paths that scanners leave out, in place of those before." sep:"none" placeholder:"GLOB"`
	Clear    []string `help:"Clear these: project, tag, branch, exclude, due." enum:"project,tag,branch,exclude,due" placeholder:"WHAT"`
	Due      dueFlags `name:"due" help:"Days to fix findings of a class: critical, high, medium, low; for the supply chain also not_rated and known_exploited. 0 is no due date; other classes stay. May be repeated." placeholder:"CLASS=DAYS"`
	BlockAll *bool    `help:"Blocking rules fail builds on findings that the primary branch has too; --no-block-all: on new ones only." negatable:""`
}

// Run changes the policy, and removes the findings that it now leaves out.
func (c policySetCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, err := policyNamed(ctx, tx, c.Policy)
		if err != nil {
			return "", err
		}
		p.Name = cmp.Or(c.Name, p.Name)
		if c.BlockAll != nil {
			p.BlockAll = *c.BlockAll
		}
		for what, list := range map[string]struct {
			member *[]string
			given  []string
		}{
			"project": {(*[]string)(&p.Scope.Projects), c.Project}, "tag": {&p.Scope.Tags, c.Tag}, "branch": {(*[]string)(&p.Branches), c.Branch}, "exclude": {(*[]string)(&p.Excludes), c.Exclude},
		} {
			switch cleared := slices.Contains(c.Clear, what); {
			case cleared && len(list.given) > 0:
				return "", fmt.Errorf("--clear %s and --%s exclude each other", what, what)
			case cleared:
				*list.member = nil
			case len(list.given) > 0:
				*list.member = list.given
			}
		}
		if slices.Contains(c.Clear, "due") {
			p.Due = redoubt.DueDays{}
		}
		if err := c.Due.set(&p.Due); err != nil {
			return "", err
		}
		p, removed, err := policy.Save(ctx, tx, p)
		if err != nil {
			return "", err
		}
		warning, err := unmatched(ctx, tx, p)
		return fmt.Sprintf("policy %s is for %s, blocks %s findings and leaves out %s%s%s%s",
			p.Slug, scopeOf(p), blocksOf(p), cmp.Or(strings.Join(p.Excludes, " "), "nothing"), dueOf(p), removal(removed), warning), err
	})
}

type policyDeleteCmd struct {
	tenant
	Policy string `arg:"" help:"The policy, by slug or id."`
}

// Run deletes the policy.
func (c policyDeleteCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, err := policyNamed(ctx, tx, c.Policy)
		if err != nil {
			return "", err
		}
		err = tx.DeletePolicy(ctx, p.ID)
		if errors.Is(err, redoubt.ErrConflict) {
			return "", fmt.Errorf("%s is the default policy for %s, and stays: remove its rules with redoubt policy remove", p.Slug, p.Product)
		}
		return "deleted policy " + p.Slug, err
	})
}
