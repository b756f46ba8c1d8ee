package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/edge"
	"github.com/redoubt/redoubt/internal/exemption"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

type policyTestCmd struct {
	tenant
	Rules     string `arg:"" help:"A file of rules, or a policy by slug or id."`
	Project   string `help:"Compare with what the primary branch of this project has, and leave out the paths that its policies do." placeholder:"NAME"`
	Ref       string `help:"Judge as if it were this branch; by default the one that is checked out." placeholder:"BRANCH"`
	Path      string `help:"The checkout to look at." default:"." type:"existingdir" placeholder:"FOLDER"`
	Mode      string `help:"Judge as if all rules had this mode; by default as the policy has them, and block for a file." placeholder:"MODE"`
	Annotated string `help:"Instead, compare with the comments \"ruleid: ID\" and \"ok: ID\" in this file of code." type:"existingfile" placeholder:"FILE"`
	Semgrep   string `help:"The semgrep to run them with." default:"semgrep" env:"REDOUBT_SEMGREP" placeholder:"FILE"`
}

// Run tries rules before they are served.
func (c policyTestCmd) Run(a *app) error {
	mode, ok := redoubt.ParsePolicyMode(c.Mode)
	if c.Mode != "" && !ok {
		return fmt.Errorf("there is no mode %q: take monitor, comment or block", c.Mode)
	}
	t := trial{app: a, mode: mode}
	_, err := os.Stat(c.Rules)
	if isFile := err == nil; isFile {
		if err := t.readFile(c.Rules); err != nil {
			return err
		}
	}
	if t.rules != nil && c.Project == "" {
		return t.run(c, nil)
	}
	st, d, err := c.use(a)
	if err != nil {
		return err
	}
	return errors.Join(t.runWith(c, st, d), st.Close())
}

// runWith runs the trial beside what is stored. Nothing is held open while the
// scanner works.
func (t *trial) runWith(c policyTestCmd, st *store.Store, d redoubt.Deployment) (err error) {
	ring, err := t.app.keys(c.Storage, st)
	if err != nil {
		return err
	}
	t.key = ring.Secret
	if t.rules == nil {
		var held []conditionMatches
		err = st.View(t.app.ctx, d.ID, func(ctx context.Context, tx *store.Tx) error {
			if err := t.readPolicy(ctx, tx, c.Rules); err != nil || !t.listsStored(c.Project) {
				return err
			}
			held, err = t.conditions(ctx, tx, c.Project)
			return err
		})
		stored := t.listsStored(c.Project)
		if err == nil && stored {
			err = t.printConditions(held)
		}
		if err != nil || t.rules == nil {
			return err
		}
		if stored {
			fmt.Fprintln(t.app.out)
		}
	}
	if c.Project == "" {
		return t.run(c, nil)
	}
	return t.run(c, func(rep *redoubt.Report) (policy.Preview, error) { return t.preview(st, d, c, rep) })
}

// listsStored reports whether the stored findings that match conditions are listed: where
// the policy has any, of a project, or without rules to run.
func (t *trial) listsStored(project string) bool {
	return len(t.of.Conditions) > 0 && (project != "" || t.rules == nil)
}

// trial is rules that are tried, as of one policy.
type trial struct {
	app     *app
	project redoubt.Project    // that is named
	mode    redoubt.PolicyMode // 0 for each rule's own
	of      redoubt.Policy
	rules   []redoubt.ServedRule
	key     []byte // tells secrets apart; nil where nothing is stored
}

// readFile takes the rules of a file, which would block unless a mode is given.
func (t *trial) readFile(name string) error {
	set, err := readRules([]string{name}, false)
	if err != nil {
		return err
	}
	for _, r := range set.rules {
		content, err := report.SemgrepRule(r.Text)
		if err != nil {
			return err
		}
		content.IssueType = r.Product
		t.rules = append(t.rules, redoubt.ServedRule{PolicyRule: redoubt.PolicyRule{Rule: *content, Mode: max(t.mode, redoubt.ModeMonitor)}, Text: r.Text})
		if t.mode == 0 {
			t.rules[len(t.rules)-1].Mode = redoubt.ModeBlock
		}
	}
	return nil
}

