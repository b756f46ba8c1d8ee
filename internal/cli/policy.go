package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/model"
)

// PoliciesCmd manages policies.
type PoliciesCmd struct {
	List       policiesListCmd       `cmd:"" default:"withargs" help:"List policies."`
	Show       policiesShowCmd       `cmd:"" help:"Show a policy, its rules and its conditions."`
	Create     policiesCreateCmd     `cmd:"" help:"Create a policy for some projects or all."`
	Update     policiesUpdateCmd     `cmd:"" help:"Change a policy."`
	Delete     policiesDeleteCmd     `cmd:"" help:"Delete a policy, except default policies."`
	AddRules   policiesAddRulesCmd   `cmd:"" help:"Serve the rules of Semgrep YAML files to scanners."`
	SetMode    policiesSetModeCmd    `cmd:"" help:"Set the mode of a rule: monitor, comment or block."`
	RemoveRule policiesRemoveRuleCmd `cmd:"" help:"Remove a rule; the next full scan removes its findings."`
	History    policiesHistoryCmd    `cmd:"" help:"List the versions of a rule, or print one version."`
	Conditions policiesConditionsCmd `cmd:"" help:"Manage conditions that fail builds, regardless of the rule."`
	Preview    policiesPreviewCmd    `cmd:"" help:"List a project's findings that match a policy's conditions."`
}

// ofPolicy is a command about one policy.
type ofPolicy struct {
	webapi.Flags
	Policy string `arg:"" help:"Slug or id of the policy."`
}

// Find connects and returns the policy.
func (c ofPolicy) Find(a *command.App) (client *api.Client, deployment string, p api.Policy, err error) {
	if client, deployment, err = c.Connect(a); err == nil {
		p, err = findPolicy(a, client, deployment, c.Policy)
	}
	return client, deployment, p, err
}

// findPolicy returns a policy by its slug or id.
func findPolicy(a *command.App, client *api.Client, deployment, name string) (api.Policy, error) {
	answer, err := client.ListPolicies(a.Ctx, deployment)
	if err != nil {
		return api.Policy{}, err
	}
	for _, p := range answer.Policies {
		if p.Slug == name || p.ID == name {
			return p, nil
		}
	}
	return api.Policy{}, fmt.Errorf("policy %q not found: run redoubt policies list", name)
}

const policyHead = "ID SLUG PRODUCT SERVED STARTER FOR BLOCKS EXCLUDES NAME"

// policyItem is a policy in a list.
type policyItem struct {
	api.Policy
	Settings api.PolicySettings `json:"settings"`
	Served   int                `json:"served_rules"`
	Starter  int                `json:"starter_rules"`
}

func (p policyItem) row() []string {
	return []string{
		p.ID, p.Slug, productOf(p.Policy), strconv.Itoa(p.Served), strconv.Itoa(p.Starter),
		scopeOf(p.Settings), blocksOf(p.Settings), cmp.Or(strings.Join(p.Settings.Excludes, " "), "-"), p.Name,
	}
}

func productOf(p api.Policy) string {
	return strings.ToLower(strings.TrimPrefix(p.ProductType, "PRODUCT_TYPE_"))
}

// scopeOf describes the projects and branches of a policy.
func scopeOf(s api.PolicySettings) string {
	var parts []string
	if len(s.Projects)+len(s.Tags) == 0 {
		parts = append(parts, "all projects")
	}
	if len(s.Projects) > 0 {
		parts = append(parts, strings.Join(s.Projects, " "))
	}
	if len(s.Tags) > 0 {
		parts = append(parts, "tagged "+strings.Join(s.Tags, " or "))
	}
	if len(s.Branches) > 0 {
		parts = append(parts, "on "+strings.Join(s.Branches, " or "))
	}
	return strings.Join(parts, ", ")
}

func blocksOf(s api.PolicySettings) string {
	if s.BlockAll {
		return "all"
	}
	return "new"
}

type policiesListCmd struct{ webapi.Flags }

