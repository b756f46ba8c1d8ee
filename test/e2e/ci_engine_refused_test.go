package e2e

import (
	"os/exec"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TestCIWithoutOSSOnly runs the real scanner with its defaults: it requests an engine that this
// server does not have, and exits. Its scan must have ended with an error.
func TestCIWithoutOSSOnly(t *testing.T) {
	w := newCIWorld(t, "sqlite")
	cmd := exec.Command(w.semgrep, "ci")
	cmd.Dir, cmd.Env = w.repo, w.env("main")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	list, err := w.client().SearchScans(t.Context(), "acme", api.SearchScansRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Scans) != 1 || list.Scans[0].Status != model.ScanError.String() {
		t.Errorf("%+v\n%s", list.Scans, out)
	}
}
