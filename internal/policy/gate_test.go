package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

func served(name string, product model.IssueType, policyID int64, mode model.PolicyMode, text string) model.ServedRule {
	return model.ServedRule{
		PolicyRule: model.PolicyRule{PolicyID: policyID, Mode: mode, Rule: model.Rule{Name: name, IssueType: product}}, Version: 3, Text: []byte(text),
	}
}

func TestDocument(t *testing.T) {
	rules := []model.ServedRule{
		served("a", model.SAST, 1, model.ModeBlock, `{"id":"a","metadata":{"dev.semgrep.actions":["block"],"dev.semgrep.validation_state.actions":{"valid":"block"},"cwe":"x"}}`),
		served("b", model.SCA, 2, model.ModeMonitor, `{"id":"b"}`),
	}
	policies := []model.Policy{{ID: 1, Name: "Code", Slug: "code"}, {ID: 2, Name: "Chain", Slug: "chain"}}
	const (
		a = `{"id":"a","metadata":{"cwe":"x","dev.semgrep.actions":[],"redoubt":{"rule_version":3},"semgrep.policy":{"id":1,"name":"Code","slug":"code"}}}`
		b = `{"id":"b","metadata":{"dev.semgrep.actions":[],"redoubt":{"rule_version":3},"semgrep.policy":{"id":2,"name":"Chain","slug":"chain"}}}`
	)
	for _, c := range []struct {
		requested, only []string
		want            []string
		inert           bool
	}{
		{nil, nil, []string{a, b}, true},
		{[]string{"sast"}, nil, []string{a}, false},
		{[]string{"sca", "unheard-of"}, nil, []string{b}, true},
		{[]string{"secrets"}, nil, nil, false},
		{nil, []string{"b"}, []string{b}, false},
	} {
		text, err := policy.Document(rules, policies, policy.Products(c.requested), c.only)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Rules []json.RawMessage }
		if err := json.Unmarshal(text, &got); err != nil || got.Rules == nil {
			t.Fatalf("%v: %s", err, text)
		}
		var list []string
		inert := false
		for _, r := range got.Rules {
			if strings.Contains(string(r), policy.InertID) {
				inert = true
				continue
			}
			list = append(list, string(r))
		}
		if diff := cmp.Diff(c.want, list); diff != "" || inert != c.inert {
			t.Errorf("%v, only %v: inert rule %v (-want +got):\n%s", c.requested, c.only, inert, diff)
		}
	}
	if _, err := policy.Document(rules, nil, policy.Products(nil), nil); err == nil {
		t.Error("a rule of no policy was served")
	}
}

func TestProjectUsesStrictestMode(t *testing.T) {
	policies := []model.Policy{
		{ID: 1, Slug: "code", Product: model.SAST, Default: true, Excludes: model.PathGlobs{"vendor"}},
		{ID: 2, Slug: "pay", Product: model.SAST, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"Acme/pay*"}}, Excludes: model.PathGlobs{"gen", "vendor"}},
		{ID: 3, Slug: "pci", Product: model.SAST, BlockAll: true, Scope: model.PolicyScope{Tags: []string{"PCI"}}},
	}
	rules := []model.ServedRule{
		served("a", model.SAST, 1, model.ModeComment, "{}"), served("a", model.SAST, 2, model.ModeBlock, "{}"), served("a", model.SAST, 3, model.ModeMonitor, "{}"),
		served("b", model.SAST, 2, model.ModeBlock, "{}"), served("b", model.SAST, 3, model.ModeBlock, "{}"), served("c", model.SAST, 3, model.ModeComment, "{}"),
	}
	for _, c := range []struct {
		project  model.Project
		want     string
		excludes model.PathGlobs
	}{
		{model.Project{Name: "acme/web"}, "a comment of 1", model.PathGlobs{"vendor"}},
		{model.Project{Name: "acme/PAYMENTS"}, "a block of 2, b block of 2", model.PathGlobs{"gen", "vendor"}},
		{model.Project{Name: "acme/payments", Tags: []string{"x", "pci"}}, "a block of 2, b block of 3 (all), c comment of 3", model.PathGlobs{"gen", "vendor"}},
	} {
		g := policy.For(c.project, policies, rules)
		var list []string
		for _, r := range g.Rules {
			s := g.RuleMode(r.Rule.Name)
			text := fmt.Sprintf("%s %s of %d", r.Rule.Name, s.Mode, s.PolicyID)
			if s.BlockAll {
				text += " (all)"
			}
			if r.PolicyID != s.PolicyID {
				t.Errorf("%s is served as of policy %d", text, r.PolicyID)
			}
			list = append(list, text)
		}
		if got := strings.Join(list, ", "); got != c.want {
			t.Errorf("%v is given %s; want %s", c.project, got, c.want)
		}
		if diff := cmp.Diff(c.excludes, g.Excludes(model.SAST)); diff != "" || len(g.Excludes(model.SCA)) > 0 {
			t.Errorf("%v leaves out (-want +got):\n%s", c.project, diff)
		}
		if g.ExcludedFor("a", "src/a.go") || !g.ExcludedFor("a", "x/vendor/a.go") || g.ExcludedFor("unknown", "vendor/a.go") {
			t.Errorf("%v: what is left out for a rule", c.project)
		}
	}
}