// Run lists the policies.
func (c policiesListCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	answer, err := client.ListPolicies(a.Ctx, deployment)
	if err != nil {
		return err
	}
	items, rows := []policyItem{}, [][]string{}
	for _, p := range answer.Policies {
		now, err := client.GetPolicySettings(a.Ctx, deployment, p.ID)
		if err != nil {
			return err
		}
		served, err := client.ListServedRules(a.Ctx, deployment, p.ID, api.ServedRulesQuery{})
		if err != nil {
			return err
		}
		item := policyItem{Policy: p, Settings: now.Settings, Served: len(served.Rules)}
		for _, r := range served.Rules {
			if r.Starter {
				item.Starter++
			}
		}
		items, rows = append(items, item), append(rows, item.row())
	}
	return c.Print(a, policyHead, rows, items)
}

type policiesShowCmd struct{ ofPolicy }

// policyRuleItem is a rule of a policy. Rules known only from reports are not served.
type policyRuleItem struct {
	api.PolicyRule
	Served *api.ServedRule `json:"served"`
}

func (r policyRuleItem) row() []string {
	row := []string{r.Path, modeOf(r.PolicyMode), "no", "-", "-", "-", command.Day(r.LastChangeAt.Time)}
	if s := r.Served; s != nil {
		row[2], row[3], row[4], row[5] = "yes", strconv.FormatInt(s.Version, 10), yesNo(s.Checked), yesNo(s.Starter)
	}
	return row
}

func modeOf(mode string) string { return strings.ToLower(strings.TrimPrefix(mode, "MODE_")) }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Run shows a policy, its rules and its conditions.
func (c policiesShowCmd) Run(a *command.App) error {
	client, deployment, p, err := c.Find(a)
	if err != nil {
		return err
	}
	now, err := client.GetPolicySettings(a.Ctx, deployment, p.ID)
	if err != nil {
		return err
	}
	due, err := client.GetDueDays(a.Ctx, deployment, p.ID)
	if err != nil {
		return err
	}
	conditions, err := client.ListPolicyConditions(a.Ctx, deployment, p.ID)
	if err != nil {
		return err
	}
	rules, err := allRules(a, client, deployment, p.ID)
	if err != nil {
		return err
	}
	rows := model.Map(rules, policyRuleItem.row)
	if c.Output == "table" {
		fmt.Fprintf(a.Out, "%s: for %s; blocking rules fail builds on %s findings; excluded paths: %s%s\n\n", p.Name,
			scopeOf(now.Settings), blocksOf(now.Settings), cmp.Or(strings.Join(now.Settings.Excludes, " "), "none"),
			dueText(due.DueDays))
	}
	err = c.Print(a, "RULE MODE SERVED VERSION CHECKED STARTER CHANGED", rows, struct {
		api.PolicySettingsResponse
		DueDays    api.DueDays           `json:"due_days"`
		Rules      []policyRuleItem      `json:"rules"`
		Conditions []api.PolicyCondition `json:"conditions"`
	}{*now, due.DueDays, rules, conditions.Conditions})
	if err != nil || c.Output != "table" || len(conditions.Conditions) == 0 {
		return err
	}
	fmt.Fprintln(a.Out)
	return command.Table(a.Out, "CONDITION MODE WHAT",
		model.Map(conditions.Conditions, func(one api.PolicyCondition) []string {
			return []string{strconv.FormatInt(one.ID, 10), one.Mode, one.Text}
		}))
}

// allRules returns the rules of a policy.
func allRules(a *command.App, client *api.Client, deployment, policyID string) ([]policyRuleItem, error) {
	served, err := client.ListServedRules(a.Ctx, deployment, policyID, api.ServedRulesQuery{})
	if err != nil {
		return nil, err
	}
	list := []policyRuleItem{}
	for r, err := range client.PolicyRules(a.Ctx, deployment, policyID, api.PolicyRulesQuery{Limit: 2000}) {
		if err != nil {
			return nil, err
		}
		item := policyRuleItem{PolicyRule: r}
		if i := slices.IndexFunc(served.Rules, func(s api.ServedRule) bool { return s.ID == r.ID }); i >= 0 {
			item.Served = &served.Rules[i]
		}
		list = append(list, item)
	}
	return list, nil
}

