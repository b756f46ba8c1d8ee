package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// TestConnectYourCI runs the snippets of docs/guides/connect-your-ci.md as a CI system would: in a
// clone of a repository, with its variables. Installation commands are replaced by ones that
// install the real scanner.
func TestConnectYourCI(t *testing.T) {
	t.Parallel()
	w := newCIWorld(t, "sqlite")
	w.redoubt("policy", "set-mode", "eqeq", "block")
	c := newCIHost(w)
	for _, ci := range []struct {
		name, project string
		run           func(*ciHost, *testing.T)
	}{
		{"GitHub Actions", "acme/by-github", onGitHub},
		{"GitLab", "acme/by-gitlab", onGitLab},
		{"Jenkins", "acme/by-jenkins", onJenkins},
		{"Plain git", "acme/payments", onPlainGit},
	} {
		t.Run(ci.name, func(t *testing.T) {
			w.T, c.project = t, ci.project
			defer func() {
				w.T = c.outer
				if log, _ := os.ReadFile(w.log.Name()); t.Failed() {
					t.Logf("the server's log ends with\n%s", log[max(0, len(log)-4000):])
				}
			}()
			ci.run(c, t)
		})
	}
}

// ciHost is a Git host with a change request, and the machine that runs its builds.
type ciHost struct {
	*ciWorld
	outer   *testing.T
	origin  string // bare, with the branches main and feature
	project string
	bin     string // directory of installed programs
	main    string // commits
	feature string
	merge   string
}

func newCIHost(w *ciWorld) *ciHost {
	c := &ciHost{ciWorld: w, outer: w.T, origin: filepath.Join(w.home, "origin.git"), bin: filepath.Join(w.home, "bin")}
	c.main = c.sha("HEAD")
	w.git("checkout", "-q", "-b", "feature")
	w.write("more.py", "def m(a):\n    return a == a\n")
	w.commit("add")
	c.feature = c.sha("HEAD")
	w.git("checkout", "-q", "-b", "merged", "main")
	w.git("merge", "-q", "--no-ff", "-m", "merge", "feature")
	c.merge = c.sha("HEAD")
	w.git("clone", "-q", "--bare", w.repo, c.origin)
	w.git("-C", c.origin, "update-ref", "refs/pull/7/merge", c.merge)
	w.git("-C", c.origin, "branch", "-q", "-D", "merged")
	if err := os.Mkdir(c.bin, 0o755); err != nil {
		w.Fatal(err)
	}
	return c
}

