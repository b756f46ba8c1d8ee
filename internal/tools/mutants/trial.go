package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// switches is the file that a package gets beside its own.
const switches = `package %s

import (
	mutantos "os"
	mutantconv "strconv"
	mutantsync "sync"
)

var (
	mutantActive, _ = mutantconv.Atoi(mutantos.Getenv("REDOUBT_MUTANT"))
	mutantTrace     = mutantos.Getenv("REDOUBT_MUTANT_TRACE")
	mutantSeen      mutantsync.Map
)

func isMutant(n int) bool {
	if mutantTrace != "" {
		if _, seen := mutantSeen.LoadOrStore(n, true); !seen {
			f, err := mutantos.OpenFile(mutantTrace, mutantos.O_APPEND|mutantos.O_CREATE|mutantos.O_WRONLY, 0o600)
			if err == nil {
				_, _ = f.WriteString(mutantconv.Itoa(n) + "\n")
				_ = f.Close()
			}
		}
	}
	return n == mutantActive
}

func mutated(n int, v bool) bool { return isMutant(n) != v }
`

// trial is the mutants of one package.
type trial struct {
	by          string // the folder whose tests are asked
	folder      string
	only        *regexp.Regexp // the names of files that are broken
	tests       string         // the names of those that are run, as a pattern; empty: all
	first       string         // the names of those that are run before all others, as a pattern; empty: none
	workers     int
	mutants     []*mutant
	binary, dir string
	took        time.Duration // of the tests as they are
}

func (t *trial) run() (err error) {
	if t.dir, err = os.MkdirTemp("", "mutants"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.dir)) }()
	if err := t.build(); err != nil {
		return err
	}
	if err := t.trace(); err != nil {
		return err
	}
	work := make(chan *mutant)
	var workers sync.WaitGroup
	for range t.workers {
		workers.Go(func() {
			for m := range work {
				err := t.ask(m.n)
				m.killed, m.late = err != nil, err != nil && strings.Contains(err.Error(), "panic: test timed out")
			}
		})
	}
	for _, m := range t.mutants {
		if m.reached {
			work <- m
		}
	}
	close(work)
	workers.Wait()
	return nil
}

// position is where the compiler found a fault.
var position = regexp.MustCompile(`(?m)^\S*?([^/\s:]+\.go):(\d+):`)

// build compiles the package's tests with all mutants. A line of which one does not
// compile, as a comparison of a type that is no bool, is left as it is.
func (t *trial) build() error {
	skip := map[string]bool{}
	for range 12 {
		out, err := t.compile(skip)
		if err == nil {
			return nil
		}
		known := len(skip)
		for _, at := range position.FindAllStringSubmatch(out, -1) {
			skip[filepath.Join(t.folder, at[1])+":"+at[2]] = true
		}
		if len(skip) == known {
			return fmt.Errorf("the mutants do not compile: %w\n%s", err, out)
		}
	}
	return errors.New("the mutants do not compile, whatever is left out")
}

func (t *trial) compile(skip map[string]bool) (out string, err error) {
	files, err := filepath.Glob(filepath.Join(t.folder, "*.go"))
	if err != nil {
		return "", err
	}
	replace, number, name := map[string]string{}, 0, ""
	t.mutants = nil
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if strings.HasSuffix(file, "_test.go") || !t.only.MatchString(filepath.Base(file)) {
			continue
		}
		m := mutator{fset: token.NewFileSet(), file: file, src: string(src), skip: skip, next: &number}
		text, err := m.mutate()
		if err != nil {
			return "", err
		}
		t.mutants = append(t.mutants, m.found...)
		name = regexp.MustCompile(`(?m)^package (\w+)`).FindStringSubmatch(text)[1]
		if err := t.overlay(replace, file, text); err != nil {
			return "", err
		}
	}
	if err := t.overlay(replace, filepath.Join(t.folder, "mutant_switches.go"), fmt.Sprintf(switches, name)); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(t.dir, "overlay.json"), list, 0o600); err != nil {
		return "", err
	}
	t.binary = filepath.Join(t.dir, "tests")
	said, err := exec.CommandContext(context.Background(), "go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", filepath.Join(t.dir, "overlay.json"), "-o", t.binary, "./"+t.by).CombinedOutput()
	return string(said), err
}

// overlay has the compiler read a text in place of a file. Lines stay where they are.
func (t *trial) overlay(replace map[string]string, file, text string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	replace[path] = filepath.Join(t.dir, filepath.Base(file))
	return os.WriteFile(replace[path], []byte(text), 0o600)
}

// trace runs the tests as they are, and notes which places they reach.
func (t *trial) trace() error {
	seen := filepath.Join(t.dir, "seen")
	start := time.Now()
	if err := t.test(0, t.tests, seen); err != nil {
		return fmt.Errorf("the tests fail with nothing broken: %w", err)
	}
	t.took = time.Since(start)
	list, err := os.ReadFile(seen)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	reached := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		reached[strings.TrimSpace(line)] = true
	}
	for _, m := range t.mutants {
		m.reached = reached[strconv.Itoa(m.n)]
	}
	return nil
}

// ask runs the tests with one mutant until one fails: those that come first, then all.
func (t *trial) ask(n int) error {
	if t.first != "" {
		if err := t.test(n, t.first, ""); err != nil {
			return err
		}
	}
	return t.test(n, t.tests, "")
}

// test runs tests with one mutant; one that never ends is a fault too. What
// the tests take as they are was measured beside whatever else ran, which may be more by now.
func (t *trial) test(n int, tests, trace string) error {
	limit := 10 * time.Minute
	if t.took > 0 {
		limit = 10*t.took + time.Minute
	}
	cmd := exec.CommandContext(context.Background(), t.binary, "-test.short", "-test.failfast", "-test.run", tests, "-test.timeout", limit.String())
	cmd.Dir = t.by
	cmd.Env = append(os.Environ(), "REDOUBT_MUTANT="+strconv.Itoa(n), "REDOUBT_MUTANT_TRACE="+trace)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	return nil
}
