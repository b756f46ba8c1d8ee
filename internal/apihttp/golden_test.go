package apihttp

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestRoutesAreCurrent checks that api/routes.golden lists every operation with its scope, its
// minimum role, and whether it writes.
func TestRoutesAreCurrent(t *testing.T) {
	const golden = "../../api/routes.golden"
	var b strings.Builder
	for _, r := range Routes() {
		effect := "reads"
		if r.Writes {
			effect = "writes"
		}
		fmt.Fprintf(&b, "%-28s %-6s %-80s %-8s %-8s %s\n", r.ID, r.Method, r.Pattern, r.Scope, r.Role, effect)
	}
	if *updateGolden {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("%s is not current, %v: run this test with -update, and check the diff", golden, err)
	}
}
