package agent_test

import "testing"

// TestDryRunNeedsNoProject checks dry runs that only read rules, for repository names without a
// slash.
func TestDryRunNeedsNoProject(t *testing.T) {
	w := newWorld(t, "sqlite")
	for _, name := range []string{`"repository":"fake-app"`, `"repository":""`} {
		w.ok("POST", "/api/cli/scans", []byte(`{"project_metadata":{`+name+`},"scan_metadata":{"unique_id":"a-b","dry_run":true}}`))
	}
	if n := len(w.scans()); n != 0 {
		t.Errorf("dry runs left %d scans", n)
	}
}