// TestPolicyOfSelectedBranches checks a policy on refs other than its own. There, its rules only
// monitor, its conditions fail no build, and other policies are not affected.
func TestPolicyOfSelectedBranches(t *testing.T) {
	severe := model.PolicyCondition{ID: 1, Mode: model.ModeBlock, Severity: model.SeverityHigh}
	for _, c := range []struct {
		branches model.ProjectGlobs
		ref      string
		want     string // expected setting of rule a, which policy 1 has in mode comment for all branches
		blocks   int    // expected blocks of a finding of a, one of b, and a dependency that matches the condition
	}{
		{nil, "refs/heads/topic", "block of 2", 3},
		{model.ProjectGlobs{"main"}, "refs/heads/main", "block of 2", 3},
		{model.ProjectGlobs{"main"}, "refs/heads/topic", "comment of 1", 0},
		{model.ProjectGlobs{"main"}, "refs/tags/main", "comment of 1", 0},
		{model.ProjectGlobs{"main", "release/*"}, "refs/heads/release/1.3", "block of 2", 3},
		{model.ProjectGlobs{"release/*"}, "refs/heads/release/1/3", "comment of 1", 0},
		{model.ProjectGlobs{"refs/heads/**"}, "refs/heads/release/1/3", "block of 2", 3},
		{model.ProjectGlobs{"main"}, "refs/pull/7/merge", "comment of 1", 0},
		{model.ProjectGlobs{"main", "refs/pull/**"}, "refs/pull/7/merge", "block of 2", 3},
		{model.ProjectGlobs{"refs/merge-requests/**"}, "refs/merge-requests/7/head", "block of 2", 3},
		{model.ProjectGlobs{"**"}, "HEAD", "block of 2", 3},
		{model.ProjectGlobs{"MAIN"}, "refs/heads/main", "comment of 1", 0}, // Git is case-sensitive
	} {
		all := policy.For(model.Project{Name: "acme/web"}, []model.Policy{
			{ID: 1, Product: model.SAST}, {ID: 2, Product: model.SAST, Branches: c.branches}, {ID: 3, Slug: "chain", Product: model.SCA, Branches: c.branches, Conditions: []model.PolicyCondition{severe}},
		}, []model.ServedRule{
			served("a", model.SAST, 1, model.ModeComment, ""), served("a", model.SAST, 2, model.ModeBlock, ""), served("b", model.SAST, 2, model.ModeBlock, ""),
		})
		on := all.On("refs/heads/elsewhere").On(c.ref)
		stance := on.RuleMode("a")
		if got := fmt.Sprintf("%s of %d", stance.Mode, stance.PolicyID); got != c.want {
			t.Errorf("%v: on %s rule a is %s, want %s", c.branches, c.ref, got, c.want)
		}
		if on.RuleMode("b").Mode == 0 || len(on.Rules) != 2 {
			t.Errorf("%v: on %s what is served changes", c.branches, c.ref)
		}
		if stance := all.RuleMode("a"); stance.Mode != model.ModeBlock || stance.PolicyID != 2 {
			t.Errorf("%v: asking for %s changed what holds everywhere: %+v", c.branches, c.ref, stance)
		}
		found := func(rule string, product model.IssueType) policy.Sighting {
			return policy.Sighting{Finding: model.Finding{RuleName: rule, Path: "a", State: model.Unresolved, IssueType: product, Severity: model.SeverityHigh}}
		}
		list := []policy.Sighting{found("a", model.SAST), found("b", model.SAST), found("CVE-1", model.SCA)}
		v := policy.Evaluate(policy.Findings{Ref: c.ref, List: list}, all)
		if len(v.Blocking) != c.blocks {
			t.Errorf("%v: on %s %d block, want %d", c.branches, c.ref, len(v.Blocking), c.blocks)
		}
	}
}

