package mcp

import (
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestUnratedIsShownToAssistants checks that an unrated vulnerability is not reported as medium.
func TestUnratedIsShownToAssistants(t *testing.T) {
	var f api.SupplyChainFinding
	for unrated, want := range map[bool]string{false: "medium", true: "not rated, counts as medium"} {
		f.Severity, f.Unrated = "medium", unrated
		if got := supplyLine(f).Severity; got != want {
			t.Errorf("unrated %v is shown as %q", unrated, got)
		}
	}
}
