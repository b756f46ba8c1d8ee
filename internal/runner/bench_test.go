package runner

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
)

// TestMain also acts as the program that a runner starts: the sandbox helper and the scan.
func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == "runner-inside" {
		code, err := Inside(context.Background(), os.Args[3], os.Args[5:], func(url string) []string { return append(os.Environ(), "REDOUBT_URL="+url) }, os.Stdout, os.Stderr)
		if err != nil {
			fmt.Println(err)
			os.Exit(99)
		}
		os.Exit(code)
	}
	if len(os.Args) > 3 && os.Args[1] == "ci" {
		os.Exit(pretendToScan(os.Args[3]))
	}
	os.Exit(m.Run())
}

// seen is what a hostile scan could access.
type seen struct {
	Environment []string          `json:"environment"`
	Files       map[string]string `json:"files"`   // content of the files by name
	Canary      bool              `json:"canary"`  // a file outside of the checkout is readable
	Network     bool              `json:"network"` // a network address of the machine is reachable
	Server      int               `json:"server"`  // status of a call to the server with the scan's token
	Others      int               `json:"others"`  // status of calls to other paths
	Remote      string            `json:"remote"`  // Git settings of the checkout
	Git         string            `json:"git"`     // output of git status
	Head        string            `json:"head"`
	Branch      string            `json:"branch"`
	Base        string            `json:"base"` // output of git for the base
	Processes   int               `json:"processes"`
}

// pretendToScan attempts what hostile code could attempt, and writes the outcome as its result.
func pretendToScan(result string) int {
	s := seen{Environment: os.Environ(), Files: map[string]string{}}
	plan, _ := os.ReadFile("plan.json")
	var options struct{ Canary, Address, Behave string }
	_ = json.Unmarshal(plan, &options)
	fmt.Println("token=" + os.Getenv("REDOUBT_TOKEN") + " \x1b[31mred")
	switch options.Behave {
	case "sleep":
		time.Sleep(time.Hour)
	case "grow":
		var all [][]byte
		for {
			all = append(all, bytes.Repeat([]byte{1}, 16<<20))
			runtime.KeepAlive(all)
			time.Sleep(10 * time.Millisecond)
		}
	case "fill":
		for i := 0; ; i++ {
			_ = os.WriteFile(filepath.Join(os.Getenv("HOME"), fmt.Sprint("f", i)), bytes.Repeat([]byte{1}, 4<<20), 0o600)
			time.Sleep(10 * time.Millisecond)
		}
	case "fork":
		for {
			_ = exec.Command("sleep", "300").Start()
			time.Sleep(10 * time.Millisecond)
		}
	case "fail":
		fmt.Println("last words")
		return 7
	case "orphan":
		_ = exec.Command("sh", "-c", "sleep 300 &").Start()
	}
	_ = filepath.WalkDir(".", func(name string, e os.DirEntry, _ error) error {
		if name == ".git" {
			return filepath.SkipDir
		}
		if e != nil && !e.IsDir() {
			text, err := os.ReadFile(name)
			s.Files[name] = string(text)
			if err != nil {
				s.Files[name] = "error"
			}
		}
		return nil
	})
	if options.Canary != "" {
		_, err := os.ReadFile(options.Canary)
		s.Canary = err == nil
		_ = os.WriteFile(options.Canary+".written", nil, 0o600) // in a sandbox this writes to a separate file system
	}
	if c, err := net.DialTimeout("tcp", options.Address, time.Second); err == nil {
		s.Network = true
		_ = c.Close()
	}
	request := func(path, token string) int {
		req, _ := http.NewRequest(http.MethodGet, os.Getenv("REDOUBT_URL")+path, nil)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return -1
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	s.Server, s.Others = request("/api/agent/deployments/current", os.Getenv("REDOUBT_TOKEN")), request("/metrics", os.Getenv("REDOUBT_TOKEN"))
	git := func(args ...string) string {
		out, _ := exec.Command("git", args...).CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	s.Remote, s.Git, s.Head, s.Branch = git("config", "--local", "--list"), git("status", "--porcelain"), git("rev-parse", "HEAD"), git("rev-parse", "--abbrev-ref", "HEAD")
	if base := os.Getenv("SEMGREP_BASELINE_COMMIT"); base != "" {
		s.Base = git("show", base+":a.py")
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if e.Name()[0] >= '0' && e.Name()[0] <= '9' {
			s.Processes++
		}
	}
	text, _ := json.Marshal(map[string]any{"sources": []map[string]string{{"scan_id": "9"}, {"scan_id": "12"}}, "seen": s})
	if os.WriteFile(result, text, 0o600) != nil {
		return 98
	}
	return 0
}

// bench is a server with one run, and a repository.
type bench struct {
	*testing.T
	dir    string
	remote string
	canary string
	runner *Runner
	web    *httptest.Server
	outer  net.Listener

	mu     sync.Mutex
	lease  *api.LeasedRun
	states []string
	log    strings.Builder
	end    *api.FinishRunRequest
	shown  []string // Authorization headers of requests from the scan
	lost   bool
	gone   bool           // the token is no longer valid
	deaf   map[string]int // number of calls to fail, by name
	output bytes.Buffer
}

func newBench(t *testing.T, change func(*Config)) *bench {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("install git")
	}
	b := &bench{T: t, dir: t.TempDir()}
	b.remote, b.canary = filepath.Join(b.dir, "remote.git"), filepath.Join(b.dir, "canary")
	b.check(os.WriteFile(b.canary, []byte("canary"), 0o600))
	var err error
	b.outer, err = net.Listen("tcp", "127.0.0.1:0")
	b.check(err)
	t.Cleanup(func() { _ = b.outer.Close() })
	b.git("", "init", "-q", "--bare", b.remote)
	b.git(b.remote, "symbolic-ref", "HEAD", "refs/heads/main")
	b.git(b.remote, "config", "uploadpack.allowFilter", "true")
	b.git(b.remote, "config", "uploadpack.allowAnySHA1InWant", "true")
	b.web = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.web.Close)
	u, err := url.Parse(b.web.URL)
	b.check(err)
	self, err := os.Executable()
	b.check(err)
	c := Config{
		Client: &api.Client{BaseURL: b.web.URL, Token: "runner-token", Retries: -1}, Server: u, Name: "r", Version: "test", Dir: filepath.Join(b.dir, "work"),
		Program: self, Path: os.Getenv("PATH"), Local: true, Isolation: IsolateIfPossible, Limits: Limits{Memory: 1 << 30, Disk: 1 << 28, Cache: 1 << 30, Files: 1000, Processes: 1024},
		Logger: slog.New(slog.NewTextHandler(&b.output, nil)),
	}
	if change != nil {
		change(&c)
	}
	b.runner, err = New(t.Context(), c)
	b.check(err)
	return b
}

