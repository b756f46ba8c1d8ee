package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// ciStep is one step of a test.
type ciStep struct {
	name string
	run  func(*ciWorld)
}

// onEngines runs a test on all engines. The first engine uses the real scanner and records it. The
// recording is played to the other engines and fails if their responses differ.
// REDOUBT_TEST_RECORDINGS names a directory that stores recordings between runs, for developing the
// tests.
func onEngines(t *testing.T, test func(*ciWorld)) {
	t.Helper()
	t.Parallel()
	recordings := t.TempDir()
	if dir := os.Getenv("REDOUBT_TEST_RECORDINGS"); dir != "" {
		recordings = filepath.Join(dir, t.Name())
	}
	for _, engine := range storetest.Engines {
		ok := t.Run(engine, func(t *testing.T) {
			w := newCIWorld(t, engine)
			w.record(recordings)
			test(w)
		})
		if !ok {
			return
		}
	}
}

// record configures the scanner to record into a directory or to play back from it.
func (w *ciWorld) record(recordings string) {
	w.Helper()
	dir, state := filepath.Join(w.home, "scanner"), filepath.Join(w.home, "runs")
	for _, d := range []string{dir, state, recordings} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			w.Fatal(err)
		}
	}
	program, err := exec.LookPath("recorded-semgrep")
	if err != nil {
		w.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nexec %s %s %s %s \"$@\"\n", program, recordings, state, w.semgrep)
	w.semgrep = filepath.Join(dir, "semgrep")
	if err := os.WriteFile(w.semgrep, []byte(script), 0o755); err != nil {
		w.Fatal(err)
	}
}

// steps runs dependent steps until the first failure.
func (w *ciWorld) steps(steps ...ciStep) {
	outer := w.T
	defer func() { w.T = outer }()
	for _, step := range steps {
		ok := outer.Run(step.name, func(t *testing.T) {
			w.T = t
			step.run(w)
		})
		if w.T = outer; !ok {
			log, _ := os.ReadFile(w.log.Name())
			w.Fatalf("the server's log ends with\n%s", log[max(0, len(log)-4000):])
		}
	}
}

// rulesParse parses the initial rules of all worlds once with the real scanner.
var rulesParse sync.Once

// startRules serves the initial rules. After the first world, a program that accepts all rules
// replaces the scanner.
func (w *ciWorld) startRules() {
	w.Helper()
	scanner := "true"
	rulesParse.Do(func() { scanner = w.semgrep })
	const file = "testdata/ci/rules.yaml"
	// the output names a missing scanner
	if out := w.redoubt("policy", "add-rules", "--semgrep", scanner, file); strings.Contains(out, scanner) {
		w.Fatalf("the rules were not checked: %s", out)
	}
}