// DueHelp lists the classes of findings that may have a due date.
const DueHelp = "critical, high, medium, low; for sca also not_rated and known_exploited."

type policiesCreateCmd struct {
	webapi.Flags
	Name     string   `arg:"" help:"Name; also determines the slug."`
	Product  string   `help:"Product: sast, sca or secrets." required:"" enum:"sast,sca,secrets" placeholder:"PRODUCT"`
	Project  []string `help:"Limit to matching projects: * matches all but /, ** everything; repeatable." sep:"none" placeholder:"GLOB"`
	Tag      []string `help:"Limit to projects with the tag; repeatable, one match is enough." sep:"none" placeholder:"TAG"`
	Branch   []string `help:"Limit to matching branches or full refs (refs/pull/**); other builds are not blocked or commented; repeatable." sep:"none" placeholder:"GLOB"`
	Exclude  []string `help:"Paths that scanners skip for the product (.gitignore syntax); repeatable." sep:"none" placeholder:"GLOB"`
	BlockAll bool     `help:"Also fail builds on findings of the primary branch."`
	Due      dueFlags `name:"due" help:"Days to fix findings of a class: ${dueClasses} Repeatable." placeholder:"CLASS=DAYS"`
}

// Run creates the policy.
func (c policiesCreateCmd) Run(a *command.App) error {
	product, _ := model.ParseIssueType(c.Product)
	var due model.DueDays
	if err := errors.Join(c.Due.set(&due), due.Check(product)); err != nil {
		return err
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	made, err := client.CreatePolicy(a.Ctx, deployment, api.CreatePolicyRequest{
		Name: c.Name, Product: c.Product, Projects: c.Project, Tags: c.Tag,
		Branches: c.Branch, Excludes: c.Exclude, BlockAll: c.BlockAll,
	})
	if err != nil {
		return err
	}
	p := made.Policy
	sentence := fmt.Sprintf("created policy %s (id %s) for %s", p.Slug, p.ID, scopeOf(made.Settings))
	next := fmt.Sprintf("; next: redoubt policies add-rules --policy %s FILE, or redoubt policies set-mode "+
		"--policy %s RULE MODE", p.Slug, p.Slug)
	return changePolicy(a, c.Flags, client, deployment, made, c.Due, sentence, next)
}

// changePolicy sets the due days of a policy that was created or changed, and prints the change.
func changePolicy(
	a *command.App, w webapi.Flags, client *api.Client, deployment string, made *api.PolicyChangeResponse, days dueFlags,
	sentence, next string,
) error {
	due, err := days.Update(a, client, deployment, made.Policy.ID)
	if err != nil {
		return err
	}
	sentence += dueText(due)
	if made.Removed > 0 {
		sentence += fmt.Sprintf("; removed %d findings on excluded paths", made.Removed)
	}
	s := made.Settings
	if len(s.Branches) > 0 {
		would, err := client.PreviewPolicy(a.Ctx, deployment, made.Policy.ID, api.PreviewPolicyRequest{
			Projects: s.Projects, Tags: s.Tags, Branches: s.Branches, Excludes: s.Excludes, BlockAll: s.BlockAll,
		})
		if err != nil {
			return err
		}
		if len(would.UnmatchedBranches) > 0 {
			sentence += fmt.Sprintf("; no scanned branch matches %s; scanned refs: %s",
				strings.Join(would.UnmatchedBranches, " "), strings.Join(would.ScannedRefs, " "))
		}
	}
	return printPolicy(a, w, made, sentence+next)
}

// printPolicy prints a sentence about a policy, or the policy as JSON or CSV.
func printPolicy(a *command.App, w webapi.Flags, made *api.PolicyChangeResponse, sentence string) error {
	p, s := made.Policy, made.Settings
	row := []string{p.ID, p.Slug, productOf(p), scopeOf(s), blocksOf(s), strings.Join(s.Excludes, " "), p.Name}
	return w.PrintChange(a, sentence, "ID SLUG PRODUCT FOR BLOCKS EXCLUDES NAME", row, made)
}

type policiesUpdateCmd struct {
	ofPolicy
	Name     string   `help:"New name; the slug is unchanged." placeholder:"NAME"`
	Project  []string `help:"Replace the project globs." sep:"none" placeholder:"GLOB"`
	Tag      []string `help:"Replace the project tags." sep:"none" placeholder:"TAG"`
	Branch   []string `help:"Replace the branch globs." sep:"none" placeholder:"GLOB"`
	Exclude  []string `help:"Replace the paths that scanners skip." sep:"none" placeholder:"GLOB"`
	Clear    []string `help:"Clear these: project, tag, branch, exclude, due." enum:"project,tag,branch,exclude,due" placeholder:"WHAT"`
	Due      dueFlags `name:"due" help:"Days to fix findings of a class: ${dueClasses} 0 removes a due date; other classes are unchanged; repeatable." placeholder:"CLASS=DAYS"`
	BlockAll *bool    `help:"Also fail builds on findings of the primary branch; --no-block-all: only on new findings." negatable:""`
}

// Run changes the policy. Findings that it now excludes become removed.
func (c policiesUpdateCmd) Run(a *command.App) error {
	client, deployment, p, err := c.Find(a)
	if err != nil {
		return err
	}
	now, err := client.GetPolicySettings(a.Ctx, deployment, p.ID)
	if err != nil {
		return err
	}
	s := &now.Settings
	for what, list := range map[string]struct {
		member *[]string
		given  []string
	}{
		"project": {&s.Projects, c.Project}, "tag": {&s.Tags, c.Tag},
		"branch": {&s.Branches, c.Branch}, "exclude": {&s.Excludes, c.Exclude},
	} {
		switch cleared := slices.Contains(c.Clear, what); {
		case cleared && len(list.given) > 0:
			return fmt.Errorf("--clear %s and --%s cannot be combined", what, what)
		case cleared:
			*list.member = nil
		case len(list.given) > 0:
			*list.member = list.given
		}
	}
	if c.BlockAll != nil {
		s.BlockAll = *c.BlockAll
	}
	if slices.Contains(c.Clear, "due") {
		if _, err := client.SetDueDays(a.Ctx, deployment, p.ID, api.SetDueDaysRequest{}); err != nil {
			return err
		}
	}
	made, err := client.SetPolicySettings(a.Ctx, deployment, p.ID, api.SetPolicySettingsRequest{
		Name: cmp.Or(c.Name, p.Name), Projects: s.Projects, Tags: s.Tags,
		Branches: s.Branches, Excludes: s.Excludes, BlockAll: s.BlockAll,
	})
	if err != nil {
		return err
	}
	return changePolicy(a, c.Flags, client, deployment, made, c.Due,
		fmt.Sprintf("policy %s is for %s, blocks %s findings and excludes %s",
			p.Slug, scopeOf(made.Settings), blocksOf(made.Settings),
			cmp.Or(strings.Join(made.Settings.Excludes, " "), "no paths")), "")
}

type policiesDeleteCmd struct{ ofPolicy }

// Run deletes the policy.
func (c policiesDeleteCmd) Run(a *command.App) error {
	client, deployment, p, err := c.Find(a)
	if err != nil {
		return err
	}
	gone, err := client.DeletePolicy(a.Ctx, deployment, p.ID)
	if err != nil {
		return err
	}
	return printPolicy(a, c.Flags, gone, "deleted policy "+p.Slug)
}

// isMissing reports whether the server returned a not-found error.
func isMissing(err error) bool {
	p, is := errors.AsType[*api.Problem](err)
	return is && p.Status == http.StatusNotFound
}