func (c *ciHost) sha(of string) string {
	c.Helper()
	cmd := exec.Command("git", "rev-parse", of)
	cmd.Dir = c.repo
	out, err := cmd.Output()
	if err != nil {
		c.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// Snippets returns the code blocks below a heading of the page, with the server and token file of
// the test.
func (c *ciHost) Snippets(heading string) (blocks []string) {
	c.Helper()
	text, err := os.ReadFile("../../docs/guides/connect-your-ci.md")
	if err != nil {
		c.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?ms)^```[a-z]+\n(.*?)^```$").FindAllStringSubmatch(section, -1) {
		if !strings.Contains(m[1], "https://redoubt.example") {
			c.Errorf("%s: a snippet has no server URL", heading)
		}
		for line := range strings.Lines(m[1]) {
			if strings.Contains(line, " ci ") && !strings.Contains(line, " ci --oss-only --no-suppress-errors") {
				c.Errorf("%s lacks required flags: %s", heading, line)
			}
		}
		blocks = append(blocks, strings.ReplaceAll(m[1], "https://redoubt.example", c.proxy.URL))
	}
	if !found || len(blocks) == 0 {
		c.Fatalf("the page shows nothing for %s", heading)
	}
	return blocks
}

// machine installs the programs of a CI image, except those that a snippet installs: the command
// that requests the pinned scanner installs it.
func (c *ciHost) machine(t *testing.T) {
	t.Helper()
	setup, err := os.ReadFile("../../scripts/setup")
	pin := regexp.MustCompile(`semgrep_version=(\S+)`).FindSubmatch(setup)
	if err != nil || pin == nil {
		t.Fatal("scripts/setup pins no semgrep", err)
	}
	scanner := fmt.Sprintf("#!/bin/sh\nPATH=%s:$PATH exec %s \"$@\"\n", filepath.Dir(c.semgrep), c.semgrep)
	put := func(into string) string {
		return fmt.Sprintf("cat >%[1]s/semgrep <<'END'\n%[2]sEND\nchmod +x %[1]s/semgrep\n", into, scanner)
	}
	pip := func(words, into string) string {
		return fmt.Sprintf("#!/bin/sh\n[ \"$*\" = \"%s semgrep==%s\" ] || { echo \"unexpected: $0 $*\" >&2; exit 99; }\n%s", words, pin[1], put(into))
	}
	commands := map[string]string{
		"pipx":    pip("install", c.bin),
		"pip":     pip("install -q", c.bin),
		"apt-get": "#!/bin/sh\nexit 0\n",
		// A virtual environment contains third-party code, which is not part of the project.
		"python3": "#!/bin/sh\n[ \"$1 $2\" = '-m venv' ] || exit 99\nmkdir -p \"$3/bin\" \"$3/lib\"\nprintf 'x == x\\n' >\"$3/lib/other.py\"\n" +
			"cat >\"$3/bin/pip\" <<'ENDPIP'\n" + pip("install -q", `"$(dirname "$0")"`) + "ENDPIP\nchmod +x \"$3/bin/pip\"\n",
	}
	if err := os.RemoveAll(c.bin); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(c.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range commands {
		if err := os.WriteFile(filepath.Join(c.bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// clone clones the host's repository at a commit.
func (c *ciHost) clone(t *testing.T, at string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkout")
	c.git("clone", "-q", "--no-checkout", "file://"+c.origin, dir)
	c.git("-C", dir, "fetch", "-q", "origin", "refs/pull/7/merge")
	c.git("-C", dir, "checkout", "-q", "--detach", at)
	return dir
}

// build runs the steps of a job, each in a separate shell, until one fails. It returns the exit
// code and the output.
func (c *ciHost) build(t *testing.T, dir string, steps []string, variables ...map[string]string) (int, string) {
	t.Helper()
	env := []string{
		"PATH=" + c.bin + ":" + os.Getenv("PATH"), "HOME=" + c.home, "NO_PROXY=127.0.0.1",
		"SEMGREP_SETTINGS_FILE=" + filepath.Join(c.home, "settings.yml"), "GIT_CONFIG_COUNT=1",
		// Redirects the URL of the host to its repository.
		"GIT_CONFIG_KEY_0=url.file://" + c.origin + ".insteadOf", "GIT_CONFIG_VALUE_0=https://gitlab-ci-token:job-token@git.example/" + c.project,
	}
	env = append(env, programtest.Covered()...)
	for _, set := range variables {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			env = append(env, name+"="+set[name])
		}
	}
	var out bytes.Buffer
	for _, step := range steps {
		cmd := exec.Command("sh", "-e", "-c", step)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &out
		if err := cmd.Run(); err != nil {
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			return cmd.ProcessState.ExitCode(), out.String()
		}
	}
	return 0, out.String()
}

// ciBuild is the expected state after a build.
type ciBuild struct {
	exit   int
	ref    string
	commit string
	full   bool
	finds  []string // on the ref
}

// Check compares a build and its findings with the expected state.
func (c *ciHost) Check(t *testing.T, want ciBuild, exit int, printed string) {
	t.Helper()
	if exit != want.exit {
		t.Fatalf("the build of %s ends with %d, want %d:\n%s", want.ref, exit, want.exit, printed)
	}
	if want.exit == 1 && !blockingLink.MatchString(printed) {
		t.Errorf("the build does not print why it is blocked:\n%s", printed)
	}
	project, err := c.client().GetProject(t.Context(), "acme", c.project)
	if err != nil {
		t.Fatalf("the project %s: %v\n%s", c.project, err, printed)
	}
	answer, err := c.client().SearchScans(t.Context(), "1", api.SearchScansRequest{RepositoryID: api.Int(project.Project.ID), Limit: 1})
	if err != nil || len(answer.Scans) != 1 {
		t.Fatal("no scan of the project is listed", err)
	}
	scan := answer.Scans[0]
	if scan.Branch != want.ref || scan.Commit != want.commit || scan.IsFullScan != want.full || scan.Status != "SCAN_STATUS_COMPLETED" {
		t.Errorf("the scan is of %s %s, full %t, %s; want %+v", scan.Branch, scan.Commit, scan.IsFullScan, scan.Status, want)
	}
	if address := "https://git.example/" + c.project; project.Project.URL != address {
		t.Errorf("the project is at %q, want %q", project.Project.URL, address)
	}
	var found []string
	for f, err := range c.client().Findings(t.Context(), "acme", api.FindingsQuery{Repos: []string{c.project}, Ref: want.ref, Rules: []string{"eqeq"}, Status: []string{"open"}}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("%s:%d", f.Location.FilePath, f.Location.Line))
	}
	if !slices.Equal(found, want.finds) {
		t.Errorf("%s has %v, want %v", want.ref, found, want.finds)
	}
}

// refused checks a build with a bad token: it must fail.
func (c *ciHost) refused(t *testing.T, exit int, printed string) {
	t.Helper()
	if exit != 13 {
		t.Errorf("a build with a bad token ends with %d, want 13:\n%s", exit, printed)
	}
}

// yamlSnippet parses a snippet into the type of a CI.
func yamlSnippet(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

func onGitHub(c *ciHost, t *testing.T) {
	var flow struct {
		On struct {
			PullRequest map[string]any `yaml:"pull_request"`
			Push        struct{ Branches []string }
		}
		Jobs map[string]struct {
			Steps []struct {
				Uses, Run string
				With, Env map[string]string
			}
		}
	}
	yamlSnippet(t, c.Snippets("GitHub Actions")[0], &flow)
	if flow.On.PullRequest == nil || !slices.Equal(flow.On.Push.Branches, []string{"main"}) {
		t.Errorf("it runs on %+v", flow.On)
	}
	checkout, steps, env := map[string]string(nil), []string(nil), map[string]string{}
	for _, step := range flow.Jobs["scan"].Steps {
		if strings.HasPrefix(step.Uses, "actions/checkout@") {
			checkout = step.With
			continue
		}
		steps = append(steps, step.Run)
		maps.Copy(env, step.Env)
	}
	if checkout["fetch-depth"] != "0" || env["SEMGREP_APP_TOKEN"] != "${{ secrets.REDOUBT_TOKEN }}" {
		t.Fatalf("it checks out with %v and runs with %v", checkout, env)
	}
	env["SEMGREP_APP_TOKEN"] = c.ready.Token
	event := func(name, ref, sha string, content any) map[string]string {
		text, err := json.Marshal(content)
		file := filepath.Join(t.TempDir(), "event.json")
		if err != nil || os.WriteFile(file, text, 0o600) != nil {
			t.Fatal("no event could be written", err)
		}
		return map[string]string{
			"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": file, "GITHUB_REPOSITORY": c.project, "GITHUB_REF": ref,
			"GITHUB_SHA": sha, "GITHUB_SERVER_URL": "https://git.example", "GITHUB_REPOSITORY_ID": "4711", "GITHUB_RUN_ID": "1",
		}
	}
	c.machine(t)
	push := event("push", "refs/heads/main", c.main, map[string]any{"ref": "refs/heads/main"})
	exit, out := c.build(t, c.clone(t, c.main), steps, env, push)
	c.Check(t, ciBuild{0, "refs/heads/main", c.main, true, []string{"app.py:4"}}, exit, out)

	change := map[string]any{"number": 7, "pull_request": map[string]any{
		"number": 7, "title": "More", "head": map[string]any{"sha": c.feature, "ref": "feature"}, "base": map[string]any{"sha": c.main, "ref": "main"},
	}}
	exit, out = c.build(t, c.clone(t, c.merge), steps, env, event("pull_request", "refs/pull/7/merge", c.merge, change), map[string]string{"GITHUB_HEAD_REF": "feature", "GITHUB_BASE_REF": "main"})
	c.Check(t, ciBuild{1, "refs/pull/7/merge", c.feature, false, []string{"more.py:2"}}, exit, out)

	exit, out = c.build(t, c.clone(t, c.main), steps, env, push, map[string]string{"SEMGREP_APP_TOKEN": "wrong"})
	c.refused(t, exit, out)
}

func onGitLab(c *ciHost, t *testing.T) {
	var flow map[string]struct {
		Rules     []struct{ If string }
		Variables map[string]string
		Before    []string `yaml:"before_script"`
		Script    []string
	}
	yamlSnippet(t, c.Snippets("GitLab")[0], &flow)
	job := flow["redoubt"]
	conditions := []struct{ If string }{{`$CI_PIPELINE_SOURCE == "merge_request_event"`}, {`$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH`}}
	if !slices.Equal(job.Rules, conditions) || job.Variables["GIT_DEPTH"] != "0" {
		t.Errorf("it runs on %v with %v", job.Rules, job.Variables)
	}
	secrets := map[string]string{"REDOUBT_TOKEN": c.ready.Token}
	for name, value := range job.Variables {
		job.Variables[name] = os.Expand(value, func(name string) string { return secrets[name] })
	}
	script := []string{strings.Join(append(job.Before, job.Script...), "\n")}
	ci := func(more map[string]string) map[string]string {
		of := map[string]string{
			"CI": "true", "GITLAB_CI": "true", "CI_PROJECT_PATH": c.project, "CI_PROJECT_URL": "https://git.example/" + c.project, "CI_DEFAULT_BRANCH": "main",
			"CI_JOB_URL": "https://git.example/" + c.project + "/-/jobs/1", "CI_JOB_TOKEN": "job-token",
		}
		maps.Copy(of, more)
		return of
	}
	c.machine(t)
	push := ci(map[string]string{"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main", "CI_COMMIT_REF_NAME": "main", "CI_COMMIT_SHA": c.main})
	exit, out := c.build(t, c.clone(t, c.main), script, job.Variables, push)
	c.Check(t, ciBuild{0, "refs/heads/main", c.main, true, []string{"app.py:4"}}, exit, out)

	change := ci(map[string]string{
		"CI_PIPELINE_SOURCE": "merge_request_event", "CI_COMMIT_REF_NAME": "feature", "CI_COMMIT_SHA": c.feature, "CI_MERGE_REQUEST_IID": "7",
		"CI_MERGE_REQUEST_TITLE": "More", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "feature", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
		"CI_MERGE_REQUEST_PROJECT_URL": "https://git.example/" + c.project, "CI_MERGE_REQUEST_DIFF_BASE_SHA": c.main,
	})
	exit, out = c.build(t, c.clone(t, c.feature), script, job.Variables, change)
	c.Check(t, ciBuild{1, "refs/heads/feature", c.feature, false, []string{"more.py:2"}}, exit, out)

	exit, out = c.build(t, c.clone(t, c.main), script, job.Variables, push, map[string]string{"SEMGREP_APP_TOKEN": "wrong"})
	c.refused(t, exit, out)
}

func onJenkins(c *ciHost, t *testing.T) {
	file := c.Snippets("Jenkins")[0]
	env := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^    ([A-Z_]+) = (?:'(.*)'|credentials\('redoubt-token'\))$`).FindAllStringSubmatch(file, -1) {
		env[m[1]] = m[2]
	}
	if token, found := env["SEMGREP_APP_TOKEN"]; !found || token != "" || env["SEMGREP_URL"] != c.proxy.URL || len(env) != 5 {
		t.Fatalf("the environment is %v", env)
	}
	env["SEMGREP_APP_TOKEN"] = c.ready.Token
	var steps []string
	for _, m := range regexp.MustCompile(`(?ms)^ +sh (?:'''(.*?)'''|'([^'\n]*)')$`).FindAllStringSubmatch(file, -1) {
		steps = append(steps, m[1]+m[2])
	}
	if len(steps) != strings.Count(file, " sh '") {
		t.Fatalf("%d of the steps of\n%s\nwere found", len(steps), file)
	}
	job := func(more map[string]string) map[string]string {
		of := map[string]string{
			"JENKINS_URL": "https://jenkins.example/", "BUILD_URL": "https://jenkins.example/job/1/", "GIT_URL": "https://git.example/" + c.project + ".git",
			"WORKSPACE_TMP": filepath.Join(t.TempDir(), "checkout@tmp"),
		}
		maps.Copy(of, more)
		return of
	}
	c.machine(t)
	push := job(map[string]string{"GIT_BRANCH": "origin/main", "GIT_COMMIT": c.main})
	exit, out := c.build(t, c.clone(t, c.main), steps, env, push)
	c.Check(t, ciBuild{0, "refs/heads/main", c.main, true, []string{"app.py:4"}}, exit, out)

	change := job(map[string]string{"GIT_BRANCH": "PR-7", "GIT_COMMIT": c.feature, "CHANGE_ID": "7", "CHANGE_BRANCH": "feature", "CHANGE_TARGET": "main"})
	exit, out = c.build(t, c.clone(t, c.feature), steps, env, change)
	c.Check(t, ciBuild{1, "refs/heads/feature", c.feature, false, []string{"more.py:2"}}, exit, out)

	exit, out = c.build(t, c.clone(t, c.main), steps, env, push, map[string]string{"SEMGREP_APP_TOKEN": "wrong"})
	c.refused(t, exit, out)
}

// onPlainGit runs the nightly job, then installs the hook in a bare repository and pushes to it.
func onPlainGit(c *ciHost, t *testing.T) {
	shown := c.Snippets("Plain git")
	token := filepath.Join(t.TempDir(), "token")
	for i, text := range shown {
		if !strings.Contains(text, "$(cat /etc/redoubt/token)") {
			t.Fatalf("where the token is from:\n%s", text)
		}
		shown[i] = strings.ReplaceAll(text, "/etc/redoubt/token", token)
	}
	write := func(file, text string, mode os.FileMode) {
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(token, c.ready.Token+"\n", 0o600)
	c.machine(t)
	nightly, hook := shown[0], shown[1]
	if exit, out := c.build(t, t.TempDir(), []string{"pipx install semgrep==" + c.pinned()}); exit != 0 {
		t.Fatal(out)
	}
	exit, out := c.build(t, c.clone(t, c.main), []string{nightly})
	c.Check(t, ciBuild{0, "refs/heads/main", c.main, true, []string{"app.py:4"}}, exit, out)

	server := filepath.Join(t.TempDir(), "payments.git")
	c.git("init", "-q", "--bare", "-b", "main", server)
	write(filepath.Join(server, "hooks", "post-receive"), hook, 0o755)
	push := func(what ...string) string {
		exit, out := c.build(t, c.repo, []string{"git push -q " + server + " " + strings.Join(what, " ")})
		if exit != 0 {
			t.Fatalf("git push %v ends with %d:\n%s", what, exit, out)
		}
		return out
	}
	out = push("main")
	c.Check(t, ciBuild{0, "refs/heads/main", c.main, true, []string{"app.py:4"}}, exitIfPrinted(out, "redoubt: main passes", 0), out)
	out = push("feature", c.feature+":refs/tags/v1")
	c.Check(t, ciBuild{1, "refs/heads/feature", c.feature, false, []string{"more.py:2"}}, exitIfPrinted(out, "redoubt: feature does not pass (exit code 1)", 1), out)
	if out := push("--delete", "feature"); strings.Contains(out, "redoubt:") {
		t.Errorf("a deleted branch was scanned:\n%s", out)
	}
	write(token, "wrong\n", 0o600)
	c.refused(t, exitIfPrinted(push("feature"), "redoubt: feature does not pass (exit code 13)", 13), "")
}

// exitIfPrinted returns exit if the output of a hook contains a line, or -1.
func exitIfPrinted(out, line string, exit int) int {
	if strings.Contains(out, line) {
		return exit
	}
	return -1
}

// pinned returns the scanner version that the page installs.
func (c *ciHost) pinned() string {
	m := regexp.MustCompile(`semgrep==(\S+)`).FindStringSubmatch(strings.Join(c.Snippets("GitHub Actions"), ""))
	if m == nil {
		c.Fatal("the page pins no version")
	}
	return m[1]
}
