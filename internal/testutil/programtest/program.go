// Package programtest runs tests with the built program. The tests start redoubt and other commands
// as processes. It contains shared helpers: the ready file of a server, its output, and a Git host.
package programtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

const (
	module  = "github.com/redoubt/redoubt"
	program = module + "/cmd/redoubt"
)

// WaitAtMost is the time that a test waits for another process on a busy machine.
const WaitAtMost = 2 * time.Minute

// Collector is the environment variable by which Main delays garbage collection in started
// programs. Most of them end early, and collections took a fifth of their processor time.
const Collector = "GOGC"

// Percent is the value of Collector. It replaces that of scripts/test, which is for tests.
var Percent = "800"

// Main runs the tests of a package with the program as redoubt in the PATH, and exits.
// The other commands are functions of the test binary.
func Main(m *testing.M, commands map[string]func()) {
	testscript.Main(tests{m}, commands)
}

type tests struct{ *testing.M }

// Run builds the program, runs the tests and returns the exit code.
func (t tests) Run() int {
	dir, err := os.MkdirTemp("", "redoubt-program-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "programtest:", err)
		return 1
	}
	return storetest.Tests{M: t.M}.Run()
}

func build(dir string) error {
	args := []string{"build", "-o", filepath.Join(dir, "redoubt")}
	if mode := testing.CoverMode(); mode != "" {
		args = append(args, "-cover", "-covermode="+mode, "-coverpkg="+module+"/...")
	}
	if out, err := exec.CommandContext(context.Background(), "go", append(args, program)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w:\n%s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // tests start the program as another user, too
		return err
	}
	if err := os.Setenv(Collector, Percent); err != nil {
		return err
	}
	return os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Sources reads the names of the program's files. It prevents go test from reusing the results of
// these tests after a change of one of them.
func Sources(t *testing.T) {
	t.Helper()
	const files = `{{$dir := .Dir}}{{if .Module}}{{if .Module.Main}}{{range .GoFiles}}{{$dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{end}}{{end}}`
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", files, program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// Covered returns the environment in which a program writes its coverage, if it is measured.
func Covered() []string {
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		return []string{"GOCOVERDIR=" + dir}
	}
	return nil
}
