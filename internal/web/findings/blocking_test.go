package findings

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

// TestFindingPassReason checks that only the scan's own findings count.
func TestFindingPassReason(t *testing.T) {
	if got := (knownFindings{}).whyPasses(policy.EffectivePolicy{}, model.Blocked{FindingID: 7}, false); got.Code != "gone" {
		t.Errorf("a deleted finding: %q", got)
	}
	both := knownFindings{rows: []model.Finding{{ID: 1, Source: "semgrep"}, {ID: 2, Source: model.SourceAdvisories}}}
	if own := both.of(model.Scan{Source: "semgrep"}); len(own) != 1 || own[0].ID != 1 {
		t.Errorf("the scan's own are %+v", own)
	}
}