// readPolicy takes the rules that a policy serves.
func (t *trial) readPolicy(ctx context.Context, tx *store.Tx, name string) (err error) {
	if t.of, err = policyNamed(ctx, tx, name); err != nil {
		return fmt.Errorf("%w; and there is no such file", err)
	}
	served, err := tx.ServedRules(ctx)
	for _, r := range served {
		if r.PolicyID == t.of.ID {
			if t.mode != 0 {
				r.Mode = t.mode
			}
			t.rules = append(t.rules, r)
		}
	}
	if err == nil && t.rules == nil && len(t.of.Conditions) == 0 {
		err = fmt.Errorf("the policy %s serves no rules and has no conditions", t.of.Slug)
	}
	return err
}

// preview judges what the scanner reports as the gate would, had it come as a scan
// of the whole branch that is checked out. Nothing of it is kept.
func (t *trial) preview(st *store.Store, d redoubt.Deployment, c policyTestCmd, rep *redoubt.Report) (out policy.Preview, err error) {
	var left policy.EffectivePolicy // of all policies: what leaves paths out
	err = st.View(t.app.ctx, d.ID, func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, c.Project)
		if err != nil {
			return fmt.Errorf("there is no project %q; redoubt project list shows what there is", c.Project)
		}
		policies, err := tx.Policies(ctx)
		t.project, left = p, policy.For(p, policies, nil)
		return err
	})
	if err != nil {
		return out, err
	}
	rep.Results = slices.DeleteFunc(rep.Results, func(r redoubt.Result) bool { return left.Excluded(r.Rule.IssueType, r.Path) })
	for i := range t.rules {
		rep.RulesRun = append(rep.RulesRun, t.rules[i].Rule.Name)
	}
	exemptions := func(tx *store.Tx) ingest.Exemptions { return exemption.ForImport{Store: tx} }
	return edge.Preview(t.app.ctx, st, d.ID, t.given(), exemptions, ingest.Upload{
		Project: redoubt.Project{Name: c.Project}, Ref: t.branch(c), Full: true, Report: rep,
	})
}

// untold is the branch of a trial that is of none, on which no scan can be.
const untold = "refs/redoubt/trial"

// branch is that which the trial is judged as: what moved on it is known there.
func (t *trial) branch(c policyTestCmd) string {
	if c.Ref != "" {
		return c.Ref
	}
	folder, err := git(t.app.ctx, c.Path, "rev-parse", "--show-prefix")
	if err != nil || folder != "" { // of a part of a repository nobody can tell what moved
		return untold
	}
	if name, err := git(t.app.ctx, c.Path, "symbolic-ref", "HEAD"); err == nil {
		return name
	}
	return untold
}

// given is the policy that is tried, for the named project whatever the policy covers.
func (t *trial) given() policy.EffectivePolicy {
	of := t.asTried()
	of.Scope, of.Excludes = redoubt.PolicyScope{}, nil
	return policy.For(t.project, []redoubt.Policy{of}, t.rules)
}

// asTried is the policy with its conditions in the mode that is tried.
func (t *trial) asTried() redoubt.Policy {
	of := t.of
	of.Conditions = slices.Clone(t.of.Conditions)
	for i := range of.Conditions {
		of.Conditions[i].Mode = cmp.Or(t.mode, of.Conditions[i].Mode)
	}
	return of
}

// run runs the rules and prints what they find.
func (t *trial) run(c policyTestCmd, preview func(*redoubt.Report) (policy.Preview, error)) error {
	s, err := findScanner(c.Semgrep)
	if err != nil {
		return err
	}
	if s == nil {
		_, err := fmt.Fprintf(t.app.out, "%d rules are well formed. They were NOT run, and their patterns not parsed: there is no %s here.\n", len(t.rules), c.Semgrep)
		return err
	}
	if s.rules, err = policy.Document(t.rules, []redoubt.Policy{t.of}, policy.Products(nil), nil); err != nil {
		return err
	}
	s.limit = ruleRunTime
	if c.Annotated != "" {
		return t.annotated(s, c)
	}
	rep, err := t.scan(s, c.Path)
	if err != nil {
		return err
	}
	if preview == nil {
		return t.print(rep, t.alone(rep), "")
	}
	judged, err := preview(rep)
	if err != nil {
		return err
	}
	return t.print(rep, judged, c.Project)
}

