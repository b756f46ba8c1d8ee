package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/edge"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

type policiesTestCmd struct {
	webAPI
	Rules   string `arg:"" help:"A file of rules, or a policy by slug or id."`
	Project string `help:"Compare with what the primary branch of this project has, and leave out the paths that its policies do. Rules need the database, conditions do not." placeholder:"NAME"`
	Ref     string `help:"Judge as if it were this branch; by default the one that is checked out." placeholder:"BRANCH"`
	Path    string `help:"The checkout to look at." default:"." type:"existingdir" placeholder:"FOLDER"`
	Mode    string `help:"Judge as if all rules had this mode; by default as the policy has them, and block for a file." enum:"monitor,comment,block," default:"" placeholder:"MODE"`
	Semgrep string `help:"The semgrep to run them with." default:"semgrep" env:"REDOUBT_SEMGREP" placeholder:"FILE"`
}

// Run tries rules before they are served.
func (c policiesTestCmd) Run(a *app) error {
	mode, _ := redoubt.ParsePolicyMode(c.Mode)
	t := trial{policiesTestCmd: c, app: a, mode: mode}
	if _, err := os.Stat(c.Rules); err == nil {
		if err := t.readFile(); err != nil {
			return err
		}
		if c.Project == "" {
			return t.run(t.alone)
		}
	}
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	if t.rules == nil {
		if err := t.readPolicy(client, deployment); err != nil {
			return err
		}
	}
	if c.Project == "" {
		if t.rules == nil {
			return errors.New("conditions are tried on what a project has: name it with --project")
		}
		return t.run(t.alone)
	}
	project, err := findProject(a, client, deployment, c.Project)
	if err == nil && len(t.of.Conditions) > 0 {
		err = t.printConditions(client, deployment, project.Name)
	}
	switch {
	case err != nil || t.rules == nil:
		return err
	case a.beside == nil:
		return errors.New("rules are compared with a project beside its database: name that with --data or --database-url, or leave out --project")
	}
	return t.runWith(deployment, project.Name)
}

// trial is rules that are tried, as of one policy.
type trial struct {
	policiesTestCmd
	app     *app
	mode    redoubt.PolicyMode // 0 for each rule's own
	project redoubt.Project    // that is named
	all     policy.EffectivePolicy
	of      redoubt.Policy
	rules   []redoubt.ServedRule
}

// runWith runs the trial beside what is stored. No transaction is open while the scanner runs.
func (t *trial) runWith(deployment, project string) error {
	st := t.app.beside
	d, err := st.Deployment(t.app.ctx, deployment)
	if err != nil {
		return err
	}
	err = st.View(t.app.ctx, d.ID, func(ctx context.Context, tx *store.Tx) error {
		if t.project, err = tx.ProjectByName(ctx, project); err != nil {
			return err
		}
		set, err := policy.LoadSet(ctx, tx)
		t.all = set.For(t.project)
		return err
	})
	if err != nil {
		return err
	}
	return t.run(func(rep *redoubt.Report) (policy.Outcome, error) { return t.preview(st, d, rep) })
}

// readFile reads the rules of a file, which would block unless a mode is given.
func (t *trial) readFile() error {
	set, err := readRules([]string{t.Rules}, false)
	if err != nil {
		return err
	}
	for _, r := range set.rules {
		content, err := report.SemgrepRule(r.Text)
		if err != nil {
			return err
		}
		content.IssueType = r.Product
		rule := redoubt.PolicyRule{Rule: *content, Mode: cmp.Or(t.mode, redoubt.ModeBlock)}
		t.rules = append(t.rules, redoubt.ServedRule{PolicyRule: rule, Text: r.Text})
	}
	return nil
}

