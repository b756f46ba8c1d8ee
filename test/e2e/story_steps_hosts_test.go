//go:build hosts && linux

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/scannertest"
)

func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *story) checkContains(what, text, part string) {
	s.Helper()
	if !strings.Contains(text, part) {
		s.Fatalf("%s: %q, want %q", what, text, part)
	}
}

// restart restarts the server with the URL of the proxy in front of it as its public URL.
func (s *story) restart() {
	s.Helper()
	s.stop()
	free, err := new(net.ListenConfig).Listen(s.Context(), "tcp", "127.0.0.1:0")
	s.must(err)
	address := free.Addr().String()
	s.must(free.Close())
	s.flags = []string{"--addr", address, "--public-url", s.proxy.URL, "--connect-to", "loopback"}
	s.start()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = &url.URL{Scheme: "http", Host: address}
}

// until waits until is returns true.
func (s *story) until(what string, is func() bool) {
	s.Helper()
	for end := time.Now().Add(storyAtMost); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if is() {
			return
		}
	}
	s.Fatalf("%v, and not yet: %s", storyAtMost, what)
}

// rev returns the commit of a branch.
func (s *story) rev(branch string) string {
	s.Helper()
	cmd := exec.Command("git", "rev-parse", branch)
	cmd.Dir = s.repo
	out, err := cmd.Output()
	s.must(err)
	return strings.TrimSpace(string(out))
}

// startRunner starts a runner on the server's machine.
func (s *story) startRunner(name string) {
	s.Helper()
	token := strings.TrimSpace(s.redoubt("token", "create", "--scope", "runner", name))
	cmd := exec.Command("redoubt", "runner", "--url", s.proxy.URL, "--dir", filepath.Join(s.home, name), "--name", name, "--semgrep", scannertest.Installed(s), "--connect-to", "loopback")
	cmd.Env, cmd.Stderr = append(os.Environ(), "REDOUBT_TOKEN="+token), s.log
	s.must(cmd.Start())
	s.runners[name] = cmd
}

func (s *story) killRunners() {
	for _, cmd := range s.runners {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	}
}

func (s *story) startRun(project string) api.Run {
	s.Helper()
	answer, err := s.client().StartRun(s.Context(), "acme", api.StartRunRequest{Project: project})
	s.must(err)
	return answer.Run
}

// run returns the newest matching run of a project, or a zero value.
func (s *story) run(project string, is func(api.Run) bool) api.Run {
	s.Helper()
	answer, err := s.client().ListRuns(s.Context(), "acme", api.RunsQuery{Project: project})
	s.must(err)
	if at := slices.IndexFunc(answer.Runs, is); at >= 0 {
		return answer.Runs[at]
	}
	return api.Run{}
}

// ended waits for the end of a run.
func (s *story) ended(project, what string, is func(api.Run) bool) (r api.Run) {
	s.Helper()
	s.until(what+" ends", func() bool {
		r = s.run(project, is)
		return r.EndedAt != nil
	})
	return r
}

// status returns the managed-scan status of a project.
func (s *story) status(project string) api.ManagedScanStatus {
	s.Helper()
	answer, err := s.client().GetProject(s.Context(), "acme", project)
	s.must(err)
	return *answer.Project.ManagedScanStatus
}

// giteaStatus and giteaNote are types of Gitea's API.
type giteaStatus struct {
	ID                           int64
	Status, Context, Description string
	TargetURL                    string `json:"target_url"`
}

type giteaNote struct {
	ID       int64
	Body     string
	Path     string
	Position int
	User     struct{ Login string }
}

// statusOf returns our newest status of a commit, or nil.
func (s *story) statusOf(commit string) (newest *giteaStatus) {
	s.Helper()
	var list []giteaStatus
	s.gitea.Call(s.T, http.MethodGet, "/repos/acme/shop/commits/"+commit+"/statuses", nil, &list)
	for _, st := range list {
		if st.Context == "redoubt" && (newest == nil || st.ID > newest.ID) { // times have a resolution of seconds
			newest = &st
		}
	}
	return newest
}

// awaitStatus waits for a status of the newest commit.
func (s *story) awaitStatus(state, text string) {
	s.Helper()
	var st *giteaStatus
	defer func() {
		if s.Failed() {
			s.Logf("the status is %+v", st)
		}
	}()
	s.until("the status is "+state+": "+text, func() bool {
		st = s.statusOf(s.head)
		return st != nil && st.Status == state && strings.HasPrefix(st.Description, text)
	})
}

// comments returns all comments of the change request.
func (s *story) comments() (all []giteaNote) {
	s.Helper()
	s.gitea.Call(s.T, http.MethodGet, "/repos/acme/shop/issues/1/comments", nil, &all)
	var reviews []struct{ ID int64 }
	s.gitea.Call(s.T, http.MethodGet, "/repos/acme/shop/pulls/1/reviews?limit=50", nil, &reviews)
	for _, r := range reviews {
		var list []giteaNote
		s.gitea.Call(s.T, http.MethodGet, fmt.Sprintf("/repos/acme/shop/pulls/1/reviews/%d/comments", r.ID), nil, &list)
		all = append(all, list...)
	}
	return all
}

