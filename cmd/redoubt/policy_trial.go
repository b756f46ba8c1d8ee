package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/edge"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

type policyTestCmd struct {
	tenant
	Rules   string `arg:"" help:"A file of rules, or a policy by slug or id."`
	Project string `help:"Compare with what the primary branch of this project has, and leave out the paths that its policies do." placeholder:"NAME"`
	Ref     string `help:"Judge as if it were this branch; by default the one that is checked out." placeholder:"BRANCH"`
	Path    string `help:"The checkout to look at." default:"." type:"existingdir" placeholder:"FOLDER"`
	Mode    string `help:"Judge as if all rules had this mode; by default as the policy has them, and block for a file." placeholder:"MODE"`
	Semgrep string `help:"The semgrep to run them with." default:"semgrep" env:"REDOUBT_SEMGREP" placeholder:"FILE"`
}

// Run tries rules before they are served.
func (c policyTestCmd) Run(a *app) error {
	mode, ok := redoubt.ParsePolicyMode(c.Mode)
	if c.Mode != "" && !ok {
		return fmt.Errorf("there is no mode %q: take monitor, comment or block", c.Mode)
	}
	t := trial{policyTestCmd: c, app: a, mode: mode}
	if _, err := os.Stat(c.Rules); err == nil {
		if err := t.readFile(); err != nil {
			return err
		}
		if c.Project == "" {
			return t.run(t.alone)
		}
	}
	st, d, err := c.use(a)
	if err != nil {
		return err
	}
	return errors.Join(t.runWith(st, d), st.Close())
}

// trial is rules that are tried, as of one policy.
type trial struct {
	policyTestCmd
	app     *app
	mode    redoubt.PolicyMode // 0 for each rule's own
	project redoubt.Project    // that is named
	all     policy.EffectivePolicy
	of      redoubt.Policy
	rules   []redoubt.ServedRule
	key     []byte     // tells secrets apart; nil where nothing is stored
	matches [][]string // of the conditions, to print
	fails   int        // of them, that would fail a build
}

// runWith runs the trial beside what is stored. No transaction is open while the scanner runs.
func (t *trial) runWith(st *store.Store, d redoubt.Deployment) error {
	ring, err := t.app.keys(t.Storage, st)
	if err != nil {
		return err
	}
	t.key = ring.Secret
	err = st.View(t.app.ctx, d.ID, func(ctx context.Context, tx *store.Tx) error { return t.read(ctx, tx) })
	if err == nil && t.project.ID != 0 && len(t.of.Conditions) > 0 {
		err = t.printConditions()
	}
	switch {
	case err != nil || t.rules == nil:
		return err
	case t.Project == "":
		return t.run(t.alone)
	}
	return t.run(func(rep *redoubt.Report) (policy.Outcome, error) { return t.preview(st, d, rep) })
}

