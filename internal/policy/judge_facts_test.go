package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

const (
	mainRef  = "refs/heads/main"
	topicRef = "refs/heads/topic"
)

// judging is a scan of one finding with a blocking rule, and the state before it.
type judging struct {
	*bench
	scan     model.Scan
	reported []policy.Sighting
	outcome  model.ScanOutcome
	own      []policy.Sighting // findings of advisories for the scan's lockfiles
}

func identity(n byte) model.Identity { return model.Identity{Hash: model.Digest{n}} }

// codeFinding returns a stored and reported SAST finding.
func codeFinding(n byte, rule string) model.Finding {
	return model.Finding{ID: int64(n) + 100, Identity: identity(n), LineageID: int64(n), RuleName: rule, Path: "p", Line: 3, State: model.Unresolved, IssueType: model.SAST, Severity: model.SeverityHigh}
}

func dependencyFinding(n byte) model.Finding {
	f := codeFinding(n, "CVE-2026-1")
	f.IssueType, f.Reachability = model.SCA, model.ReachabilityUnknown
	return f
}

func newJudging() *judging {
	blocking := model.PolicyRule{PolicyID: 1, Mode: model.ModeBlock, Rule: model.Rule{Name: "r", IssueType: model.SAST}}
	c := &judging{
		bench: &bench{
			policies: []model.Policy{{ID: 1, Slug: "a"}}, served: []model.ServedRule{{PolicyRule: blocking}}, started: time.Unix(1, 0),
			triage: map[model.Identity]model.TriageState{}, notes: map[int64]model.Annotations{},
			findings: map[string][]model.Finding{topicRef + " gosec": {codeFinding(1, "r")}},
		},
		scan:    model.Scan{Ref: topicRef, Source: "gosec", Full: true, Products: model.Products(0).With(model.SAST).With(model.SCA)},
		outcome: model.ScanApplied,
	}
	c.report(codeFinding(1, "r"))
	return c
}

// report sets the reported findings of the scan.
func (c *judging) report(findings ...model.Finding) {
	c.reported = nil
	for _, f := range findings {
		f.ID, f.LineageID = 0, 0
		c.reported = append(c.reported, policy.Sighting{Finding: f})
	}
}

// conditional adds a policy with a blocking condition, and a dependency to the scan.
func (c *judging) conditional(condition model.PolicyCondition) {
	condition.ID, condition.Mode = 1, model.ModeBlock
	c.policies = append(c.policies, model.Policy{ID: 99, Slug: "chain", Product: model.SCA, Conditions: []model.PolicyCondition{condition}})
	c.findings[topicRef+" gosec"] = append(c.findings[topicRef+" gosec"], dependencyFinding(2))
	c.report(codeFinding(1, "r"), dependencyFinding(2))
}

// advise adds a finding of advisories to the branch.
func (c *judging) advise(n byte) {
	c.findings[topicRef+" "+model.SourceAdvisories] = []model.Finding{dependencyFinding(n)}
}

func (c *judging) project() model.Project {
	return model.Project{ID: 1, Name: "acme/app", DefaultBranch: mainRef}
}

