package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// rulesOnly runs the real scanner with the rules of a policy, with one rule, or with both at
// several URLs. It uploads nothing. It authenticates with the token of its settings, with a token
// in the URL, or, if the rules are public, without a token. The exit code is 7 if a URL has no
// rules.
func rulesOnly(w *ciWorld) {
	host := strings.TrimPrefix(w.proxy.URL, "http://")
	secret := "http://user:" + w.ready.Token + "@" + host + "/c/p/"
	none := "SEMGREP_APP_TOKEN="
	for _, step := range []struct {
		what      string
		configs   []string
		open      bool
		exit      int
		variables []string
	}{
		{"a token", []string{"p/code", "p/acme/code", "r/eqeq"}, false, 0, nil},
		{"a token in the address", []string{secret + "code", secret + "acme/code"}, false, 0, []string{none}},
		{"no token", []string{"p/code"}, false, 7, []string{none}},
		{"no token, but open rules", []string{"p/code"}, true, 0, []string{none}},
	} {
		if step.open {
			w.redoubt("deployment", "set", "acme", "--open-rules")
		}
		before := len(w.requests())
		args := []string{"scan", "--oss-only", "--json", "app.py"}
		for _, config := range step.configs {
			args = append(args, "--config", config)
		}
		cmd := exec.Command(w.semgrep, args...)
		cmd.Dir = w.repo
		cmd.Env = append(append(w.env("main"), "SEMGREP_SETTINGS_FILE="+filepath.Join(w.home, "rules.yml")), step.variables...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if cmd.ProcessState == nil {
			w.Fatal(err)
		}
		if exit := cmd.ProcessState.ExitCode(); exit != step.exit {
			w.Fatalf("%s: exit code %d, want %d\n%s", step.what, exit, step.exit, stderr.String())
		}
		if step.exit == 0 {
			found := printed{stdout: out}.locations(w.T)
			if !slices.ContainsFunc(found, func(p string) bool { return strings.HasSuffix(p, "eqeq app.py:4") }) {
				w.Errorf("%s: found %v", step.what, found)
			}
		}
		if requests := len(w.requests()) - before; requests != len(step.configs) {
			w.Errorf("%s: %v", step.what, w.requests()[before:])
		}
		for _, r := range w.requests()[before:] {
			if strings.HasPrefix(r, "POST ") {
				w.Errorf("%s: %s", step.what, r)
			}
		}
	}
	w.redoubt("deployment", "set", "acme", "--no-open-rules")
	if trail := w.redoubt("audit", "--limit", "1000"); strings.Count(trail, "open_rules") != 4 {
		w.Errorf("the audit log has no entry about open rules:\n%s", trail)
	}
	log, err := os.ReadFile(w.log.Name())
	if err != nil || strings.Contains(string(log), w.ready.Token) {
		w.Errorf("the log contains a token (%v)", err)
	}
}
