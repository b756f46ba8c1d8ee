package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
)

// tools contains the paths of the programs of a replay.
type tools struct{ redoubt, semgrep, rules string }

// server is a running server with new data.
type server struct {
	Address    string `json:"base_url"`
	Deployment string `json:"deployment_slug"`
	Token      string `json:"token"`
	cmd        *exec.Cmd
}

// ruleTimeout is the scanner's timeout, in seconds, for a rule and a file. The scanner skips rules
// that exceed it, which could happen in one of two runs on a loaded machine.
const ruleTimeout = "60"

// startTime is the timeout for the start of a server.
const startTime = time.Minute

// serve starts a server that serves only the given rules.
func (t tools) serve(ctx context.Context, home string) (*server, error) {
	data, ready := filepath.Join(home, "data"), filepath.Join(home, "ready.json")
	for _, args := range [][]string{
		{"deployment", "create", "--data", data, "--no-starter-rules", "acme"},
		{"policy", "add-rules", "--data", data, "--semgrep", t.semgrep, t.rules},
	} {
		if _, err := output(ctx, home, nil, t.redoubt, args...); err != nil {
			return nil, err
		}
	}
	s := &server{cmd: exec.CommandContext(ctx, t.redoubt, "serve", "--data", data, "--deployment", "acme", "--addr",
		"127.0.0.1:0", "--ready-file", ready)}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for until := time.Now().Add(startTime); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if text, err := os.ReadFile(ready); err == nil && json.Unmarshal(text, s) == nil {
			return s, nil
		}
	}
	s.stop()
	return nil, errors.New("the server does not start")
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt) // the process may have ended
	_ = s.cmd.Wait()                       // ends by the signal
}

// output runs a program and returns its output. The error includes the error output.
func output(ctx context.Context, dir string, env []string, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), args[0], err, bytes.TrimSpace(complaints.Bytes()))
	}
	return out, nil
}

// replay commits and scans each archive in order.
func (t tools) replay(ctx context.Context, s *server, dir, name string, archives []string) (r result, err error) {
	if _, err := output(ctx, ".", nil, "git", "init", "--quiet", "--initial-branch=main", dir); err != nil {
		return r, err
	}
	project := "acme/" + name
	var before map[int64]finding
	for _, archive := range archives {
		if err := commit(ctx, dir, archive); err != nil {
			return r, err
		}
		env := []string{
			"SEMGREP_URL=" + s.Address, "SEMGREP_FAIL_OPEN_URL=" + s.Address,
			"SEMGREP_APP_TOKEN=" + s.Token, "SEMGREP_SEND_METRICS=off",
			"SEMGREP_ENABLE_VERSION_CHECK=0", "SEMGREP_SETTINGS_FILE=" + dir + ".yml",
			"SEMGREP_REPO_NAME=" + project, "SEMGREP_BRANCH=main",
		}
		if _, err := output(ctx, dir, env, t.semgrep, "ci", "--oss-only", "--no-suppress-errors", "--quiet", "--timeout",
			ruleTimeout); err != nil {
			return r, err
		}
		scanner, err := t.scan(ctx, dir)
		if err != nil {
			return r, err
		}
		open, err := s.open(ctx, dir, project)
		if err != nil {
			return r, err
		}
		r.compare(open, scanner)
		r.follow(before, open)
		fmt.Fprintf(os.Stderr, "%s %s: %d findings; until now %d hops, %d missing, %d extra\n",
			name, filepath.Base(archive), len(open), r.hops, r.missing, r.extra)
		before = open
	}
	return r, nil
}

// commit replaces the checkout by the files of an archive and commits them.
func commit(ctx context.Context, dir, archive string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := unpack(archive, dir); err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	// An empty file overrides the scanner's default, which omits tests.
	if err := os.WriteFile(filepath.Join(dir, ".semgrepignore"), nil, 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"add", "--all", "--force"},
		{
			"-c", "user.name=histories", "-c", "user.email=histories@localhost",
			"commit", "--quiet", "--allow-empty", "--message", filepath.Base(archive),
		},
	} {
		if _, err := output(ctx, dir, nil, "git", args...); err != nil {
			return err
		}
	}
	return nil
}

// scan runs the scanner directly and returns the places of its results.
func (t tools) scan(ctx context.Context, dir string) (map[location]bool, error) {
	text, err := output(ctx, dir, nil, t.semgrep, "scan", "--oss-only", "--quiet", "--metrics=off",
		"--disable-version-check", "--json", "--timeout", ruleTimeout, "--config", t.rules)
	if err != nil {
		return nil, err
	}
	var report struct {
		Results []struct {
			Rule  string `json:"check_id"`
			Path  string `json:"path"`
			Start struct {
				Line   int `json:"line"`
				Column int `json:"col"`
			} `json:"start"`
		} `json:"results"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, err
	}
	results := map[location]bool{}
	for _, r := range report.Results {
		// without the directory of the rules
		results[location{r.Rule[strings.LastIndexByte(r.Rule, '.')+1:], r.Path, r.Start.Line, r.Start.Column}] = true
	}
	return results, nil
}

// open returns the open findings of the server.
func (s *server) open(ctx context.Context, dir, project string) (map[int64]finding, error) {
	client := &api.Client{BaseURL: s.Address, Token: s.Token}
	open := map[int64]finding{}
	q := api.FindingsQuery{Repos: []string{project}, Ref: "main", Status: []string{"open"}, PageSize: 3000}
	for f, err := range client.Findings(ctx, s.Deployment, q) {
		if err != nil {
			return nil, err
		}
		l := f.Location
		at := location{f.RuleName, l.FilePath, int(l.Line), int(l.Column)}
		text, err := matchedText(dir, at, int(l.EndLine), int(l.EndColumn))
		if err != nil {
			return nil, fmt.Errorf("finding %d: %w", f.ID, err)
		}
		open[f.ID] = finding{at, text}
	}
	return open, nil
}