// readPolicy reads a policy and the rules that it serves.
func (t *trial) readPolicy(client *api.Client, deployment string) error {
	p, err := findPolicy(t.app, client, deployment, t.Rules)
	if err != nil {
		return fmt.Errorf("%w; and there is no such file", err)
	}
	now, err := client.GetPolicySettings(t.app.ctx, deployment, p.ID)
	if err != nil {
		return err
	}
	conditions, err := client.ListPolicyConditions(t.app.ctx, deployment, p.ID)
	if err != nil {
		return err
	}
	served, err := client.ListServedRules(t.app.ctx, deployment, p.ID, api.ServedRulesQuery{Texts: true})
	if err != nil {
		return err
	}
	s := now.Settings
	t.of = redoubt.Policy{
		Name: p.Name, Slug: p.Slug, Default: p.IsDefault, Scope: redoubt.PolicyScope{Projects: s.Projects, Tags: s.Tags},
		Branches: s.Branches, Excludes: s.Excludes, BlockAll: s.BlockAll, Conditions: redoubt.Map(conditions.Conditions, conditionFrom),
	}
	t.of.Product, _ = redoubt.ParseIssueType(productOf(p))
	if t.of.ID, err = strconv.ParseInt(p.ID, 10, 64); err != nil {
		return err
	}
	for _, r := range served.Rules {
		content, err := report.ServedRule([]byte(r.Text), t.of.Product)
		if err != nil {
			return err
		}
		mode, _ := redoubt.ParsePolicyMode(r.Mode)
		rule := redoubt.PolicyRule{PolicyID: t.of.ID, Rule: content, Mode: cmp.Or(t.mode, mode), Served: true}
		t.rules = append(t.rules, redoubt.ServedRule{PolicyRule: rule, Text: []byte(r.Text), Version: int(r.Version)})
	}
	if t.rules == nil && len(t.of.Conditions) == 0 {
		return fmt.Errorf("the policy %s serves no rules and has no conditions", p.Slug)
	}
	return nil
}

// preview evaluates the rules on what the scanner reports, as if it came as a scan of the
// whole branch that is checked out. Nothing is stored.
func (t *trial) preview(st *store.Store, d redoubt.Deployment, rep *redoubt.Report) (policy.Outcome, error) {
	rep.Results = slices.DeleteFunc(rep.Results, func(r redoubt.Result) bool {
		return t.all.Excluded(r.Rule.IssueType, r.Path)
	})
	for i := range t.rules {
		rep.RulesRun = append(rep.RulesRun, t.rules[i].Rule.Name)
	}
	exceptions := func(tx *store.Tx) ingest.Exceptions { return exceptions.ForImport{Store: tx} }
	return edge.Preview(t.app.ctx, st, d.ID, t.given(), exceptions, ingest.Upload{
		Project: redoubt.Project{Name: t.Project}, Ref: t.branch(), Full: true, Report: rep,
	})
}

// untold is the branch of a trial that is of none, on which no scan can be.
const untold = "refs/redoubt/trial"

// branch is that which the trial is judged as: what moved on it is known there.
func (t *trial) branch() string {
	if t.Ref != "" {
		return t.Ref
	}
	folder, err := git(t.app.ctx, t.Path, "rev-parse", "--show-prefix")
	if err != nil || folder != "" { // of a part of a repository nobody can tell what moved
		return untold
	}
	if name, err := git(t.app.ctx, t.Path, "symbolic-ref", "HEAD"); err == nil {
		return name
	}
	return untold
}

// given is the policy that is tried, for the named project whatever the policy covers.
func (t *trial) given() policy.EffectivePolicy {
	of := policy.AsTried(t.of, t.mode)
	of.Scope = redoubt.PolicyScope{}
	return policy.For(t.project, []redoubt.Policy{of}, t.rules)
}

// alone evaluates the rules on a report that is compared with nothing.
func (t *trial) alone(rep *redoubt.Report) (policy.Outcome, error) {
	var found policy.Findings
	seen, _ := ingest.Observe(rep)
	for i := range seen {
		found.List = append(found.List, policy.Sighting{Finding: seen[i].Finding})
	}
	return policy.Evaluate(found, t.given()), nil
}

// run runs the rules and prints what they find.
func (t *trial) run(evaluate func(*redoubt.Report) (policy.Outcome, error)) error {
	s, err := findScanner(t.Semgrep)
	if err != nil {
		return err
	}
	if s == nil {
		_, err := fmt.Fprintf(t.app.out, "%d rules are well formed. They were NOT run, and their patterns not parsed: "+
			"there is no %s here.\n", len(t.rules), t.Semgrep)
		return err
	}
	if s.rules, err = policy.Document(t.rules, []redoubt.Policy{t.of}, policy.Products(nil), nil); err != nil {
		return err
	}
	s.limit = ruleRunTime
	rep, err := t.scan(s)
	if err != nil {
		return err
	}
	outcome, err := evaluate(rep)
	if err != nil {
		return err
	}
	return t.print(outcome)
}

