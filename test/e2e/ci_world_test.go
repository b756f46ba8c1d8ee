package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
	"github.com/redoubt/redoubt/internal/testutil/scannertest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// ciWorld is a server process, a proxy in front of it that survives the server, and a Git
// repository for the real scanner.
type ciWorld struct {
	*testing.T
	semgrep string
	home    string // home directory of the scanner
	data    string
	storage []string // flags of the database
	server  *exec.Cmd
	log     *os.File
	ready   programtest.Ready
	proxy   *httptest.Server
	repo    string

	mu     sync.Mutex
	target *url.URL
	kill   map[string]bool // steps during which the server is killed
	later  bool            // kill the server after it responds that a scan is stored later
	flags  []string        // of the next start of the server
	seen   []string        // method and path of every request, in order

	newest        printed // output of the last scan with the expected exit code
	scannedShared bool    // the code shared by several projects was scanned
	commits       int     // number of Git commands, for reproducible commit hashes
}

func newCIWorld(t *testing.T, engine string) *ciWorld {
	t.Helper()
	semgrep := scannertest.Forked(t)
	c := storetest.Empty(t, engine)
	w := &ciWorld{T: t, semgrep: semgrep, home: t.TempDir(), data: t.TempDir(), repo: t.TempDir(), kill: map[string]bool{}}
	w.storage = []string{"--data", w.data}
	if c.DatabaseURL != "" {
		w.storage = []string{"--database-url", c.DatabaseURL, "--data", w.data}
	}
	var err error
	if w.log, err = os.Create(filepath.Join(w.home, "server.log")); err != nil {
		t.Fatal(err)
	}
	w.start()
	t.Cleanup(func() { w.stop() })
	t.Cleanup(func() {
		if log, _ := os.ReadFile(w.log.Name()); t.Failed() {
			t.Logf("the server's log ends with\n%s", log[max(0, len(log)-4000):])
		}
	})
	w.proxy = httptest.NewServer(http.HandlerFunc(w.pass))
	t.Cleanup(w.proxy.Close)
	w.startRules()
	archive, err := txtar.ParseFile("testdata/ci/repo.txtar")
	if err != nil {
		t.Fatal(err)
	}
	w.git("init", "-q", "-b", "main")
	for _, f := range archive.Files {
		w.write(f.Name, string(f.Data))
	}
	w.commit("first")
	return w
}

