package policy_test

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

// TestFindingBlocksOnce checks that a finding blocked by a rule and a condition is counted once.
func TestFindingBlocksOnce(t *testing.T) {
	chain := model.Policy{ID: 1, Slug: "chain", Product: model.SCA, Conditions: []model.PolicyCondition{{ID: 1, Mode: model.ModeBlock, Severity: model.SeverityLow}}}
	given := policy.For(model.Project{}, []model.Policy{chain}, []model.ServedRule{served("r", model.SCA, 1, model.ModeBlock, "")})
	v := policy.Evaluate(policy.Findings{List: []policy.Sighting{{Finding: model.Finding{
		RuleName: "r", Path: "go.sum", Line: 3, State: model.Unresolved, IssueType: model.SCA, Severity: model.SeverityHigh, Reachability: model.Reachable,
	}}}}, given)
	if len(v.Blocking) != 1 || v.Blocking[0].Condition != "" || !strings.Contains(v.Reason, "r at go.sum:3. Fix") {
		t.Errorf("it blocks as %+v: %s", v.Blocking, v.Reason)
	}
}
