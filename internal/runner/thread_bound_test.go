//go:build linux && (amd64 || arm64)

package runner

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestSandboxThreadLimit reads the limits of a process in a sandbox, and of one that
// shares its user namespace with the rest of the machine.
func TestSandboxThreadLimit(t *testing.T) {
	if os.Getenv("REDOUBT_TEST_BOUND") != "" {
		if err := boundThreads(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile("/proc/self/limits")
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(string(text), "Max processes")
		t.Logf("bound %s", strings.Fields(line)[0])
		return
	}
	s, err := newSandbox(t.Context(), Config{Isolation: IsolateIfPossible})
	if err != nil || !s.isolates() {
		t.Skipf("no sandbox here: %s %v", s, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := []string{self, "-test.run", t.Name(), "-test.v"}
	env := append(os.Environ(), "REDOUBT_TEST_BOUND=1")
	output, err := s.command(t.Context(), "/", env, []string{self}, nil, program).CombinedOutput()
	if err != nil || !strings.Contains(string(output), "bound 4096") {
		t.Errorf("in a sandbox: %s %v", output, err)
	}
	outside := exec.CommandContext(t.Context(), self, program[1:]...)
	outside.Env = env
	if output, err := outside.CombinedOutput(); err != nil || strings.Contains(string(output), "bound 4096") {
		t.Errorf("outside: %s %v", output, err)
	}
}
