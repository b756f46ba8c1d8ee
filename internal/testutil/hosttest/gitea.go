//go:build hosts && linux

// Package hosttest starts real code hosts for tests: Gitea, as built by scripts/gitea.
package hosttest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Gitea is a running Gitea with the admin "root" and an account "bot".
type Gitea struct {
	URL       string
	BotToken  string // credential for connections
	rootToken string

	home    string
	env     []string
	as      *syscall.Credential
	program string
	running *exec.Cmd
}

// StartGitea starts a Gitea for a test, as an unprivileged user.
func StartGitea(t *testing.T) *Gitea {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	built := filepath.Join(filepath.Dir(file), "..", "..", "..", ".cache", "gitea")
	built, err := filepath.EvalSymlinks(built)
	if err != nil {
		t.Fatalf("there is no Gitea: make test-hosts builds it: %v", err)
	}
	g := &Gitea{program: filepath.Join(built, "gitea")}
	g.home, err = os.MkdirTemp("", "redoubt-gitea-")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(g.home)) })
	name := "root"
	if os.Getuid() == 0 {
		account, err := user.Lookup("nobody")
		check(t, err)
		uid, _ := strconv.Atoi(account.Uid)
		gid, _ := strconv.Atoi(account.Gid)
		g.as, name = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, account.Username
		check(t, os.Chown(g.home, uid, gid))
		// The original may be unreadable for that user.
		g.program = filepath.Join(g.home, "gitea")
		if from := filepath.Join(built, "gitea"); os.Link(from, g.program) != nil { // on another disk
			text, err := os.ReadFile(from)
			check(t, err)
			check(t, os.WriteFile(g.program, text, 0o755))
		}
	} else if me, err := user.Current(); err == nil {
		name = me.Username
	}
	g.env = []string{"HOME=" + g.home, "USER=" + name, "PATH=/usr/local/bin:/usr/bin:/bin", "GITEA_WORK_DIR=" + g.home}
	g.configure(t, built, name)
	g.Start(t)
	t.Cleanup(func() { g.Stop(t) })
	g.rootToken = g.user(t, "root", "--admin")
	g.BotToken = g.user(t, "bot")
	return g
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// configure writes the settings: all data in one directory, no mail, no installation page.
func (g *Gitea) configure(t *testing.T, built, name string) {
	t.Helper()
	static := filepath.Join(g.home, "static")
	// copied, because the unprivileged user may not be able to read the source
	for _, part := range []string{"templates", "options", "public"} {
		check(t, os.MkdirAll(filepath.Join(static, part), 0o755))
		if from := filepath.Join(built, "src", part); exists(from) {
			check(t, os.CopyFS(filepath.Join(static, part), os.DirFS(from)))
		}
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	check(t, free.Close())
	g.URL = fmt.Sprintf("http://127.0.0.1:%d", port)
	settings := fmt.Sprintf(`RUN_USER = %s
RUN_MODE = prod
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %d
ROOT_URL = %s/
STATIC_ROOT_PATH = %s
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = %s
[security]
INSTALL_LOCK = true
SECRET_KEY = 0123456789
[webhook]
ALLOWED_HOST_LIST = *
[log]
LEVEL = Error
[cron]
ENABLED = false
[service]
DISABLE_REGISTRATION = true
`, name, port, g.URL, static, filepath.Join(g.home, "gitea.db"))
	check(t, os.WriteFile(filepath.Join(g.home, "app.ini"), []byte(settings), 0o644))
	if g.as != nil {
		check(t, filepath.WalkDir(g.home, func(path string, _ os.DirEntry, err error) error {
			if err != nil || path == g.program {
				return err
			}
			return os.Chown(path, int(g.as.Uid), int(g.as.Gid))
		}))
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (g *Gitea) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, g.program, append(args, "--config", filepath.Join(g.home, "app.ini"))...)
	c.Dir, c.Env, c.SysProcAttr = g.home, g.env, &syscall.SysProcAttr{Credential: g.as, Setpgid: true}
	return c
}

// Timeout of a start on a busy machine, and the polling interval.
const (
	startAtMost = 5 * time.Minute
	startLook   = 100 * time.Millisecond
)

// Start starts Gitea, also after Stop, and waits until it responds.
func (g *Gitea) Start(t *testing.T) {
	t.Helper()
	g.running = g.command(context.WithoutCancel(t.Context()), "web")
	var log bytes.Buffer
	g.running.Stdout, g.running.Stderr = &log, &log
	check(t, g.running.Start())
	for range startAtMost / startLook {
		answer, err := http.Get(g.URL + "/api/v1/version")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(startLook)
	}
	g.Stop(t)
	t.Fatalf("Gitea does not respond:\n%s", log.String())
}

// Stop kills Gitea, to simulate a failure.
func (g *Gitea) Stop(t *testing.T) {
	t.Helper()
	if g.running == nil {
		return
	}
	_ = syscall.Kill(-g.running.Process.Pid, syscall.SIGKILL)
	_ = g.running.Wait()
	g.running = nil
}

// user creates an account and a token for it.
func (g *Gitea) user(t *testing.T, name string, more ...string) string {
	t.Helper()
	args := []string{
		"admin", "user", "create", "--username", name, "--password", "p4ssword-of-" + name,
		"--email", name + "@example.com", "--must-change-password=false",
	}
	if out, err := g.command(t.Context(), append(args, more...)...).CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v: %s", name, err, out)
	}
	return g.Token(t, name)
}