// start starts a server and waits until it is ready.
func (w *ciWorld) start() {
	w.Helper()
	file := filepath.Join(w.home, fmt.Sprintf("ready-%d.json", time.Now().UnixNano()))
	args := append([]string{"serve", "--addr", "127.0.0.1:0", "--ready-file", file, "--deployment", "acme", "--no-starter-rules"}, slices.Concat(w.storage, w.flags)...)
	w.flags = nil
	w.server = exec.Command("redoubt", args...)
	w.server.Stderr = w.log
	if err := w.server.Start(); err != nil {
		w.Fatal(err)
	}
	for end := time.Now().Add(programtest.WaitAtMost); time.Now().Before(end); {
		if text, err := os.ReadFile(file); err == nil {
			var r programtest.Ready
			if err := json.Unmarshal(text, &r); err != nil {
				w.Fatal(err)
			}
			if w.ready.Token == "" {
				w.ready = r
				w.ready.Token = w.ciToken()
			}
			target, err := url.Parse(r.BaseURL)
			if err != nil {
				w.Fatal(err)
			}
			w.mu.Lock()
			w.target = target
			w.mu.Unlock()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.Fatalf("no server was ready within %v", programtest.WaitAtMost)
}

// ciToken creates a token that remains valid after restarts of the server.
func (w *ciWorld) ciToken() string {
	w.Helper()
	out := w.redoubt("token", "create", "ci and reader", "--scope", "ci,web_api")
	return strings.TrimSpace(out)
}

func (w *ciWorld) stop() {
	_ = w.server.Process.Kill()
	_ = w.server.Wait()
}

// redoubt runs a command with the server's database.
func (w *ciWorld) redoubt(args ...string) string {
	w.Helper()
	cmd := exec.Command("redoubt", append(args, w.storage...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("redoubt %v: %v\n%s", args, err, stderr.Bytes())
	}
	return string(out)
}

// pass forwards a request. It records nulls in responses to scanners, and restarts the server if
// the test requested that.
func (w *ciWorld) pass(out http.ResponseWriter, r *http.Request) {
	step := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	w.mu.Lock()
	w.seen = append(w.seen, r.Method+" "+r.URL.Path)
	kill := w.kill[step]
	delete(w.kill, step)
	w.mu.Unlock()
	if kill {
		w.cut(r)
		panic(http.ErrAbortHandler)
	}
	w.mu.Lock()
	target := w.target
	w.mu.Unlock()
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: func(res *http.Response) error {
			text, err := io.ReadAll(res.Body)
			res.Body = io.NopCloser(bytes.NewReader(text))
			if !strings.HasPrefix(r.URL.Path, "/api/v1/") && strings.Contains(res.Header.Get("Content-Type"), "json") && containsNull(text) {
				w.Errorf("the response of %s %s contains a null: %s", r.Method, r.URL.Path, text)
			}
			if step == "complete" && bytes.Contains(text, []byte(`"success":false`)) {
				w.killDuringScan()
			}
			return err
		},
	}
	proxy.ServeHTTP(out, r)
}

// killDuringScan restarts a server that processes a scan in the background, if the test requested that.
func (w *ciWorld) killDuringScan() {
	w.mu.Lock()
	dies := w.later
	w.later = false
	w.mu.Unlock()
	if dies {
		w.stop()
		w.start()
	}
}

// cut sends half of the request's body, kills the server during that, and starts another one.
func (w *ciWorld) cut(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.Error(err)
		return
	}
	reader, half := io.Pipe()
	req, err := http.NewRequest(r.Method, w.target.String()+r.URL.Path, reader)
	if err != nil {
		w.Error(err)
		return
	}
	req.Header, req.ContentLength = r.Header.Clone(), int64(len(body))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
			res.Body.Close()
		}
	}()
	if _, err := half.Write(body[:len(body)/2]); err != nil {
		w.Error(err)
	}
	w.stop()
	half.CloseWithError(io.ErrUnexpectedEOF)
	<-sent
	w.start()
}

func containsNull(text []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		if token == nil {
			return true
		}
	}
}

func (w *ciWorld) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// printed is the output of a scan.
type printed struct {
	exit   int
	stdout []byte
	stderr string
}

// scan runs the real scanner on the checkout. Variables are NAME=value.
func (w *ciWorld) scan(branch string, args []string, variables ...string) printed {
	w.Helper()
	cmd := exec.Command(w.semgrep, append([]string{"ci", "--oss-only", "--json"}, args...)...)
	cmd.Dir = w.repo
	cmd.Env = append(w.env(branch), variables...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.Fatal(err)
	}
	return printed{cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.String()}
}

// env returns the environment of the scanner.
func (w *ciWorld) env(branch string) []string {
	return append(programtest.Covered(),
		"PATH="+filepath.Dir(w.semgrep)+":"+os.Getenv("PATH"), "HOME="+w.home, "NO_PROXY=127.0.0.1",
		"SEMGREP_URL="+w.proxy.URL, "SEMGREP_FAIL_OPEN_URL="+w.proxy.URL, "SEMGREP_APP_TOKEN="+w.ready.Token,
		"SEMGREP_SETTINGS_FILE="+filepath.Join(w.home, "settings.yml"), "SEMGREP_SEND_METRICS=off", "SEMGREP_ENABLE_VERSION_CHECK=0",
		"SEMGREP_REPO_NAME=acme/shop", "SEMGREP_REPO_URL=https://git.example/acme/shop", "SEMGREP_BRANCH="+branch,
	)
}

// loud makes the scanner report its errors.
var loud = []string{"--no-suppress-errors"}

