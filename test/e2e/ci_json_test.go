package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// TestPlainJSONMatchesCI imports plain JSON of a commit and scans it with semgrep ci, in both orders.
// The findings must be the same. Without a login, the JSON has neither ids nor code; from a
// directory, rules have other names.
func TestPlainJSONMatchesCI(t *testing.T) {
	onEngines(t, func(w *ciWorld) {
		w.twice()
		reports := w.plainReports()
		for _, kind := range slices.Sorted(keysOf(reports)) {
			w.compareImports("acme/ci-then-"+kind, reports[kind], true)
			w.compareImports("acme/"+kind+"-then-ci", reports[kind], false)
		}
	})
}

// twice adds a file with the same finding in several places.
func (w *ciWorld) twice() {
	w.Helper()
	w.write("twice.py", "def a(x):\n    return x == x\n\n\ndef b(x):\n    return x == x\n\n\ndef c(y):\n    if y == y:\n        return 1\n")
	w.commit("twice")
}

func keysOf(m map[string]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// compareImports imports the findings of a project twice and compares them. Data of the rules in untold is
// only in semgrep ci, and an import must not remove it. All projects of a test have the same code,
// so the scanner runs only for the first.
func (w *ciWorld) compareImports(project, report string, ciFirst bool, untold ...string) {
	w.Helper()
	ci := func() {
		variables := []string{"SEMGREP_REPO_NAME=" + project}
		if w.scannedShared {
			variables = append(variables, same)
		}
		w.scannedShared = true
		if r := w.scan("main", loud, variables...); r.exit > 1 {
			w.Fatalf("semgrep ci ended with %d:\n%s", r.exit, r.stderr)
		}
	}
	imported := func() { w.redoubt("import", "--project", project, "--ref", "main", report) }
	steps := []func(){imported, ci, imported}
	if ciFirst {
		steps = []func(){ci, imported}
	}
	steps[0]()
	before := w.found(project)
	if len(before) < 8 {
		w.Fatalf("%s: only %d findings: %v", project, len(before), before)
	}
	for i, step := range steps[1:] {
		step()
		after := w.found(project)
		for location, f := range after {
			rule, _, _ := strings.Cut(location, " ")
			if before[location] == "" && (slices.Contains(untold, rule) || strings.HasSuffix(f, " ignored")) {
				delete(after, location) // ignored by nosemgrep, which plain JSON does not report
			}
		}
		if diff := cmp.Diff(before, after); diff != "" {
			w.Errorf("%s: findings after the first and after step %d (-first +step):\n%s", project, i+2, diff)
		}
	}
}

// found lists a project's findings by place, with id and status.
func (w *ciWorld) found(project string) map[string]string {
	w.Helper()
	out := map[string]string{}
	q := api.FindingsQuery{Repos: []string{project}}
	note := func(rule, path string, line, column int64, id any, status string, err error) {
		if err != nil {
			w.Fatal(err)
		}
		location := fmt.Sprintf("%s %s:%d:%d", rule[strings.LastIndexByte(rule, '.')+1:], path, line, column)
		if status != "fixed" || out[location] == "" {
			out[location] = fmt.Sprintf("%v %s", id, status)
		}
	}
	for f, err := range w.client().Findings(w.Context(), "acme", q) {
		note(f.RuleName, f.Location.FilePath, f.Location.Line, f.Location.Column, f.ID, f.Status, err)
	}
	for f, err := range w.client().SupplyChainFindings(w.Context(), "acme", q) {
		note(f.RuleName, f.Location.FilePath, f.Location.Line, f.Location.Column, f.ID, f.Status, err)
	}
	for s, err := range w.client().Secrets(w.Context(), "1", api.SecretsQuery{}) {
		if err == nil && s.Repository.Name != project {
			continue
		}
		note(s.RuleHashID, s.FindingPath, 0, 0, s.ID, s.Status, err)
	}
	return out
}

// plainReports runs `semgrep scan --json` on the checkout.
func (w *ciWorld) plainReports() map[string]string {
	w.Helper()
	text, err := os.ReadFile("testdata/ci/rules.yaml")
	if err != nil {
		w.Fatal(err)
	}
	w.write("scan-rules.yaml", string(text))
	w.write("folder/rules/scan-rules.yaml", string(text))
	out := map[string]string{}
	for _, run := range []struct{ kind, token, config string }{
		{"logged-in", "any token", "scan-rules.yaml"}, {"logged-out", "", "scan-rules.yaml"}, {"from-a-folder", "any token", "folder/rules"},
	} {
		kind := run.kind
		out[kind] = filepath.Join(w.home, kind+".json")
		cmd := exec.Command(w.semgrep, "scan", "--oss-only", "--config", run.config, "--json-output", out[kind])
		cmd.Dir = w.repo
		cmd.Env = []string{
			"PATH=" + filepath.Dir(w.semgrep) + ":" + os.Getenv("PATH"), "HOME=" + w.home, "SEMGREP_URL=http://127.0.0.1:9", "SEMGREP_APP_TOKEN=" + run.token,
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
