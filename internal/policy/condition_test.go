package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

// TestConditions evaluates variants of one finding against one condition.
func TestConditions(t *testing.T) {
	const day = 24 * time.Hour
	type (
		condition = model.PolicyCondition
		sighting  = policy.Sighting
	)
	shop := model.Project{Name: "acme/shop", Tags: []string{"pci"}}
	for what, c := range map[string]struct {
		condition condition
		change    func(*sighting)
		first     bool
		blocks    bool
	}{
		"as severe":                   {condition{Severity: model.SeverityHigh}, nil, false, true},
		"less severe":                 {condition{Severity: model.SeverityCritical}, nil, false, false},
		"of unknown reachability":     {condition{Reachable: true}, nil, false, false},
		"reachable":                   {condition{Reachable: true}, func(s *sighting) { s.Finding.Reachability = model.Reachable }, false, true},
		"always reachable":            {condition{Reachable: true}, func(s *sighting) { s.Finding.Reachability = model.AlwaysReachable }, false, true},
		"with the score":              {condition{EPSS: 0.5}, nil, false, true},
		"with a lower score":          {condition{EPSS: 0.51}, nil, false, false},
		"without a score":             {condition{EPSS: 0.1}, func(s *sighting) { s.Supply.EPSS = nil }, false, false},
		"not exploited":               {condition{Exploited: true}, nil, false, false},
		"exploited":                   {condition{Exploited: true}, func(s *sighting) { s.Supply.Exploited = true }, false, true},
		"not malicious":               {condition{Malicious: true}, nil, false, false},
		"malicious":                   {condition{Malicious: true}, func(s *sighting) { s.Finding.Malicious = true }, false, true},
		"with a fix":                  {condition{Fixable: true}, nil, false, true},
		"without a fix":               {condition{Fixable: true}, func(s *sighting) { s.Supply.Fixes = nil }, false, false},
		"direct":                      {condition{Direct: true}, nil, false, true},
		"transitive":                  {condition{Direct: true}, func(s *sighting) { s.Finding.Transitivity = model.Transitive }, false, false},
		"as old":                      {condition{GraceDays: 3}, nil, false, true},
		"younger":                     {condition{GraceDays: 4}, nil, false, false},
		"all but one":                 {condition{Severity: model.SeverityHigh, Fixable: true, Exploited: true}, nil, false, false},
		"known to the primary branch": {condition{Severity: model.SeverityLow}, func(s *sighting) { s.Known = true }, false, false},
		"on the first scan":           {condition{Severity: model.SeverityLow}, nil, true, false},
		"ignored":                     {condition{Severity: model.SeverityLow}, func(s *sighting) { s.Triage = model.TriageIgnored }, false, false},
		"muted":                       {condition{Severity: model.SeverityLow}, func(s *sighting) { s.Finding.State = model.Muted }, false, false},
		"of another product":          {condition{Severity: model.SeverityLow}, func(s *sighting) { s.Finding.IssueType = model.SAST }, false, false},
		"as confident":                {condition{Confidence: model.ConfidenceMedium}, func(s *sighting) { s.Finding.Confidence = model.ConfidenceMedium }, false, true},
		"less confident":              {condition{Confidence: model.ConfidenceHigh}, func(s *sighting) { s.Finding.Confidence = model.ConfidenceMedium }, false, false},
		"without confidence":          {condition{Confidence: model.ConfidenceLow}, nil, false, false},
		"without severity":            {condition{Severity: model.SeverityLow}, func(s *sighting) { s.Finding.Severity = 0 }, false, false},
		"monitored":                   {condition{Severity: model.SeverityLow, Mode: model.ModeMonitor}, nil, false, false},
		"commented on":                {condition{Severity: model.SeverityLow, Mode: model.ModeComment}, nil, false, false},
		"in the project":              {condition{Direct: true, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"x/*", "Acme/*"}}}, nil, false, true},
		"in another project":          {condition{Direct: true, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"x/*"}}}, nil, false, false},
		"tagged":                      {condition{Direct: true, Scope: model.PolicyScope{Tags: []string{"PCI"}}}, nil, false, true},
		"without the tag":             {condition{Direct: true, Scope: model.PolicyScope{Tags: []string{"lab"}}}, nil, false, false},
		"on the branch":               {condition{Direct: true, Branches: model.ProjectGlobs{"main", "release/*"}}, nil, false, true},
		"on the ref in full":          {condition{Direct: true, Branches: model.ProjectGlobs{"refs/heads/**"}}, nil, false, true},
		"on another branch":           {condition{Direct: true, Branches: model.ProjectGlobs{"main", "refs/pull/**"}}, nil, false, false},
	} {
		s := sighting{
			Finding: model.Finding{
				RuleName: "CVE-2026-1", Path: "go.sum", Line: 7, IssueType: model.SCA, State: model.Unresolved, Severity: model.SeverityHigh,
				Reachability: model.ReachabilityUnknown, Transitivity: model.Direct,
			},
			Supply: model.SupplyFacts{
				Package: "lib", Version: "1.0", Vulnerability: "CVE-2026-1", Fixes: []model.Fix{{Package: "lib", Version: "1.1"}},
				EPSS: &model.EPSS{Score: 0.5}, Age: 3 * day,
			},
		}
		if c.change != nil {
			c.change(&s)
		}
		c.condition.ID = 4
		if c.condition.Mode == 0 {
			c.condition.Mode = model.ModeBlock
		}
		chain := model.Policy{ID: 1, Slug: "chain", Product: model.SCA, Conditions: []condition{c.condition}}
		const release = "refs/heads/release/1"
		given := func() policy.EffectivePolicy { return policy.For(shop, []model.Policy{chain}, nil) }
		v := policy.Evaluate(policy.Findings{Ref: release, First: c.first, List: []sighting{s}}, given())
		if blocks := len(v.Blocking) == 1; blocks != c.blocks {
			t.Errorf("a finding %s blocks: %v, want %v", what, blocks, c.blocks)
		}
		if c.blocks && s.Supply.Fixes != nil {
			want := "1 new finding of blocking conditions: lib 1.0 has CVE-2026-1 at go.sum:7 (fixed in 1.1; condition 4 of chain: " + c.condition.String() + ")"
			if !strings.Contains(v.Reason, want) {
				t.Errorf("%s: %q, want %q", what, v.Reason, want)
			}
		}
		chain.Scope.Projects = model.ProjectGlobs{"other/*"}
		if v := policy.Evaluate(policy.Findings{Ref: release, List: []sighting{s}}, given()); v.Reason != "" {
			t.Errorf("%s: a policy for other projects blocks", what)
		}
		chain.Scope, chain.BlockAll = model.PolicyScope{}, true
		s.Known = true
		v = policy.Evaluate(policy.Findings{Ref: release, First: true, List: []sighting{s}}, given())
		if c.blocks && v.Reason == "" {
			t.Errorf("%s: a policy that blocks all does not block it once it is known", what)
		}
	}
}