// same plays back the recorded scanner of an earlier run. It requires that the scanner's inputs are
// unchanged.
const same = "REDOUBT_TEST_SAME=1"

// want scans and checks the exit code.
func (w *ciWorld) want(exit int, branch string, args ...string) printed {
	w.Helper()
	return w.exits(exit, branch, w.scan(branch, append(slices.Clone(loud), args...)))
}

// wantUnchanged is want for unchanged code and rules.
func (w *ciWorld) wantUnchanged(exit int, branch string, args ...string) printed {
	w.Helper()
	return w.exits(exit, branch, w.scan(branch, append(slices.Clone(loud), args...), same))
}

func (w *ciWorld) exits(exit int, branch string, r printed) printed {
	w.Helper()
	if r.exit != exit {
		w.Fatalf("the scan of %s ended with %d, want %d:\n%s", branch, r.exit, exit, r.stderr)
	}
	w.newest = r
	return r
}

// locations returns the rule, path and line of the results.
func (r printed) locations(t *testing.T) []string {
	t.Helper()
	var out struct {
		Results []struct {
			CheckID string `json:"check_id"`
			Path    string `json:"path"`
			Start   struct {
				Line int `json:"line"`
			} `json:"start"`
		} `json:"results"`
	}
	if err := json.Unmarshal(r.stdout, &out); err != nil {
		t.Fatalf("%v in %.500s\n%s", err, r.stdout, r.stderr)
	}
	list := []string{}
	for _, p := range out.Results {
		list = append(list, fmt.Sprintf("%s %s:%d", p.CheckID, p.Path, p.Start.Line))
	}
	slices.Sort(list)
	return list
}

func (w *ciWorld) git(args ...string) {
	w.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=dev", "-c", "user.email=dev@example.com"}, args...)...)
	w.commits++
	at := storetest.Epoch.Add(time.Duration(w.commits) * time.Second).Format(time.RFC3339)
	cmd.Dir, cmd.Env = w.repo, append(os.Environ(), "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (w *ciWorld) write(name, text string) {
	w.Helper()
	file := filepath.Join(w.repo, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *ciWorld) edit(name, from, to string) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.repo, name))
	if err != nil || !strings.Contains(string(text), from) {
		w.Fatalf("%s contains no %q: %v", name, from, err)
	}
	w.write(name, strings.Replace(string(text), from, to, 1))
}

func (w *ciWorld) commit(message string) {
	w.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "-m", message)
}

func (w *ciWorld) client() *api.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &api.Client{BaseURL: w.target.String(), Token: w.ready.Token}
}

// code returns the code findings of a ref by rule, path and line.
func (w *ciWorld) code(ref string, statuses ...string) map[string]api.CodeFinding {
	w.Helper()
	out := map[string]api.CodeFinding{}
	for f, err := range w.client().Findings(w.Context(), "acme", api.FindingsQuery{Ref: ref, Status: statuses}) {
		if err != nil {
			w.Fatal(err)
		}
		out[fmt.Sprintf("%s %s:%d", f.RuleName, f.Location.FilePath, f.Location.Line)] = f
	}
	return out
}

func (w *ciWorld) chain(ref string) map[string]api.SupplyChainFinding {
	w.Helper()
	out := map[string]api.SupplyChainFinding{}
	for f, err := range w.client().SupplyChainFindings(w.Context(), "acme", api.FindingsQuery{Ref: ref, Status: []string{"open"}}) {
		if err != nil {
			w.Fatal(err)
		}
		out[fmt.Sprintf("%s %s:%d", f.RuleName, f.Location.FilePath, f.Location.Line)] = f
	}
	return out
}

func (w *ciWorld) newestScan() api.Scan {
	w.Helper()
	answer, err := w.client().SearchScans(w.Context(), "1", api.SearchScansRequest{Limit: 1})
	if err != nil || len(answer.Scans) == 0 {
		w.Fatalf("no scan is listed: %v", err)
	}
	return answer.Scans[0]
}
