// Testreport reads `go test -json` and prints a line per package, the output of failed tests, and
// the skipped tests. It ends with the ten slowest tests and "N passed, N failed, N skipped". The
// exit status is 1 if a test failed, no test ran, or, with -no-skips, a test was skipped.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// event is one line of `go test -json`, as `go doc test2json` describes it.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // in place of Package, for a build
	FailedBuild                   string // ImportPath of the build that failed a package
	Elapsed                       float64
}

// name returns the name of a test, a package or a build.
func (e event) name() string { return strings.TrimSpace(e.Package + e.ImportPath + " " + e.Test) }

// report is the state of the report.
type report struct {
	out            io.Writer
	output         map[string]string // output by name, until the test ends
	failedIn       map[string]bool   // packages with a failed test
	passed, failed int
	skipped        []string
	timed          []event // top-level tests
}

func main() {
	noSkips := flag.Bool("no-skips", false, "fail when a test was skipped")
	flag.Parse()
	r := report{out: os.Stdout, output: map[string]string{}, failedIn: map[string]bool{}}
	err := r.read(os.Stdin)
	if err != nil {
		fmt.Fprintf(os.Stderr, "testreport: reading the output of go test: %v\n", err)
	}
	if *noSkips && len(r.skipped) > 0 {
		fmt.Println("No test may be skipped here: give it what it needs (scripts/setup installs it), or remove it.")
	}
	r.print()
	if err != nil || r.passed == 0 || r.failed > 0 || *noSkips && len(r.skipped) > 0 {
		os.Exit(1)
	}
}

// read reads all events. Other lines, such as errors of go test, are printed.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(r.out, lines.Text())
			continue
		}
		r.add(e)
		if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
			delete(r.output, e.name())
		}
	}
	return lines.Err()
}

func (r *report) add(e event) {
	name := e.name()
	switch {
	case strings.HasPrefix(e.Output, "=== ") || strings.HasPrefix(strings.TrimSpace(e.Output), "--- "):
	case e.Action == "output", e.Action == "build-output":
		r.output[name] += "    " + e.Output
	case e.Test == "":
		r.endPackage(e)
	case e.Action == "pass":
		r.passed++
	case e.Action == "skip":
		r.skipped = append(r.skipped, name+": "+strings.Join(strings.Fields(r.output[name]), " "))
	case e.Action == "fail":
		r.failed++
		r.failedIn[e.Package] = true
		fmt.Fprintf(r.out, "--- FAIL: %s\n%s", name, r.output[name])
	}
	if e.Elapsed > 0 && e.Test != "" && !strings.Contains(e.Test, "/") {
		r.timed = append(r.timed, e)
	}
}

// endPackage prints a package's line. A package that fails without a failed test, such as a failed
// build, counts as one failure and is printed with its output.
func (r *report) endPackage(e event) {
	if e.Action != "pass" && e.Action != "fail" {
		return
	}
	fmt.Fprintf(r.out, "%-4s  %7.2fs  %s\n",
		map[string]string{"pass": "ok", "fail": "FAIL"}[e.Action], e.Elapsed, e.Package)
	if e.Action == "fail" && !r.failedIn[e.Package] {
		r.failed++
		fmt.Fprint(r.out, r.output[e.FailedBuild], r.output[e.Package])
	}
}

// print prints the summary.
func (r *report) print() {
	if slices.Sort(r.skipped); len(r.skipped) > 0 {
		fmt.Fprintf(r.out, "\nskipped:\n  %s\n", strings.Join(r.skipped, "\n  "))
	}
	slices.SortStableFunc(r.timed, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	fmt.Fprintln(r.out, "\nslowest:")
	for _, e := range r.timed[:min(10, len(r.timed))] {
		fmt.Fprintf(r.out, "  %7.2fs  %s\n", e.Elapsed, e.name())
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, len(r.skipped))
}