// TestConditionModes evaluates two conditions on one finding. The stricter of the matching
// conditions applies, and only mode block fails the build.
func TestConditionModes(t *testing.T) {
	const none, monitor, comment, block = model.PolicyMode(0), model.ModeMonitor, model.ModeComment, model.ModeBlock
	for _, c := range []struct {
		modes   [2]model.PolicyMode // of two matching conditions of different policies
		ignored bool
		want    model.PolicyMode
		id      string
	}{
		{[2]model.PolicyMode{monitor, none}, false, monitor, "condition 1 of a"},
		{[2]model.PolicyMode{comment, none}, false, comment, "condition 1 of a"},
		{[2]model.PolicyMode{block, none}, false, block, "condition 1 of a"},
		{[2]model.PolicyMode{monitor, comment}, false, comment, "condition 1 of b"},
		{[2]model.PolicyMode{comment, block}, false, block, "condition 1 of b"},
		{[2]model.PolicyMode{block, comment}, false, block, "condition 1 of a"},
		{[2]model.PolicyMode{comment, comment}, false, comment, "condition 1 of a"},
		{[2]model.PolicyMode{comment, monitor}, true, none, ""},
	} {
		var policies []model.Policy
		for i, mode := range c.modes {
			if mode != none {
				policies = append(policies, model.Policy{
					ID: int64(i + 1), Slug: string(rune('a' + i)), Product: model.SCA, Conditions: []model.PolicyCondition{{ID: 1, Mode: mode, Severity: model.SeverityLow}},
				})
			}
		}
		s := policy.Sighting{Finding: model.Finding{IssueType: model.SCA, State: model.Unresolved, Severity: model.SeverityHigh}}
		s.Supply.Package, s.Supply.Vulnerability = "lib", "CVE-2026-1"
		if c.ignored {
			s.Triage = model.TriageIgnored
		}
		v := policy.Evaluate(policy.Findings{List: []policy.Sighting{s}}, policy.For(model.Project{}, policies, nil))
		got := append(v.Blocking, v.Noted...)
		switch {
		case c.want == none:
			if len(got) > 0 {
				t.Errorf("%v: %+v", c, got)
			}
		case len(got) != 1 || got[0].Mode != c.want || !strings.HasPrefix(got[0].Condition, c.id+":") || !strings.Contains(got[0].Explained(), "lib"):
			t.Errorf("%v: %+v", c, got)
		case (c.want == block) != (v.Reason != "") || (c.want == block) != (len(v.Blocking) == 1):
			t.Errorf("%v: blocks %d because %q", c, len(v.Blocking), v.Reason)
		}
	}
}
