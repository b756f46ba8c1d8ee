package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSARIFMatchesCI imports reports of the same rules and commit together with semgrep ci, in both
// orders. Semgrep's SARIF and opengrep's two formats must have the same source and findings. The
// reports of opengrep were recorded as described in testdata/ci/README.md.
func TestSARIFMatchesCI(t *testing.T) {
	t.Parallel()
	w := newCIWorld(t, "sqlite")
	w.record(t.TempDir())
	w.twice()
	reports := w.sarifReports()
	for _, format := range []string{"sarif", "json"} {
		reports["opengrep-"+format] = filepath.Join("testdata", "ci", "opengrep."+format)
	}
	packages := []string{"sca-upgrade", "sca-reached", "sca-unreached"}
	for _, kind := range slices.Sorted(keysOf(reports)) {
		var untold []string // SARIF cannot contain a package
		if kind != "opengrep-json" {
			untold = packages
		}
		w.compareImports("acme/ci-then-"+kind, reports[kind], true, untold...)
		w.compareImports("acme/"+kind+"-then-ci", reports[kind], false, untold...)
	}
	output := w.redoubt("import", "--project", "acme/refused", "--ref", "main", reports["sarif"])
	if strings.Count(output, "its package has no name") != len(packages) {
		t.Errorf("the import does not say what it refused:\n%s", output)
	}
}

// sarifReports runs `semgrep scan --sarif`, with and without a login.
func (w *ciWorld) sarifReports() map[string]string {
	w.Helper()
	text, err := os.ReadFile("testdata/ci/rules.yaml")
	if err != nil {
		w.Fatal(err)
	}
	w.write("scan-rules.yaml", string(text))
	out := map[string]string{}
	for kind, token := range map[string]string{"sarif": "any token", "sarif-logged-out": ""} {
		out[kind] = filepath.Join(w.home, kind+".sarif")
		cmd := exec.Command(w.semgrep, "scan", "--oss-only", "--config", "scan-rules.yaml", "--sarif-output", out[kind])
		cmd.Dir = w.repo
		cmd.Env = []string{
			"PATH=" + filepath.Dir(w.semgrep) + ":" + os.Getenv("PATH"), "HOME=" + w.home, "SEMGREP_URL=http://127.0.0.1:9", "SEMGREP_APP_TOKEN=" + token,
			"SEMGREP_SETTINGS_FILE=" + filepath.Join(w.home, "plain.yml"), "SEMGREP_SEND_METRICS=off", "SEMGREP_ENABLE_VERSION_CHECK=0",
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			w.Fatalf("%s: %v\n%s", kind, err, stderr.Bytes())
		}
	}
	w.git("clean", "-fdq")
	return out
}