func TestGate(t *testing.T) {
	given := policy.For(model.Project{Name: "acme/web"}, []model.Policy{{ID: 1}, {ID: 2, BlockAll: true}}, []model.ServedRule{
		served("block", model.SAST, 1, model.ModeBlock, ""), served("comment", model.SAST, 1, model.ModeComment, ""),
		served("monitor", model.SAST, 2, model.ModeMonitor, ""), served("all", model.SAST, 2, model.ModeBlock, ""),
	})
	with := func(change func(*policy.Sighting)) policy.Sighting {
		s := policy.Sighting{MatchBasedID: "id", Finding: model.Finding{
			RuleName: "block", Path: "a.go", Line: 3, State: model.Unresolved, IssueType: model.SAST, Severity: model.SeverityHigh,
		}}
		change(&s)
		return s
	}
	chain := func(r model.Reachability, transitivity model.Transitivity, malicious bool) policy.Sighting {
		return with(func(s *policy.Sighting) {
			s.Finding.IssueType, s.Finding.Reachability, s.Finding.Transitivity, s.Finding.Malicious = model.SCA, r, transitivity, malicious
		})
	}
	for _, c := range []struct {
		what     string
		sighting policy.Sighting
		first    bool
		blocks   bool
	}{
		{"new", with(func(*policy.Sighting) {}), false, true},
		{"on the first scan of the primary branch", with(func(*policy.Sighting) {}), true, false},
		{"known", with(func(s *policy.Sighting) { s.Known = true }), false, false},
		{"ignored", with(func(s *policy.Sighting) { s.Triage = model.TriageIgnored }), false, false},
		{"reviewed", with(func(s *policy.Sighting) { s.Triage = model.TriageReviewing }), false, true},
		{"muted", with(func(s *policy.Sighting) { s.Finding.State = model.Muted }), false, false},
		{"of a commenting rule", with(func(s *policy.Sighting) { s.Finding.RuleName = "comment" }), false, false},
		{"of a monitoring rule", with(func(s *policy.Sighting) { s.Finding.RuleName = "monitor" }), false, false},
		{"known, of a policy that blocks all", with(func(s *policy.Sighting) { s.Finding.RuleName, s.Known = "all", true }), false, true},
		{"on the first scan, of a policy that blocks all", with(func(s *policy.Sighting) { s.Finding.RuleName = "all" }), true, true},
		{"ignored, of a policy that blocks all", with(func(s *policy.Sighting) { s.Finding.RuleName, s.Triage = "all", model.TriageIgnored }), false, false},
		{"of no rule of ours", with(func(s *policy.Sighting) { s.Finding.RuleName = "other" }), false, false},
		{"a reachable dependency", chain(model.Reachable, model.Transitive, false), false, true},
		{"an unreachable dependency", chain(model.Unreachable, model.Direct, false), false, false},
		{"an unknown dependency", chain(model.ReachabilityUnknown, model.Direct, false), false, false},
		{"one to upgrade", chain(model.AlwaysReachable, model.Direct, false), false, true},
		{"one deep down to upgrade", chain(model.AlwaysReachable, model.Transitive, false), false, false},
		{"a malicious one deep down", chain(model.AlwaysReachable, model.Transitive, true), false, true},
	} {
		v := policy.Evaluate(policy.Findings{First: c.first, List: []policy.Sighting{c.sighting}}, given)
		if blocks := v.Reason != ""; blocks != c.blocks || len(v.Blocking) > 0 != blocks {
			t.Errorf("a finding %s blocks: %v %q, want %v", c.what, blocks, v.Reason, c.blocks)
		}
	}
}

func TestReasonListsMostSevereFirst(t *testing.T) {
	var list []policy.Sighting
	for i, severity := range []model.Severity{1, 2, 3, 4, 1, 1, 1} {
		list = append(list, policy.Sighting{Finding: model.Finding{RuleName: "r", Path: "p", Line: i, State: model.Unresolved, IssueType: model.SAST, Severity: severity}})
	}
	given := policy.For(model.Project{}, []model.Policy{{ID: 1, BlockAll: true}}, []model.ServedRule{served("r", model.SAST, 1, model.ModeBlock, "")})
	v := policy.Evaluate(policy.Findings{List: list}, given)
	if want := "7 new findings of blocking rules: r at p:3, r at p:2, r at p:1, r at p:0, r at p:4 and 2 more."; !strings.Contains(v.Reason, want) {
		t.Errorf("%q, want %q", v.Reason, want)
	}
	list[3].Known = true
	v = policy.Evaluate(policy.Findings{List: list}, given)
	if want := "7 findings of blocking rules, 1 known; the policy blocks known findings too: r at p:3"; !strings.Contains(v.Reason, want) {
		t.Errorf("%q, want %q", v.Reason, want)
	}
}

func TestPrimaryAfter(t *testing.T) {
	full := model.Scan{Ref: "refs/heads/trunk", Full: true}
	for _, c := range []struct {
		project model.Project
		scan    model.Scan
		want    string
	}{
		{model.Project{}, full, "refs/heads/trunk"},
		{model.Project{}, model.Scan{Ref: "refs/heads/trunk"}, "refs/heads/main"},
		{model.Project{}, model.Scan{Ref: "refs/pull/1/merge", Full: true}, "refs/heads/main"},
		{model.Project{}, model.Scan{Ref: "refs/heads/trunk", Full: true, Status: model.ScanError}, "refs/heads/main"},
		{model.Project{}, model.Scan{Ref: "refs/heads/trunk", Full: true, Outcome: model.ScanLate}, "refs/heads/main"},
		{model.Project{DefaultBranch: "refs/heads/main"}, full, "refs/heads/main"},
		{model.Project{PrimaryBranch: "refs/heads/dev"}, full, "refs/heads/dev"},
	} {
		if got := policy.PrimaryAfter(c.project, c.scan); got != c.want {
			t.Errorf("%+v after %+v: %s, want %s", c.project, c.scan, got, c.want)
		}
	}
}
