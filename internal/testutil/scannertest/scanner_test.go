package scannertest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var temporary = regexp.MustCompile(`(?m)^.*/stdin`)

// TestForked compares a scan of the forked scanner with one of the installed scanner: output, exit
// code, environment, directory and standard input. Each scan has a different id.
func TestForked(t *testing.T) {
	dir := t.TempDir()
	rule := "rules: [{id: eval, languages: [python], severity: ERROR, message: m, pattern: eval(...)}]\n"
	for name, text := range map[string]string{"rule.yml": rule, "a.py": "eval(x)\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type result struct {
		Stdout, Stderr string
		Exit           int
	}
	ids := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ids[r.Header.Get("X-Semgrep-Scan-Id")] = true
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	run := func(semgrep string, args ...string) result {
		cmd := exec.Command(semgrep, args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader([]byte("eval(y)\n"))
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "NO_PROXY=127.0.0.1", "SEMGREP_URL=" + server.URL, "SEMGREP_SETTINGS_FILE=" + filepath.Join(dir, "settings.yml"),
			"SEMGREP_APP_TOKEN=none", "SEMGREP_REPO_NAME=a", "SEMGREP_SEND_METRICS=off", "SEMGREP_ENABLE_VERSION_CHECK=0",
		}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return result{temporary.ReplaceAllString(stdout.String(), ""), stderr.String(), cmd.ProcessState.ExitCode()}
	}
	for _, args := range [][]string{
		{"scan", "--config", "rule.yml", "--vim", "--error", "a.py", "-"},
		{"scan", "--config", "p/none"},
	} {
		if diff := cmp.Diff(run(Installed(t), args...), run(Forked(t), args...)); diff != "" {
			t.Errorf("%v (-installed +forked):\n%s", args, diff)
		}
	}
	before := len(ids)
	if run(Forked(t), "scan", "--config", "p/none"); before == 0 || len(ids) != before+1 {
		t.Errorf("%d scans had ids before another one, %d after it", before, len(ids))
	}
}