// User creates another account and returns its token.
func (g *Gitea) User(t *testing.T, name string) string { t.Helper(); return g.user(t, name) }

// Revoke deletes the token of an account.
func (g *Gitea) Revoke(t *testing.T, name string) {
	t.Helper()
	q, err := http.NewRequestWithContext(
		t.Context(), http.MethodDelete, g.URL+"/api/v1/users/"+name+"/tokens/test", nil,
	)
	check(t, err)
	q.SetBasicAuth(name, "p4ssword-of-"+name)
	answer, err := http.DefaultClient.Do(q)
	check(t, err)
	check(t, answer.Body.Close())
	if answer.StatusCode != http.StatusNoContent {
		t.Fatalf("revoke the token of %s: %d", name, answer.StatusCode)
	}
}

// Token creates a token for an account without one.
func (g *Gitea) Token(t *testing.T, name string) string {
	t.Helper()
	out, err := g.command(t.Context(), "admin", "user", "generate-access-token", "--username", name, "--token-name",
		"test", "--scopes", "all", "--raw").Output()
	if err != nil {
		t.Fatalf("a token for %s: %v", name, err)
	}
	lines := strings.Fields(string(out))
	return lines[len(lines)-1]
}

// Call sends a request to the API of Gitea as its admin, and decodes the response to into.
func (g *Gitea) Call(t *testing.T, method, path string, body, into any) {
	t.Helper()
	text, err := json.Marshal(body)
	check(t, err)
	q, err := http.NewRequestWithContext(t.Context(), method, g.URL+"/api/v1"+path, bytes.NewReader(text))
	check(t, err)
	q.Header.Set("Authorization", "token "+g.rootToken)
	q.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(q)
	check(t, err)
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	check(t, err)
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	if into != nil {
		check(t, json.Unmarshal(text, into))
	}
}

// Put writes a file to a branch and returns the commit. If from is set, the branch is created from
// it.
func (g *Gitea) Put(t *testing.T, repository, path, text, branch, from string) string {
	t.Helper()
	body := map[string]any{
		"content": base64.StdEncoding.EncodeToString([]byte(text)),
		"message": "write " + path,
		"branch":  branch,
	}
	if from != "" {
		body["branch"], body["new_branch"] = from, branch
	}
	var known []struct{ Path, SHA string }
	g.Call(t, http.MethodGet, "/repos/"+repository+"/contents?ref="+branchOr(from, branch), nil, &known)
	method := http.MethodPost
	for _, k := range known {
		if k.Path == path {
			method, body["sha"] = http.MethodPut, k.SHA
		}
	}
	var made struct{ Commit struct{ SHA string } }
	g.Call(t, method, "/repos/"+repository+"/contents/"+path, body, &made)
	return made.Commit.SHA
}

func branchOr(from, branch string) string {
	if from != "" {
		return from
	}
	return branch
}
