package e2e

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// recordedSemgrep replaces the scanner: recorded-semgrep RECORDINGS STATE SCANNER ARGUMENT... STATE
// counts the runs of a world. The n-th run executes the real SCANNER and records it, unless
// RECORDINGS contains that run. Then it is played to the server of this run. If a response differs
// from the recorded one, the exit code is 99, because the scanner's reaction is unknown. Otherwise
// the recorded output is printed.
//
// With REDOUBT_TEST_SAME=1 the run equals an earlier one of the world, possibly of another project,
// whose recording is used.
func recordedSemgrep() {
	r := &recorder{recordings: os.Args[1], scanner: os.Args[3], args: os.Args[4:], patience: programtest.WaitAtMost}
	exit, err := r.run(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorded-semgrep:", err)
		exit = 99
	}
	os.Exit(exit)
}

type recorder struct {
	recordings, scanner string
	args                []string
	patience            time.Duration // timeout for the recorded response
	is                  scannerRun
	values              volatileValues
	scan                string // number of the scan, once the server has sent it
	mu                  sync.Mutex
	exchanges           []exchange
}

func (r *recorder) run(state string) (exit int, err error) {
	if len(r.args) > 0 && r.args[0] == "login" { // interactive
		cmd := exec.Command(r.scanner, r.args...)
		cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, r.env()
		err := cmd.Run()
		if cmd.ProcessState == nil {
			return 0, err
		}
		return cmd.ProcessState.ExitCode(), nil
	}
	n, err := count(state)
	if err != nil {
		return 0, err
	}
	r.describe()
	file := filepath.Join(r.recordings, fmt.Sprintf("%03d.json", n))
	is, err := read(file)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("REDOUBT_TEST_SAME") == "1" {
		is, err = r.same(n)
		if err == nil {
			err = write(file, is)
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return r.record(file)
	}
	if err != nil {
		return 0, err
	}
	if d := diff.Diff(is.Run, r.is); d != "" {
		return 0, fmt.Errorf("run %d of the scanner is not the one that was recorded (-recorded +now):\n%s", n, d)
	}
	return is.Exit, r.play(is)
}

// count returns the number of the run in a world, and increments the count.
func count(state string) (int, error) {
	done, err := os.ReadDir(state)
	if err != nil {
		return 0, err
	}
	return len(done), os.WriteFile(filepath.Join(state, strconv.Itoa(len(done))), nil, 0o600)
}

func read(file string) (is recording, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	return is, err
}

func write(file string, is recording) error {
	text, err := json.MarshalIndent(is, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// same returns the newest recording of an equal run.
func (r *recorder) same(n int) (is recording, err error) {
	for n--; n >= 0; n-- {
		if is, err = read(filepath.Join(r.recordings, fmt.Sprintf("%03d.json", n))); err != nil || diff.Equal(is.Run, r.is) {
			return is, err
		}
	}
	return is, fmt.Errorf("there is no earlier run as %+v", r.is)
}

// describe records the inputs of the run and its variable values.
func (r *recorder) describe() {
	settings, _ := os.ReadFile(os.Getenv("SEMGREP_SETTINGS_FILE"))
	r.values = volatileValues{"URL": os.Getenv("SEMGREP_URL"), "REPO": os.Getenv("SEMGREP_REPO_NAME"), "HOME": os.Getenv("HOME")}
	_, r.values["RUN"], _ = strings.Cut(os.Getenv("SEMGREP_USER_AGENT_APPEND"), "redoubt-ci/")
	text := strings.Join(r.args, "\n") + "\n" + os.Getenv("SEMGREP_APP_TOKEN") + "\n"
	found := tokens.FindAllString(text, -1)
	if len(found) == 0 && os.Getenv("SEMGREP_APP_TOKEN") == "" {
		found = tokens.FindAllString(string(settings), -1)
	}
	for i, token := range slices.Compact(found) {
		r.values["TOKEN"+strconv.Itoa(i)] = token
	}
	if _, host, ok := strings.Cut(r.values["URL"], "://"); ok {
		r.values["HOST"] = host
	}
	r.is.Args = []string{}
	for _, arg := range r.args {
		r.is.Args = append(r.is.Args, r.values.names(arg))
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if own := []string{"SEMGREP_URL", "SEMGREP_FAIL_OPEN_URL", "SEMGREP_SETTINGS_FILE"}; strings.HasPrefix(name, "SEMGREP_") && !slices.Contains(own, name) {
			r.is.Env = append(r.is.Env, r.values.names(v))
		}
	}
	slices.Sort(r.is.Env)
	r.is.Commit, r.is.Status = output("git", "rev-parse", "HEAD"), output("git", "status", "--porcelain")
}

// output returns the output of a command, or "" if it fails.
func output(name string, args ...string) string {
	text, _ := exec.Command(name, args...).Output()
	return strings.TrimSpace(string(text))
}

// env returns the environment of the real scanner, which finds some of its parts in PATH.
func (r *recorder) env(more ...string) []string {
	return append(append(os.Environ(), "PATH="+filepath.Dir(r.scanner)+":"+os.Getenv("PATH")), more...)
}

// record runs the real scanner with a recording proxy.
func (r *recorder) record(file string) (exit int, err error) {
	proxy := httptest.NewServer(http.HandlerFunc(r.pass))
	defer proxy.Close()
	server := r.values["HOST"]
	proxyHost := strings.TrimPrefix(proxy.URL, "http://")
	args := slices.Clone(r.args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], server, proxyHost)
	}
	cmd := exec.Command(r.scanner, args...)
	cmd.Env = r.env("SEMGREP_URL=" + proxy.URL)
	if os.Getenv("SEMGREP_FAIL_OPEN_URL") != "" {
		cmd.Env = append(cmd.Env, "SEMGREP_FAIL_OPEN_URL="+proxy.URL)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 0, err
	}
	output := func(b *bytes.Buffer) string { return strings.ReplaceAll(b.String(), proxyHost, server) }
	_, _ = os.Stdout.WriteString(output(&stdout))
	_, _ = os.Stderr.WriteString(output(&stderr))
	r.mu.Lock()
	defer r.mu.Unlock()
	is := recording{Run: r.is, Files: map[string]string{}, Stdout: r.values.names(output(&stdout)), Stderr: r.values.names(output(&stderr)), Exit: cmd.ProcessState.ExitCode()}
	for i, arg := range r.args[:max(0, len(r.args)-1)] {
		if strings.HasSuffix(arg, "-output") {
			text, err := os.ReadFile(r.args[i+1])
			if err != nil {
				return 0, err
			}
			is.Files[arg] = string(text)
		}
	}
	for _, e := range r.exchanges {
		e.URI, e.Body, e.Header, e.Answer = r.values.names(e.URI), r.values.names(e.Body), header(e.Header, r.values.names), r.values.names(e.Answer)
		is.Exchanges = append(is.Exchanges, e)
	}
	return is.Exit, write(file, is)
}

// pass forwards a request and records it. If the server breaks the connection, so does the proxy.
func (r *recorder) pass(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	e := exchange{Method: req.Method, URI: req.URL.RequestURI(), Body: strings.ReplaceAll(string(body), "http://"+req.Host, r.values["URL"]), Header: req.Header.Clone()}
	for _, own := range []string{"Accept-Encoding", "Content-Length", "Connection"} {
		e.Header.Del(own)
	}
	var res *http.Response
	var answer []byte
	if err == nil {
		res, answer, err = r.send(e)
	}
	e.Answer = string(answer)
	if err == nil {
		e.Status = res.StatusCode
	}
	r.learn(e)
	r.mu.Lock()
	if m := scanPath.FindStringSubmatch(e.URI); m != nil {
		e.URI = strings.Replace(e.URI, "/scans/"+m[1], "/scans/@@SCAN@@", 1)
	}
	e.Answer = maskVariables(e.Status, e.Answer, r.scan)
	r.exchanges = append(r.exchanges, e)
	r.mu.Unlock()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, lines := range res.Header {
		if name != "Content-Length" {
			w.Header()[name] = lines
		}
	}
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(answer)
}

// once is a client that uses a new connection for each request, so that it never retries.
var once = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (r *recorder) send(e exchange) (res *http.Response, answer []byte, err error) {
	req, err := http.NewRequest(e.Method, r.values["URL"]+e.URI, strings.NewReader(e.Body))
	if err != nil {
		return nil, nil, err
	}
	req.Header = e.Header.Clone()
	if res, err = once.Do(req); err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res, answer, err
}

// learn reads the ids of a scan from a request and its response.
func (r *recorder) learn(e exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values["UUID"] = cmp.Or(r.values["UUID"], e.Header.Get("X-Semgrep-Scan-ID"))
	var started struct {
		Info struct{ ID json.Number }
	}
	if strings.HasSuffix(e.URI, "/scans") && json.Unmarshal([]byte(e.Answer), &started) == nil {
		r.scan = cmp.Or(string(started.Info.ID), r.scan)
	}
}

// play sends the recorded requests. A request that the scanner repeated, after a broken connection
// or as requested by the server, is repeated until it gets the last recorded response.
func (r *recorder) play(is recording) error {
	r.values["UUID"] = newUUID()
	for i := 0; i < len(is.Exchanges); {
		last := i
		for last+1 < len(is.Exchanges) && is.Exchanges[last+1].is(is.Exchanges[i]) {
			last++
		}
		if err := r.repeat(is.Exchanges[i], is.Exchanges[last].Answer, last-i); err != nil {
			return err
		}
		i = last + 1
	}
	for i, arg := range r.args {
		if text, found := is.Files[arg]; found && i+1 < len(r.args) {
			if err := os.WriteFile(r.args[i+1], []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	_, _ = os.Stdout.WriteString(r.values.values(is.Stdout))
	_, _ = os.Stderr.WriteString(r.values.values(is.Stderr))
	return nil
}

func (r *recorder) repeat(e exchange, want string, times int) error {
	e.URI, e.Body, e.Header = r.values.values(e.URI), r.values.values(e.Body), header(e.Header, r.values.values)
	e.URI = strings.Replace(e.URI, "@@SCAN@@", r.scan, 1)
	var got string
	for end := time.Now().Add(r.patience); ; {
		res, answer, err := r.send(e)
		status := 0
		if err == nil {
			status = res.StatusCode
		}
		r.learn(exchange{URI: e.URI, Header: e.Header, Answer: string(answer)})
		if got = r.values.names(maskVariables(status, string(answer), r.scan)); got == want {
			return nil
		}
		if later := strings.Contains(got, `"success":false`); times == 0 && !later || time.Now().After(end) {
			return fmt.Errorf("the response to %s %s differs from the recording (-recorded +now):\n%s", e.Method, e.URI, diff.Diff(want, got))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// newUUID returns a random UUID (version 4), like those of the scanner.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
