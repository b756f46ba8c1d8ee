package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report/semgrep"
)

// TestFinish checks the data that the completion and the policies add to a report.
func TestFinish(t *testing.T) {
	served := func(name string, product model.IssueType, message string) model.ServedRule {
		s := model.ServedRule{}
		s.Rule = model.Rule{Name: name, IssueType: product, Message: message}
		return s
	}
	for name, c := range map[string]struct {
		ran              []string
		products, notRun string
	}{
		"code alone":       {[]string{"code", "other"}, "true false []", "[sca key]"},
		"the inert rule":   {[]string{"code", policy.InertID}, "true true [go.sum:1 yarn.lock:0]", "[sca key]"},
		"a rule for these": {[]string{"sca"}, "false true [go.sum:1 yarn.lock:0]", "[code key]"},
	} {
		ran := &model.Rule{Name: "key", IssueType: model.Secrets, Version: 3}
		own := &model.Rule{Name: "own", IssueType: model.Secrets}
		rep := &model.Report{
			RulesRun: c.ran, Rules: []*model.Rule{ran}, Unresolved: []string{"a"},
			Inventories: []model.Inventory{{Lockfile: "go.sum"}, {Lockfile: "yarn.lock"}},
			Results: []model.Result{
				{Rule: ran, Path: "a", Message: "told", Secret: &model.SecretMatch{}},
				{Rule: ran, Path: "b", Message: "told"},
				{Rule: own, Path: "c", Message: "told", Secret: &model.SecretMatch{}},
			},
		}
		key := served("key", model.Secrets, "a $KEY")
		f := completion{
			rep:   rep,
			given: policy.EffectivePolicy{Rules: []model.ServedRule{served("code", model.SAST, "m"), served("sca", model.SCA, "m"), key}},
			done:  semgrep.CICompletion{ExitCode: 2, Seconds: 1.5, Inventories: []model.Inventory{{Lockfile: "go.sum", Dependencies: make([]model.Dependency, 1)}}, Unresolved: []string{"b"}},
		}
		f.finish()
		var locks, gaps []string
		for _, i := range rep.Inventories {
			locks = append(locks, fmt.Sprint(i.Lockfile, ":", len(i.Dependencies)))
		}
		for _, g := range rep.Gaps {
			gaps = append(gaps, g.What)
		}
		products := fmt.Sprint(rep.Products.Has(model.SAST), rep.Products.Has(model.SCA), locks)
		if products != c.products || fmt.Sprint(gaps) != c.notRun {
			t.Errorf("%s: %s, not run %v; want %s, not run %s", name, products, gaps, c.products, c.notRun)
		}
		if rep.Rules != nil || len(rep.Unresolved) != 2 || rep.TotalTime != 1500*time.Millisecond || !rep.Failed {
			t.Errorf("%s: the report ends as %+v", name, rep)
		}
		messages := fmt.Sprint(rep.Results[0].Message, rep.Results[1].Message, rep.Results[2].Message)
		if as := rep.Results[0].Rule; messages != "a $KEYtoldtold" || as.Message != "a $KEY" || as.Version != 3 || rep.Results[1].Rule != as || rep.Results[2].Rule != own {
			t.Errorf("%s: results say %q, by %+v", name, messages, as)
		}
	}
}

// TestScanFailureByExitCode checks exit codes. A scanner exits with 1 if it has findings to report, and
// with higher codes after errors.
func TestScanFailureByExitCode(t *testing.T) {
	for code, failed := range map[int]bool{0: false, 1: false, 2: true, 7: true} {
		c := completion{rep: &model.Report{}, done: semgrep.CICompletion{ExitCode: code}}
		if c.finish(); c.rep.Failed != failed {
			t.Errorf("a scan that ends with %d is failed: %v", code, c.rep.Failed)
		}
	}
}

// TestRuleOfOtherProductIsNotUsed checks that a rule of the same name for another product
// does not replace the rule that ran.
func TestRuleOfOtherProductIsNotUsed(t *testing.T) {
	ran := &model.Rule{Name: "key", IssueType: model.Secrets}
	written := asWritten(map[string]*model.Rule{"key": {Name: "key", IssueType: model.SAST}})
	if got := written(ran); got != ran {
		t.Errorf("the rule that ran is %+v", got)
	}
}
