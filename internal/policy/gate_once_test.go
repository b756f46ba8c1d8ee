package policy_test

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
)

// TestAFindingBlocksOnce where its rule and a condition would both block it, and the
// reason counts no more than there are.
func TestAFindingBlocksOnce(t *testing.T) {
	chain := redoubt.Policy{ID: 1, Slug: "chain", Product: redoubt.SCA, Conditions: []redoubt.PolicyCondition{{ID: 1, Mode: redoubt.ModeBlock, Severity: redoubt.SeverityLow}}}
	given := policy.For(redoubt.Project{}, []redoubt.Policy{chain}, []redoubt.ServedRule{served("r", redoubt.SCA, 1, redoubt.ModeBlock, "")})
	v := policy.Evaluate(policy.Findings{List: []policy.Sighting{{Finding: redoubt.Finding{
		RuleName: "r", Path: "go.sum", Line: 3, State: redoubt.Unresolved, IssueType: redoubt.SCA, Severity: redoubt.SeverityHigh, Reachability: redoubt.Reachable,
	}}}}, given)
	if len(v.Blocking) != 1 || v.Blocking[0].Condition != "" || !strings.Contains(v.Reason, "r at go.sum:3. Fix") {
		t.Errorf("it blocks as %+v: %s", v.Blocking, v.Reason)
	}
}