// alone judges a report that is compared with nothing.
func (t *trial) alone(rep *redoubt.Report) policy.Preview {
	var all []policy.Sighting
	out := policy.Preview{Judged: map[redoubt.Identity]policy.Sighting{}}
	seen, _ := ingest.Observe(rep)
	for i := range seen {
		one := policy.Sighting{Finding: seen[i].Finding}
		out.Judged[one.Finding.Identity] = one
		all = append(all, one)
	}
	out.Verdict = t.given().Gate(false, all)
	return out
}

// annotated lets the scanner compare findings with comments in code.
func (t *trial) annotated(s *scanner, c policyTestCmd) error {
	if t.of.ID != 0 {
		return errors.New("--annotated takes a file of rules")
	}
	stdout, stderr, err := s.run(t.app, "", "--test", "--config", c.Rules, c.Annotated)
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	if _, printErr := fmt.Fprintf(t.app.out, "%s\n", bytes.TrimSpace(stdout)); err == nil {
		return printErr
	}
	return fmt.Errorf("the rules do not find what the comments say:\n%s", bytes.TrimSpace(stderr))
}

func (t *trial) scan(s *scanner, dir string) (*redoubt.Report, error) {
	stdout, stderr, err := s.run(t.app, dir, "--oss-only", "--json", "--quiet", "--config", "p/redoubt", ".")
	if err != nil {
		return nil, fmt.Errorf("the scanner failed with %w:\n%s", err, bytes.TrimSpace(append(stderr, stdout[:min(len(stdout), 2000)]...)))
	}
	texts := map[string][]byte{}
	for _, r := range t.rules {
		texts[r.Rule.Name] = r.Text
	}
	reports, err := report.Read(bytes.NewReader(stdout), report.Options{
		Name: "results", Format: report.SemgrepJSON, Key: t.key, RuleText: func(name string) []byte { return texts[name] },
	})
	if err != nil {
		return nil, err
	}
	if len(reports) != 1 {
		return nil, fmt.Errorf("the scanner wrote %d reports, want one", len(reports))
	}
	return reports[0], nil
}

// print lists what a report has, as it was judged.
func (t *trial) print(rep *redoubt.Report, judged policy.Preview, project string) error {
	given, fails, modes := t.given(), map[redoubt.Identity]bool{}, map[redoubt.Identity]redoubt.PolicyMode{}
	for _, s := range slices.Concat(judged.Blocking, judged.Noted) {
		modes[s.Finding.Identity] = s.Mode
	}
	for i := range judged.Blocking {
		fails[judged.Blocking[i].Finding.Identity] = true
	}
	seen, _ := ingest.Observe(rep)
	rows, fresh := make([][]string, len(seen)), 0
	for i := range seen {
		f, state, build := &seen[i].Finding, "new", "-"
		s := judged.Judged[f.Identity]
		switch {
		case s.Triage == redoubt.TriageIgnored:
			state = "ignored"
		case s.Known:
			state = "known"
		default:
			fresh++
		}
		if fails[f.Identity] {
			build = "fails"
		}
		rows[i] = []string{f.RuleName, fmt.Sprintf("%s:%d", f.Path, f.Line), max(given.Stance(f.RuleName).Mode, modes[f.Identity]).String(), state, build}
	}
	if err := table(t.app.out, "RULE PLACE MODE FINDING BUILD", rows); err != nil {
		return err
	}
	against := "compared with nothing, since no project is named"
	if project != "" {
		against = "compared with the primary branch of " + project
	}
	_, err := fmt.Fprintf(t.app.out, "\nRules: %d. Findings: %d, of them new: %d (%s). Would fail a build: %d.\n", len(t.rules), len(seen), fresh, against, len(judged.Blocking))
	return err
}
