package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/redoubt/redoubt/api"
)

// scan scans a checkout with the CI command in a sandbox.
type scan struct {
	*Runner
	run      *api.LeasedRun
	fetched  *fetch
	dir      string
	progress *progressReporter
}

// result contains the fields used of the document that `redoubt ci` writes.
type result struct {
	Blocked bool     `json:"blocked"`
	Trouble []string `json:"trouble"`
	Sources []struct {
		ScanID  string `json:"scan_id"`
		Outcome string `json:"outcome"`
	} `json:"sources"`
}

// Exit codes of `redoubt ci`.
const (
	ciPassed  = 0
	ciBlocked = 1
)

// maxResult is the maximum size of the document, in bytes.
const maxResult = 64 << 20

// scan runs the scan and returns the id of the newest uploaded scan.
func (s *scan) scan(ctx context.Context) (scanID string, err error) {
	socketDir := filepath.Join(s.dir, "way")
	if err := os.Mkdir(socketDir, 0o700); err != nil {
		return "", err
	}
	key := rand.Text()
	p, err := s.startProxy(ctx, key)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if !s.sandbox.isolates() {
		s.progress.logf("warning: %s", s.sandbox)
	}
	exit, err := s.start(ctx, p.socket, key)
	if err != nil {
		return "", err
	}
	r, err := s.result()
	switch {
	case err != nil:
		return "", &failure{
			"scanner", fmt.Sprintf("the scan ended with exit code %d and wrote no result: see the end of the log", exit),
		}
	case exit != ciPassed && exit != ciBlocked:
		return r.newest(), &failure{
			"scanner",
			fmt.Sprintf("exit code %d: %s", exit, cmp.Or(strings.Join(r.Trouble, "; "), "see the end of the log")),
		}
	}
	return r.newest(), nil
}

// newest returns the id of the newest scan that the run uploaded.
func (r result) newest() (id string) {
	for _, source := range r.Sources {
		if len(source.ScanID) > len(id) || len(source.ScanID) == len(id) && source.ScanID > id {
			id = source.ScanID
		}
	}
	return id
}

// result reads the result of the scan. It must be a regular file, not a link.
func (s *scan) result() (r result, err error) {
	root, err := os.OpenRoot(filepath.Join(s.dir, "out"))
	if err != nil {
		return r, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat("result.json")
	if err != nil {
		return r, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxResult {
		return r, errors.New("the result is not a file, or is too large")
	}
	text, err := root.ReadFile("result.json")
	if err != nil {
		return r, err
	}
	if s.onResult != nil {
		s.onResult(text)
	}
	return r, json.Unmarshal(text, &r)
}

// start runs the scan program within its limits until it ends.
func (s *scan) start(parent context.Context, socket, key string) (exit int, err error) {
	var started atomic.Int64
	ctx, stop := watch(parent, func() error { return s.withinBounds(int(started.Load())) })
	defer stop()
	src, home, out := filepath.Join(s.dir, "src"), filepath.Join(s.dir, "home"), filepath.Join(s.dir, "out")
	program := []string{
		s.Program, "runner-inside", "--socket", socket, "--", s.Program, "ci", "--json", filepath.Join(out, "result.json"),
	}
	if s.Semgrep == "" {
		program = append(program, "--no-semgrep")
	} else {
		program = append(program, "--semgrep", s.Semgrep)
	}
	read := []string{s.Program, filepath.Join(s.fetched.repository, "objects"), filepath.Dir(socket)}
	made := s.sandbox.command(ctx, src, s.environment(home, key), read, []string{src, home, out}, program)
	pipe, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	made.Stdout, made.Stderr = w, w
	err = made.Start()
	if closed := w.Close(); err != nil || closed != nil {
		return 0, errors.Join(err, closed, pipe.Close())
	}
	started.Store(int64(made.Process.Pid))
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		s.progress.lines(pipe)
	}()
	err = made.Wait()
	killGroup(made.Process.Pid)
	_ = pipe.Close() // ignore output of processes that still have the other end
	<-logged
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return 0, err
	}
	return made.ProcessState.ExitCode(), nil
}

// withinBounds returns an error if the scanner exceeded a limit.
func (s *scan) withinBounds(pid int) error {
	if size(s.dir) > s.Limits.Disk {
		return &failure{"scanner", fmt.Sprintf("the scan used more than %d MiB of disk space", s.Limits.Disk>>20)}
	}
	if pid == 0 {
		return nil
	}
	processes, total := descendants(pid), int64(0)
	if len(processes) > s.Limits.Processes {
		return &failure{"scanner", fmt.Sprintf("the scan started more than %d processes", s.Limits.Processes)}
	}
	for _, bytes := range processes {
		total += bytes
	}
	if total > s.Limits.Memory {
		return &failure{"scanner", fmt.Sprintf("the scan used more than %d MiB of memory", s.Limits.Memory>>20)}
	}
	return nil
}

// environment returns the environment of the scanner. It inherits no variables of this process.
func (s *scan) environment(home, key string) []string {
	temp := "/tmp"
	if !s.sandbox.isolates() {
		temp = home
	}
	f := s.fetched
	branch := strings.TrimPrefix(f.ref, "refs/heads/")
	env := []string{
		"PATH=" + systemPath, "HOME=" + home, "TMPDIR=" + temp, "XDG_CACHE_HOME=" + home,
		"XDG_CONFIG_HOME=" + home, "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1",
		"REDOUBT_TOKEN=" + key,
		"SEMGREP_REPO_NAME=" + s.run.Project, "SEMGREP_REPO_DISPLAY_NAME=" + s.run.Project,
		"SEMGREP_BRANCH=" + branch, "SEMGREP_COMMIT=" + f.commit,
		"SEMGREP_SEND_METRICS=off", "SEMGREP_ENABLE_VERSION_CHECK=0", "SEMGREP_SETTINGS_FILE=" +
			filepath.Join(home, "settings.yml"), "SEMGREP_VERSION_CACHE_PATH=" + filepath.Join(home, "version"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "GIT_LFS_SKIP_SMUDGE=1",
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=" + os.DevNull,
		"GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false",
		"GIT_CONFIG_KEY_2=safe.directory", "GIT_CONFIG_VALUE_2=*",
	}
	if s.run.WebURL != "" {
		env = append(env, "SEMGREP_REPO_URL="+s.run.WebURL)
	}
	if s.run.Change != 0 {
		env = append(env, fmt.Sprintf("SEMGREP_PR_ID=%d", s.run.Change))
	}
	if f.base != "" {
		env = append(env, "SEMGREP_BASELINE_COMMIT="+f.base)
	}
	return env
}