func (t *trial) scan(s *scanner) (*redoubt.Report, error) {
	stdout, stderr, err := s.run(t.app, t.Path, "--oss-only", "--json", "--quiet", "--config", "p/redoubt", ".")
	if err != nil {
		return nil, fmt.Errorf("the scanner failed with %w:\n%s", err, bytes.TrimSpace(append(stderr, stdout[:min(len(stdout), 2000)]...)))
	}
	texts := map[string][]byte{}
	for _, r := range t.rules {
		texts[r.Rule.Name] = r.Text
	}
	reports, err := report.Read(bytes.NewReader(stdout), report.Options{
		Name: "results", Format: report.SemgrepJSON, Key: t.app.key, RuleText: func(name string) []byte { return texts[name] },
	})
	if err == nil && len(reports) != 1 {
		err = fmt.Errorf("the scanner wrote %d reports, want one", len(reports))
	}
	if err != nil {
		return nil, err
	}
	return reports[0], nil
}

// triedFinding is a finding of rules that are tried.
type triedFinding struct {
	Rule  string `json:"rule"`
	Place string `json:"place"`
	Mode  string `json:"mode"`
	State string `json:"state"`
	Fails bool   `json:"fails"`
}

// print lists the findings of a report, as they were judged.
func (t *trial) print(outcome policy.Outcome) error {
	fails, modes := map[redoubt.Identity]bool{}, map[redoubt.Identity]redoubt.PolicyMode{}
	for _, s := range slices.Concat(outcome.Blocking, outcome.Noted) {
		modes[s.Finding.Identity] = s.Mode
	}
	for i := range outcome.Blocking {
		fails[outcome.Blocking[i].Finding.Identity] = true
	}
	items := []triedFinding{}
	fresh := 0
	for i := range outcome.Judged {
		s := &outcome.Judged[i]
		f, state := &s.Finding, "new"
		switch {
		case s.Advised: // the scanner does not report it
			continue
		case s.Triage == redoubt.TriageIgnored:
			state = "ignored"
		case s.Known:
			state = "known"
		default:
			fresh++
		}
		mode := max(outcome.Policy.Stance(f.RuleName).Mode, modes[f.Identity])
		place := fmt.Sprintf("%s:%d", f.Path, f.Line)
		items = append(items, triedFinding{f.RuleName, place, mode.String(), state, fails[f.Identity]})
	}
	rows := redoubt.Map(items, func(i triedFinding) []string { return []string{i.Rule, i.Place, i.Mode, i.State, buildWord(i.Fails)} })
	if err := t.webAPI.print(t.app, "RULE PLACE MODE FINDING BUILD", rows, items); err != nil || t.Output != "table" {
		return err
	}
	against := "compared with nothing, since no project is named"
	if t.Project != "" {
		against = "compared with the primary branch of " + t.Project
	}
	_, err := fmt.Fprintf(t.app.out, "\nRules: %d. Findings: %d, of them new: %d (%s). Would fail a build: %d.\n",
		len(t.rules), len(rows), fresh, against, len(outcome.Blocking))
	return err
}

func buildWord(fails bool) string {
	if fails {
		return "fails"
	}
	return "-"
}

// printConditions prints the stored findings of a project that the policy's conditions match.
func (t *trial) printConditions(client *api.Client, deployment, project string) error {
	would, err := client.PreviewPolicy(t.app.ctx, deployment, strconv.FormatInt(t.of.ID, 10), api.PreviewPolicyRequest{
		Projects: t.of.Scope.Projects, Tags: t.of.Scope.Tags, Branches: t.of.Branches, Excludes: t.of.Excludes, BlockAll: t.of.BlockAll,
		Project: project, Mode: t.Mode,
	})
	if err != nil {
		return err
	}
	rows := redoubt.Map(would.Matches, func(m api.PolicyMatch) []string {
		state := "new"
		if m.Known {
			state = "known"
		}
		return []string{m.Ref, m.Mode, state, buildWord(m.Fails), m.Text}
	})
	if err := t.webAPI.print(t.app, "REF MODE FINDING BUILD WHAT", rows, would); err != nil || t.Output != "table" {
		return err
	}
	_, err = fmt.Fprintf(t.app.out, "\nConditions: %d. Matches: %d. Would fail a build: %d.\n",
		len(t.of.Conditions), would.MatchCount, would.MatchesFailing)
	if err == nil && t.rules != nil {
		_, err = fmt.Fprintln(t.app.out)
	}
	return err
}
