package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

type policyTestCmd struct {
	tenant
	Rules     string `arg:"" help:"A file of rules, or a policy by slug or id."`
	Project   string `help:"Compare with what the primary branch of this project has, and leave out the paths that its policies do." placeholder:"NAME"`
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
			if err := t.readPolicy(ctx, tx, c.Rules); err != nil || len(t.of.Conditions) == 0 {
				return err
			}
			held, err = t.conditions(ctx, tx, c.Project)
			return err
		})
		if err == nil && len(t.of.Conditions) > 0 {
			err = t.printConditions(held)
		}
		if err != nil || t.rules == nil {
			return err
		}
		if len(t.of.Conditions) > 0 {
			fmt.Fprintln(t.app.out)
		}
	}
	return t.run(c, func(sightings []ingest.Sighting) (s primaryFindings, err error) {
		err = st.View(t.app.ctx, d.ID, func(ctx context.Context, tx *store.Tx) error {
			s, err = onPrimary(ctx, tx, c.Project, sightings)
			return err
		})
		return s, err
	})
}

// trial is rules that are tried, as of one policy.
type trial struct {
	app   *app
	mode  redoubt.PolicyMode // 0 for each rule's own
	of    redoubt.Policy
	rules []redoubt.ServedRule
	key   []byte // tells secrets apart; nil where nothing is stored
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

// primaryFindings is what the primary branch of a project has.
type primaryFindings struct {
	known   map[redoubt.Identity]bool
	ignored map[redoubt.Identity]bool
	given   policy.EffectivePolicy // what leaves paths out
}

func onPrimary(ctx context.Context, tx *store.Tx, name string, sightings []ingest.Sighting) (s primaryFindings, err error) {
	if name == "" {
		return s, nil
	}
	p, err := tx.ProjectByName(ctx, name)
	if err != nil {
		return s, fmt.Errorf("there is no project %q; redoubt project list shows what there is", name)
	}
	policies, err := tx.Policies(ctx)
	if err != nil {
		return s, err
	}
	s = primaryFindings{map[redoubt.Identity]bool{}, map[redoubt.Identity]bool{}, policy.For(p, policies, nil)}
	rows, err := tx.Findings(ctx, p.ID, p.Primary(), policy.Source)
	if err != nil {
		return s, err
	}
	live := map[int64]bool{}
	for _, f := range rows {
		if f.State == redoubt.Unresolved || f.State == redoubt.Muted {
			live[f.LineageID] = true
		}
	}
	ids := make([]redoubt.Identity, len(sightings))
	for i := range sightings {
		ids[i] = sightings[i].Finding.Identity
	}
	lineages, err := tx.LineagesOf(ctx, p.ID, ids)
	for id, l := range lineages {
		s.known[id], s.ignored[id] = live[l.ID], l.Triage.State == redoubt.TriageIgnored
	}
	return s, err
}

// run runs the rules and prints what they find.
func (t *trial) run(c policyTestCmd, compare func([]ingest.Sighting) (primaryFindings, error)) error {
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
	sightings, err := t.scan(s, c.Path)
	if err != nil {
		return err
	}
	var stands primaryFindings
	if compare != nil {
		if stands, err = compare(sightings); err != nil {
			return err
		}
	}
	return t.print(sightings, stands, c.Project)
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

func (t *trial) scan(s *scanner, dir string) ([]ingest.Sighting, error) {
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
	var all []ingest.Sighting
	for _, r := range reports {
		seen, _ := ingest.Observe(r)
		all = append(all, seen...)
	}
	return all, nil
}

// print lists the findings and judges them as the gate would.
func (t *trial) print(sightings []ingest.Sighting, stands primaryFindings, project string) error {
	given := policy.For(redoubt.Project{}, []redoubt.Policy{{ID: t.of.ID, BlockAll: t.of.BlockAll}}, t.rules)
	var judged []policy.Sighting
	for _, s := range sightings {
		id := s.Finding.Identity
		if stands.given.Excluded(s.Finding.IssueType, s.Finding.Path) {
			continue
		}
		one := policy.Sighting{Finding: s.Finding, Known: stands.known[id]}
		if stands.ignored[id] {
			one.Triage = redoubt.TriageIgnored
		}
		judged = append(judged, one)
	}
	verdict := given.Gate(false, judged)
	rows, fresh := make([][]string, len(judged)), 0
	for i, s := range judged {
		state, build := "new", "-"
		switch {
		case s.Triage == redoubt.TriageIgnored:
			state = "ignored"
		case s.Known:
			state = "known"
		default:
			fresh++
		}
		if slices.ContainsFunc(verdict.Blocking, func(b policy.Sighting) bool { return b.Finding.Identity == s.Finding.Identity }) {
			build = "fails"
		}
		rows[i] = []string{s.Finding.RuleName, fmt.Sprintf("%s:%d", s.Finding.Path, s.Finding.Line), given.Stance(s.Finding.RuleName).Mode.String(), state, build}
	}
	if err := table(t.app.out, "RULE PLACE MODE FINDING BUILD", rows); err != nil {
		return err
	}
	against := "compared with nothing, since no project is named"
	if project != "" {
		against = "compared with the primary branch of " + project
	}
	_, err := fmt.Fprintf(t.app.out, "\nRules: %d. Findings: %d, of them new: %d (%s). Would fail a build: %d.\n", len(t.rules), len(judged), fresh, against, len(verdict.Blocking))
	return err
}