func (c *judging) effective(t *testing.T) policy.EffectivePolicy {
	t.Helper()
	e, err := policy.LoadEffectivePolicy(t.Context(), c, c.project())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (c *judging) judge(t *testing.T) (policy.Outcome, error) {
	t.Helper()
	judge, err := c.effective(t).Judge(t.Context(), c, c.project(), c.scan, c.reported)
	if err != nil {
		return policy.Outcome{}, err
	}
	judge.Advise(c.own)
	return judge.Outcome(t.Context(), c.outcome)
}

func idsOf(list []policy.Sighting) (ids []int64) {
	for _, s := range list {
		ids = append(ids, s.Finding.ID)
	}
	return ids
}

const year = 365 * 24 * time.Hour

// TestJudgeConsidersFindingFacts checks each fact that affects the result in addition to the report.
func TestJudgeConsidersFindingFacts(t *testing.T) {
	both := model.PolicyCondition{Severity: model.SeverityLow}
	for name, c := range map[string]struct {
		change func(*judging)
		want   []int64
		reason string
	}{
		"as it is":                              {nil, []int64{101}, "1 new finding of blocking rules"},
		"a branch, before main was ever looked": {func(c *judging) { c.started = time.Time{} }, []int64{101}, ""},
		"late, on a branch":                     {func(c *judging) { c.outcome = model.ScanLate }, []int64{101}, policy.Recorded(model.ScanLate) + " "},
		"of an old commit, on a branch":         {func(c *judging) { c.outcome = model.ScanSuperseded }, []int64{101}, policy.Recorded(model.ScanSuperseded) + " "},
		"late, and nothing found": {func(c *judging) {
			c.outcome, c.reported[0].Triage = model.ScanLate, 0
			c.triage[identity(1)] = model.TriageIgnored
		}, nil, ""},
		"late, on main": {func(c *judging) {
			c.scan.Ref, c.outcome, c.findings[mainRef+" gosec"] = mainRef, model.ScanLate, nil
		}, nil, ""},
		"late, and bad lockfiles came since": {func(c *judging) {
			c.conditional(both)
			c.advise(9)
			c.report(codeFinding(1, "r"))
			c.outcome = model.ScanLate
		}, []int64{101}, ""},
		"late, and its own lockfiles are bad": {func(c *judging) {
			c.conditional(model.PolicyCondition{Exploited: true})
			c.exploited, c.outcome = []string{"CVE-2026-1"}, model.ScanLate
			c.own = []policy.Sighting{{Finding: dependencyFinding(8), Supply: model.SupplyFacts{Package: "lib", Vulnerability: "cve-2026-1"}}}
			c.own[0].Finding.ID = 0
		}, []int64{101, 0}, "lib  has cve-2026-1"},
		"in time, and its own lockfiles are in force": {func(c *judging) {
			c.conditional(both)
			c.advise(9)
			c.report(codeFinding(1, "r"))
			c.own = []policy.Sighting{{Finding: dependencyFinding(8)}}
		}, []int64{101, 109}, ""},
		"on main": {func(c *judging) { c.scan.Ref = mainRef }, []int64{0}, ""},
		"ignored, and not on the branch before": {func(c *judging) {
			c.findings[topicRef+" gosec"], c.triage[identity(1)] = nil, model.TriageIgnored
		}, nil, ""},
		"muted by a proposal, and open by what is known": {func(c *judging) {
			c.reported[0].Finding.State, c.reported[0].Proposed = model.Muted, true
		}, []int64{101}, ""},
		"muted by a proposal, of a scan that does not count": {func(c *judging) {
			c.reported[0].Finding.State, c.reported[0].Proposed, c.outcome = model.Muted, true, model.ScanLate
		}, nil, ""},
		"muted by a proposal, and of nothing known": {func(c *judging) {
			c.reported[0].Finding.State, c.reported[0].Proposed, c.findings[topicRef+" gosec"] = model.Muted, true, nil
		}, nil, ""},
		"muted in the code": {func(c *judging) { c.reported[0].Finding.State = model.Muted }, nil, ""},

		"a rule and a condition":     {func(c *judging) { c.conditional(both) }, []int64{101, 102}, "2 new findings of blocking rules and conditions"},
		"a condition alone":          {func(c *judging) { c.conditional(both); c.report(dependencyFinding(2)) }, []int64{102}, "1 new finding of blocking conditions"},
		"a condition, of other code": {func(c *judging) { c.conditional(both); c.report(codeFinding(3, "monitored")) }, nil, ""},
		"reachable by a note": {func(c *judging) {
			c.conditional(model.PolicyCondition{Reachable: true})
			c.notes[2] = model.Annotations{Reachability: model.Reachable}
		}, []int64{101, 102}, ""},
		"reachable by a note, of no word of the scanner": {func(c *judging) {
			c.conditional(model.PolicyCondition{Reachable: true})
			c.reported[1].Finding.Reachability, c.notes[2] = 0, model.Annotations{Reachability: model.Reachable}
		}, []int64{101, 102}, ""},
		"reachable by a note, against the scanner": {func(c *judging) {
			c.conditional(model.PolicyCondition{Reachable: true})
			c.reported[1].Finding.Reachability, c.notes[2] = model.Unreachable, model.Annotations{Reachability: model.Reachable}
		}, []int64{101}, ""},
		"not noted as reachable": {func(c *judging) { c.conditional(model.PolicyCondition{Reachable: true}) }, []int64{101}, ""},
		"likely enough": {func(c *judging) {
			c.conditional(model.PolicyCondition{EPSS: 0.5})
			c.notes[2] = model.Annotations{EPSS: &model.EPSS{Score: 0.5}}
			c.facts = map[int64]model.SupplyFacts{102: {Package: "lib"}}
		}, []int64{101, 102}, ""},
		"not scored": {func(c *judging) { c.conditional(model.PolicyCondition{EPSS: 0.5}) }, []int64{101}, ""},
		"exploited": {func(c *judging) {
			c.conditional(model.PolicyCondition{Exploited: true})
			c.facts = map[int64]model.SupplyFacts{102: {Exploited: true}}
		}, []int64{101, 102}, ""},
		"old enough": {func(c *judging) {
			c.conditional(model.PolicyCondition{GraceDays: 365})
			c.findings[topicRef+" gosec"][1].RelevantSince = c.Now().Add(-year)
			c.facts = map[int64]model.SupplyFacts{102: {Package: "lib"}}
		}, []int64{101, 102}, ""},
		"too young": {func(c *judging) {
			c.conditional(model.PolicyCondition{GraceDays: 365})
			c.findings[topicRef+" gosec"][1].RelevantSince = c.Now().Add(time.Hour - year)
		}, []int64{101}, ""},
		"of no age, as it is not stored": {func(c *judging) {
			c.conditional(model.PolicyCondition{GraceDays: 1})
			c.findings[topicRef+" gosec"] = nil
		}, []int64{0}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudging()
			if c.change != nil {
				c.change(j)
			}
			verdict, err := j.judge(t)
			if got := idsOf(verdict.Blocking); err != nil || !slices.Equal(got, c.want) || !strings.Contains(verdict.Reason, c.reason) || (verdict.Reason != "") != (len(c.want) > 0) {
				t.Errorf("%v block, want %v: %q, %v", got, c.want, verdict.Reason, err)
			}
		})
	}
}