// read reads the policy, the project, and its stored findings that match the policy's conditions.
func (t *trial) read(ctx context.Context, tx *store.Tx) (err error) {
	if t.rules == nil {
		if err := t.readPolicy(ctx, tx); err != nil {
			return err
		}
	}
	if t.Project == "" {
		if t.rules == nil {
			return errors.New("conditions are tried on what a project has: name it with --project")
		}
		return nil
	}
	if t.project, err = tx.ProjectByName(ctx, t.Project); err != nil {
		return fmt.Errorf("there is no project %q; redoubt projects list shows what there is", t.Project)
	}
	set, err := policy.LoadSet(ctx, tx)
	if err != nil {
		return err
	}
	if t.all = set.For(t.project); len(t.of.Conditions) == 0 {
		return nil
	}
	return t.conditions(ctx, tx)
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

// readPolicy reads the rules that a policy serves.
func (t *trial) readPolicy(ctx context.Context, tx *store.Tx) (err error) {
	if t.of, err = policyNamed(ctx, tx, t.Rules); err != nil {
		return fmt.Errorf("%w; and there is no such file", err)
	}
	served, err := tx.ServedRules(ctx)
	for _, r := range served {
		if r.PolicyID == t.of.ID {
			r.Mode = cmp.Or(t.mode, r.Mode)
			t.rules = append(t.rules, r)
		}
	}
	if err == nil && t.rules == nil && len(t.of.Conditions) == 0 {
		err = fmt.Errorf("the policy %s serves no rules and has no conditions", t.of.Slug)
	}
	return err
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

// asTried is the policy with its conditions in the mode that is tried.
func (t *trial) asTried() redoubt.Policy {
	of := t.of
	of.Conditions = slices.Clone(t.of.Conditions)
	for i := range of.Conditions {
		of.Conditions[i].Mode = cmp.Or(t.mode, of.Conditions[i].Mode)
	}
	of.Excludes = nil
	return of
}

// given is the policy that is tried, for the named project whatever the policy covers.
func (t *trial) given() policy.EffectivePolicy {
	of := t.asTried()
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
		Name: "results", Format: report.SemgrepJSON, Key: t.key, RuleText: func(name string) []byte { return texts[name] },
	})
	if err == nil && len(reports) != 1 {
		err = fmt.Errorf("the scanner wrote %d reports, want one", len(reports))
	}
	if err != nil {
		return nil, err
	}
	return reports[0], nil
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
	var rows [][]string
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
		rows = append(rows, []string{f.RuleName, place, mode.String(), state, buildWord(fails[f.Identity])})
	}
	if err := table(t.app.out, "RULE PLACE MODE FINDING BUILD", rows); err != nil {
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

// maxStreams bounds the branches and sources of a project that are compared.
const maxStreams = 10_000

// conditions finds the stored findings that match the policy's conditions, on every branch
// of the project. Branches with lockfiles are among them without a scan.
func (t *trial) conditions(ctx context.Context, tx *store.Tx) error {
	var scans []redoubt.Scan
	if t.of.Product == redoubt.SCA {
		refs, err := tx.HoldingRefs(ctx, nil)
		if err != nil {
			return err
		}
		for _, at := range refs {
			if at.ProjectID == t.project.ID {
				scans = append(scans, redoubt.Scan{ProjectID: at.ProjectID, Ref: at.Ref, Source: policy.Source})
			}
		}
	}
	standing, _, err := tx.StandingScans(ctx, time.Unix(0, 0), []int64{t.project.ID}, maxStreams)
	if err != nil {
		return err
	}
	all := t.asTried()
	all.BlockAll = true // known ones too: they are told apart below
	given := policy.For(t.project, []redoubt.Policy{all}, nil)
	listed := map[int64]bool{}
	for _, scan := range append(scans, standing...) {
		scan.Products = redoubt.Products(0).With(t.of.Product)
		open, err := tx.OpenFindings(ctx, t.project.ID, scan.Ref, scan.Source)
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(f redoubt.Finding) bool { return f.IssueType != t.of.Product })
		found, err := policy.StoredFindings(ctx, tx, t.project, scan, open, given)
		if err != nil {
			return err
		}
		outcome := policy.Evaluate(found, given)
		for _, s := range slices.Concat(outcome.Blocking, outcome.Noted) {
			if listed[s.Finding.ID] {
				continue
			}
			listed[s.Finding.ID] = true
			state, blocks := "new", s.Mode == redoubt.ModeBlock && (!s.Known || t.of.BlockAll)
			if s.Known {
				state = "known"
			}
			if blocks {
				t.fails++
			}
			t.matches = append(t.matches, []string{scan.Ref, s.Mode.String(), state, buildWord(blocks), s.Explained()})
		}
	}
	return nil
}

func (t *trial) printConditions() error {
	if err := table(t.app.out, "REF MODE FINDING BUILD WHAT", t.matches); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.app.out, "\nConditions: %d. Matches: %d. Would fail a build: %d.\n",
		len(t.of.Conditions), len(t.matches), t.fails)
	if err == nil && t.rules != nil {
		_, err = fmt.Fprintln(t.app.out)
	}
	return err
}
