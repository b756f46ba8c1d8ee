// Package scannertest starts the real scanner for tests. Each run is forked from a process that has
// imported the scanner's modules.
package scannertest

import (
	"bufio"
	"context"
	_ "embed" // for the program that forks
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Variable names the pinned semgrep.
const Variable = "REDOUBT_TEST_SEMGREP"

//go:embed forked.py
var forked string

// Installed returns the pinned semgrep. It skips the test if there is none.
func Installed(t testing.TB) string {
	t.Helper()
	semgrep := os.Getenv(Variable)
	if semgrep == "" {
		t.Skip(Variable + " names no semgrep: run make setup, which installs the pinned one into .cache/venv, and make test")
	}
	return semgrep
}

// Forked returns a semgrep that behaves like the installed one but starts faster. It works only on
// this machine, outside of sandboxes, until the tests of the package end. It skips the test if
// semgrep is not installed.
func Forked(t testing.TB) string {
	t.Helper()
	semgrep, err := start(Installed(t))
	if err != nil {
		t.Fatal(err)
	}
	return semgrep
}

var (
	once    sync.Once
	command string
	failed  error
	started []*exec.Cmd // referenced, so that their standard input stays open
)

// start starts the forking process once. That process ends when this one ends, because its standard
// input is closed.
func start(installed string) (string, error) {
	once.Do(func() { command, failed = startForked(installed) })
	return command, failed
}

func startForked(installed string) (string, error) {
	dir, err := os.MkdirTemp("", "semgrep-")
	if err != nil {
		return "", err
	}
	bin, script := filepath.Dir(installed), filepath.Join(dir, "forked.py")
	if err := os.WriteFile(script, []byte(forked), 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.Background(), filepath.Join(bin, "python"), script, dir)
	// Each run sets a separate environment.
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C.UTF-8"}
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", err
	}
	started = append(started, cmd)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return "", fmt.Errorf("the scanner did not start: %w", err)
	}
	// The installed program finds our pysemgrep in PATH instead of its own.
	text := fmt.Sprintf("#!/bin/sh\nPATH=%s:$PATH exec %s \"$@\"\n", dir, installed)
	semgrep := filepath.Join(dir, "semgrep")
	return semgrep, os.WriteFile(semgrep, []byte(text), 0o755) //nolint:gosec // a command
}