// hostileRepository pushes code that attempts to run programs and to access files. A second runner
// scans it, after the first was killed during a scan of the other project.
func (s *story) hostileRepository() {
	own := s.startRun("acme/shop")
	s.until("the first runner scans", func() bool {
		return s.run("acme/shop", func(r api.Run) bool { return r.ID == own.ID }).State == "scanning"
	})
	s.must(s.runners["first"].Process.Signal(syscall.SIGKILL))
	_ = s.runners["first"].Wait()
	delete(s.runners, "first")

	canary := filepath.Join(s.home, "canary")
	s.hidden = "canary-of-the-runner"
	s.must(os.WriteFile(canary, []byte(s.hidden), 0o644))
	s.pushHostile(canary)
	s.startRunner("second")
	run := s.startRun("acme/evil")
	if run = s.ended("acme/evil", "the hostile run", func(r api.Run) bool { return r.ID == run.ID }); run.State != "done" || run.Runner != "second" {
		s.Fatalf("it is %+v:\n%s", run, s.redoubt("runs", "log", fmt.Sprint(run.ID)))
	}
	if found := s.codeIn("acme/evil", ""); len(found) != 1 || found["eqeq own.py:2"].ID == 0 {
		s.Errorf("its findings are %v", found)
	}
	s.typed("runs", "list", "--project", "acme/evil")
	log := s.redoubt("runs", "log", fmt.Sprint(run.ID))
	s.transcript.add("$ redoubt runs log … | grep escape", s.maskValues(linesWith(log, "escape")))
	s.checkContains("the log names the omitted file", log, "escape")
	for what, text := range map[string]string{"the log": log, "the findings": s.redoubt("export", "--format", "jsonl")} {
		for _, secret := range []string{s.hidden, s.bot, "rdt_"} {
			if strings.Contains(text, secret) {
				s.Errorf("%s has %s:\n%s", what, secret, text)
			}
		}
	}
	if _, err := os.Stat(canary + ".ran"); err == nil {
		s.Error("code of the repository was executed")
	}
}

// pushHostile pushes a repository with program names in all settings that git and scanners read,
// links that lead out of it, and submodules.
func (s *story) pushHostile(canary string) {
	s.Helper()
	dir := filepath.Join(s.home, "evil")
	run := "touch " + canary + ".ran"
	for name, text := range map[string]string{
		"own.py":                    "def f(x):\n    return x == x\n",
		".gitconfig":                "[filter \"evil\"]\n\tsmudge = " + run + "\n\tprocess = " + run + "\n[core]\n\tfsmonitor = " + run + "\n\thooksPath = hooks\n",
		".lfsconfig":                "[lfs]\n\turl = http://127.0.0.1:1/x\n\tcustomtransfer.x.path = " + run + "\n",
		"hooks/post-checkout":       "#!/bin/sh\n" + run + "\n",
		"big.bin":                   "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12\n",
		"sitecustomize.py":          "import os; os.system(" + fmt.Sprintf("%q", run) + ")\n",
		".semgrep.yml":              "rules: [{id: all, languages: [generic], severity: ERROR, message: m, pattern: $X}]\n",
		".semgrep/settings.yml":     "api_token: mine\n",
		"package.json":              `{"scripts":{"preinstall":` + fmt.Sprintf("%q", run) + `}}`,
		"new\nline\x1b[2J" + ".txt": "odd",
	} {
		file := filepath.Join(dir, name)
		s.must(os.MkdirAll(filepath.Dir(file), 0o755))
		s.must(os.WriteFile(file, []byte(text), 0o755))
	}
	for link, to := range map[string]string{"escape.py": canary, "up.py": "../../../../../../../../.." + canary, "folder": "/etc", "into-git.py": ".git/config"} {
		s.must(os.Symlink(to, filepath.Join(dir, link)))
	}
	s.must(os.WriteFile(filepath.Join(dir, ".gitmodules"), []byte("[submodule \"x\"]\n\tpath = sub\n\turl = ext::sh -c "+run+"\n"), 0o644))
	s.must(os.WriteFile(filepath.Join(s.home, "attributes"), []byte("* filter=evil diff=evil merge=evil\n*.bin filter=lfs diff=lfs merge=lfs\n*.py working-tree-encoding=UTF-16 ident eol=crlf\n"), 0o644))
	remote := strings.Replace(s.gitea.URL, "://", "://ada:"+s.ada+"@", 1) + "/acme/evil.git"
	git := func(args ...string) string {
		s.Helper()
		cmd := exec.Command("git", args...)
		var stdout, wrong bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &wrong
		if err := cmd.Run(); err != nil {
			s.Fatalf("git %v: %v\n%s", args, err, wrong.Bytes())
		}
		return strings.TrimSpace(stdout.String())
	}
	git("init", "-q", "-b", "main")
	git("add", "-A")
	// outside of the checkout, because git would apply them
	attributes := git("hash-object", "-w", "--no-filters", filepath.Join(s.home, "attributes"))
	git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub", "--cacheinfo", "100644,"+attributes+",.gitattributes")
	git("-c", "user.name=eve", "-c", "user.email=eve@example.com", "commit", "-q", "-m", "hostile")
	git("push", "-q", remote, "main")
}