func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// git runs git to prepare the remote repository.
func (b *bench) git(dir string, args ...string) string {
	b.Helper()
	return b.gitWith(nil, dir, args...)
}

func (b *bench) gitWith(in []byte, dir string, args ...string) string {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// item is an entry of a raw tree. Raw trees may have entries that git rejects.
type item struct{ mode, name, id string }

func (b *bench) tree(items ...item) string {
	b.Helper()
	var raw bytes.Buffer
	for _, i := range items {
		id, err := hex.DecodeString(i.id)
		b.check(err)
		fmt.Fprintf(&raw, "%s %s\x00%s", i.mode, i.name, id)
	}
	return b.gitWith(raw.Bytes(), b.remote, "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
}

func (b *bench) blob(text string) string {
	b.Helper()
	return b.gitWith([]byte(text), b.remote, "hash-object", "-w", "--stdin")
}

func (b *bench) commit(ref, tree string, parents ...string) string {
	b.Helper()
	args := []string{"commit-tree", tree, "-m", "x"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	id := b.git(b.remote, args...)
	b.git(b.remote, "update-ref", ref, id)
	return id
}

// plan returns the file that tells the pretended scan what to attempt.
func (b *bench) plan(behave string) item {
	b.Helper()
	text, err := json.Marshal(map[string]string{"Canary": b.canary, "Address": b.outer.Addr().String(), "Behave": behave})
	b.check(err)
	return item{"100644", "plan.json", b.blob(string(text))}
}

// serve handles requests to the server.
func (b *bench) serve(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !strings.HasPrefix(r.URL.Path, "/api/runner/") {
		b.shown = append(b.shown, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{}`))
		return
	}
	if b.gone {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"status":401,"code":"unauthenticated"}`))
		return
	}
	var answer any
	body, _ := io.ReadAll(r.Body)
	if call := filepath.Base(r.URL.Path); b.deaf[call] > 0 {
		b.deaf[call]--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	switch filepath.Base(r.URL.Path) {
	case "lease":
		answer = api.LeaseRunResponse{Run: b.lease}
	case "progress":
		var p api.ProgressRunRequest
		_ = json.Unmarshal(body, &p)
		if b.lost {
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"status":409,"code":"conflict"}`))
			return
		}
		b.states = append(b.states, p.State)
		b.log.WriteString(p.Log)
		answer = api.ProgressRunResponse{Offset: p.Offset + int64(len(p.Log))}
	case "finish":
		b.end = &api.FinishRunRequest{}
		_ = json.Unmarshal(body, b.end)
		answer = api.FinishRunResponse{State: b.end.State}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// make executes a run of the repository and returns its outcome, with what the scan could access.
func (b *bench) make(change func(*api.LeasedRun)) (api.FinishRunRequest, *seen) {
	b.Helper()
	run := &api.LeasedRun{
		ID: "7", Claim: 1, Attempt: 1, Project: "acme/payments", Kind: "full", Ref: "refs/heads/main", CloneURL: "file://" + b.remote, Token: "rdt_run_token",
		Credential: &api.CloneCredential{Username: "u", Password: "clone-password"}, Limits: api.LeasedRunLimits{Seconds: 60, LogBytes: 1 << 20},
	}
	if change != nil {
		change(run)
	}
	b.mu.Lock()
	b.lease, b.end, b.states = run, nil, nil
	b.log.Reset()
	b.mu.Unlock()
	var out *seen
	b.runner.onResult = func(text []byte) {
		var r struct {
			Seen *seen `json:"seen"`
		}
		b.check(json.Unmarshal(text, &r))
		out = r.Seen
	}
	if _, err := b.runner.RunOne(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left, err := os.ReadDir(b.runner.runsDir())
	if err != nil || len(left) > 0 {
		b.Errorf("the run left %v, %v", left, err)
	}
	if b.end == nil {
		return api.FinishRunRequest{}, out
	}
	return *b.end, out
}

// eachIsolation runs a test with the sandbox, if available, and without isolation.
func eachIsolation(t *testing.T, test func(b *bench, isolated bool)) {
	for _, isolation := range []Isolation{IsolateAlways, IsolateNever} {
		t.Run(string(isolation), func(t *testing.T) {
			if _, err := newSandbox(t.Context(), Config{Isolation: isolation}); err != nil {
				t.Skip("install bubblewrap: ", err)
			}
			test(newBench(t, func(c *Config) { c.Isolation = isolation }), isolation == IsolateAlways)
		})
	}
}
