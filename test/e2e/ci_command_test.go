package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/ci"
)

// TestRedoubtCI runs redoubt ci with the unmodified scanner, like a build. The steps build on each
// other.
func TestRedoubtCI(t *testing.T) {
	onEngines(t, func(w *ciWorld) {
		w.write("api/uv.lock", "version = 1\nrequires-python = \">=3.12\"\n\n[[package]]\nname = \"urllib3\"\nversion = \"1.24.1\"\nsource = { registry = \"https://pypi.org/simple\" }\n")
		w.commit("a lockfile that the open engine cannot read")
		w.steps(
			ciStep{"the first build", firstBuild},
			ciStep{"a build that is blocked", blockedBuild},
			ciStep{"ignored by people", ignoredBuild},
			ciStep{"a scan alone", scanAlone},
			ciStep{"fixed", fixedBuild},
			ciStep{"code around findings", codeAround},
			ciStep{"code follows its finding", codeFollows},
			ciStep{"no code", noCode},
			ciStep{"trouble", troubledBuild},
		)
	})
}

// build runs redoubt ci on the checkout, and checks its exit code.
func (w *ciWorld) build(exit int, branch string, args []string, variables ...string) (out ci.Outcome, output string) {
	w.Helper()
	file := filepath.Join(w.home, "outcome.json")
	_ = os.Remove(file)
	cmd := exec.Command("redoubt", append([]string{"ci", "--json", file}, args...)...)
	cmd.Dir = w.repo
	cmd.Env = append(slices.DeleteFunc(w.env(branch), func(v string) bool {
		return strings.HasPrefix(v, "SEMGREP_URL=") || strings.HasPrefix(v, "SEMGREP_APP_TOKEN=") || strings.HasPrefix(v, "SEMGREP_SEND") || strings.HasPrefix(v, "SEMGREP_ENABLE")
	}), "REDOUBT_URL="+w.proxy.URL, "REDOUBT_TOKEN="+w.ready.Token)
	cmd.Env = append(cmd.Env, variables...)
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		w.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if got := cmd.ProcessState.ExitCode(); got != exit || err != nil || out.ExitCode != exit {
		w.Fatalf("the build of %s ended with %d, want %d (%v):\n%s", branch, got, exit, err, both.String())
	}
	return out, both.String()
}

// dependencies lists the current dependencies on main, as lockfile and package.
func (w *ciWorld) dependencies() (list []string) {
	w.Helper()
	for d, err := range w.client().Dependencies(w.Context(), "1", api.ListDependenciesRequest{}) {
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, d.LockfilePath+" "+d.Name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func firstBuild(w *ciWorld) {
	w.redoubt("policy", "set-mode", "eqeq", "block")
	out, output := w.build(0, "main", nil)
	got := w.dependencies()
	for _, want := range []string{"api/uv.lock urllib3", "web/package-lock.json lodash", "go.mod golang.org/x/text", "requirements.txt flask", "rs/Cargo.lock smallvec"} {
		if !slices.Contains(got, want) {
			w.Errorf("%s is not listed: %v", want, got)
		}
	}
	if len(out.New) < 6 || len(out.Blocking) != 0 || out.Project != "acme/shop" || out.Ref != "refs/heads/main" || out.Deployment != "acme" || len(out.Sources) != 2 {
		w.Errorf("%+v\n%s", out, output)
	}
	// The link leads to the page of the finding.
	if first := out.New[0]; !strings.HasSuffix(first.URL, "/orgs/acme/findings/"+strings.TrimPrefix(first.URL[strings.LastIndexByte(first.URL, '/'):], "/")) || first.ID == 0 {
		w.Errorf("%+v", first)
	}
}

func blockedBuild(w *ciWorld) {
	w.git("checkout", "-q", "-b", "topic")
	w.write("more.py", "def m(z):\n    return z == z\n")
	w.commit("more")
	out, output := w.build(1, "topic", []string{"--", "--baseline-commit", "main"}, "GITHUB_STEP_SUMMARY=/nowhere", "SEMGREP_PR_ID=7")
	if len(out.Blocking) != 1 || out.Blocking[0].Rule != "eqeq" || out.Blocking[0].Path != "more.py" || out.Blocking[0].Line != 2 || out.PullRequest != "7" || !strings.Contains(out.Reason, "eqeq at more.py:2") {
		w.Errorf("%+v\n%s", out, output)
	}
	if !strings.Contains(output, "BLOCKED") {
		w.Error(output)
	}
}

func ignoredBuild(w *ciWorld) {
	for location, f := range w.code("topic") {
		if strings.HasPrefix(location, "eqeq more.py") {
			_, err := w.client().TriageFindings(w.Context(), "acme", api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(f.ID)}, NewTriageState: "ignored"})
			if err != nil {
				w.Fatal(err)
			}
		}
	}
	if out, output := w.build(0, "topic", []string{"--", "--baseline-commit", "main"}); len(out.Blocking) != 0 {
		w.Errorf("%+v\n%s", out, output)
	}
}

// scanAlone runs the scanner without redoubt ci: dependencies that it cannot read remain listed.
func scanAlone(w *ciWorld) {
	w.git("checkout", "-q", "main")
	before := w.dependencies()
	w.want(0, "main")
	if after := w.dependencies(); !slices.Equal(before, after) {
		w.Errorf("a scan alone changed %v to\n%v", before, after)
	}
}

func fixedBuild(w *ciWorld) {
	w.edit("app.py", "return x == x", "return x")
	w.git("rm", "-q", "web/package-lock.json")
	w.commit("fixed")
	out, output := w.build(0, "main", nil)
	if len(out.Fixed) != 1 || out.Fixed[0].Rule != "eqeq" || len(out.New) != 0 || !strings.Contains(output, "removed: web/package-lock.json") {
		w.Errorf("%+v\n%s", out, output)
	}
	if got := w.dependencies(); slices.Contains(got, "web/package-lock.json lodash") {
		w.Errorf("%v", got)
	}
}

func troubledBuild(w *ciWorld) {
	if out, output := w.build(2, "main", nil, "REDOUBT_TOKEN=rdt_1_wrong"); len(out.Trouble) != 1 || !strings.Contains(output, "invalid token: ") {
		w.Errorf("%+v\n%s", out, output)
	}
	if out, output := w.build(2, "main", []string{"--no-inventory", "--", "--no-such-flag"}); len(out.Trouble) != 1 || !strings.Contains(out.Trouble[0], "semgrep") {
		w.Errorf("%+v\n%s", out, output)
	}
	if _, output := w.build(0, "main", []string{"--fail-open", "--no-inventory", "--", "--no-such-flag"}, same); !strings.Contains(output, "NOT CHECKED") {
		w.Error(output)
	}
}