// TestJudgeReadsRequiredDataOnly checks which data is read, and that read errors are returned.
func TestJudgeReadsRequiredDataOnly(t *testing.T) {
	advised := func(c *judging) {
		c.findings[topicRef+" "+model.SourceAdvisories] = []model.Finding{dependencyFinding(9)}
	}
	c := newJudging()
	advised(c)
	depends := dependencyFinding(2)
	depends.RuleName = "r"
	c.findings[topicRef+" gosec"] = append(c.findings[topicRef+" gosec"], depends)
	c.report(codeFinding(1, "r"), depends, dependencyFinding(3))
	if _, err := c.judge(t); err != nil || slices.Contains(c.requested, identity(9)) || slices.Contains(c.requested, identity(3)) || c.supplies != 0 {
		t.Errorf("without conditions it asks of %v and %v, %v", c.requested, c.supplied, err)
	}
	c = newJudging()
	advised(c)
	c.blocking = []model.PolicyRule{{PolicyID: 1, Mode: model.ModeMonitor, Rule: model.Rule{Name: "CVE-2026-1"}}}
	if _, err := c.judge(t); err != nil || slices.Contains(c.requested, identity(9)) {
		t.Errorf("of an advisory that blocks nothing it asks of %v, %v", c.requested, err)
	}
	c.blocking[0].Mode = model.ModeBlock
	if _, err := c.judge(t); err != nil || !slices.Contains(c.requested, identity(9)) {
		t.Errorf("of an advisory that blocks it asks of %v, %v", c.requested, err)
	}
	c = newJudging()
	c.conditional(model.PolicyCondition{Severity: model.SeverityLow})
	c.report(codeFinding(1, "r"), dependencyFinding(2), dependencyFinding(3))
	if _, err := c.judge(t); err != nil || !slices.Equal(c.supplied, []int64{102}) {
		t.Errorf("it asks for the facts of %v, %v", c.supplied, err)
	}
	c.supplies = 0
	c.report(codeFinding(1, "r"))
	if _, err := c.judge(t); err != nil || c.supplies != 0 {
		t.Errorf("of code it asks for the facts of %v, %v", c.supplied, err)
	}
	c.requested = nil
	c.report(codeFinding(4, "monitored"))
	if _, err := c.judge(t); err != nil || slices.Contains(c.requested, identity(4)) {
		t.Errorf("of code that nothing blocks it asks of %v, %v", c.requested, err)
	}
	c.report(codeFinding(1, "r"), dependencyFinding(2))
	for _, c.broken = range []string{"facts", "lineages of findings"} {
		if _, err := c.judge(t); !errors.Is(err, errBench) {
			t.Errorf("%s are broken: %v", c.broken, err)
		}
	}
}

// TestSightingExplained checks descriptions of findings with missing data.
func TestSightingExplained(t *testing.T) {
	for want, change := range map[string]func(*policy.Sighting){
		"CVE-2026-1 at p:3 (because)":                                  func(s *policy.Sighting) { s.Supply.Package = "" },
		"lib 1.0 has CVE-2026-1 at p:3 (no fix is available; because)": func(s *policy.Sighting) { s.Supply.Vulnerability = "" },
		"lib 1.0 has GHSA-x at p:3 (no fix is available; because)":     func(*policy.Sighting) {},
		"lib 1.0 has GHSA-x at p:3 (fixed in 1.1; because)":            func(s *policy.Sighting) { s.Supply.Fixes = []model.Fix{{Package: "lib", Version: "1.1"}} },
		"": func(s *policy.Sighting) { s.Condition = "" },
	} {
		s := policy.Sighting{Finding: dependencyFinding(2), Condition: "because", Supply: model.SupplyFacts{Package: "lib", Version: "1.0", Vulnerability: "GHSA-x"}}
		change(&s)
		if got := s.Explained(); got != want {
			t.Errorf("explained as %q, want %q", got, want)
		}
	}
}
