package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json`, as `go doc test2json` describes it.
type event struct {
	Action      string
	Package     string
	ImportPath  string // in place of Package for build-output and build-fail
	Test        string // empty for what concerns the package
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string  // for a package's fail: the ImportPath that did not build
}

// testName names a test, or with an empty test the package itself.
type testName struct{ pkg, test string }

func (n testName) String() string { return n.pkg + " " + n.test }

// skip is a test that was not run, and why.
type skip struct {
	name   testName
	reason string
}

// slowest is how many tests are named with their time at the end.
const slowest = 10

// timed is a test and the seconds that it ran.
type timed struct {
	name    testName
	seconds float64
}

// report sums up a stream of events. Output of a test is kept only until the test ends, so memory follows what is running.
type report struct {
	out    io.Writer
	output map[testName]*strings.Builder
	builds map[string]*strings.Builder // by ImportPath

	passed, failed int
	skips          []skip
	times          []timed         // of tests that are no part of another
	failedIn       map[string]bool // packages in which a test failed
}

func newReport(out io.Writer) *report {
	return &report{
		out:      out,
		output:   map[testName]*strings.Builder{},
		builds:   map[string]*strings.Builder{},
		failedIn: map[string]bool{},
	}
}

// read takes in events up to the end of the stream. A line that is no event is passed on as it is: go test prints such lines
// when it cannot start.
func (r *report) read(stream io.Reader) error {
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) line(line []byte) {
	var e event
	if line[0] != '{' || json.Unmarshal(line, &e) != nil {
		fmt.Fprintf(r.out, "%s\n", strings.TrimRight(string(line), "\n"))
		return
	}
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "output":
		appendTo(r.output, name, e.Output)
	case "build-output":
		appendTo(r.builds, e.ImportPath, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(name, e.Action)
			if !strings.Contains(e.Test, "/") && e.Elapsed > 0 {
				r.times = append(r.times, timed{name, e.Elapsed})
			}
		}
		delete(r.output, name)
	}
}

func appendTo[K comparable](outputs map[K]*strings.Builder, key K, text string) {
	if outputs[key] == nil {
		outputs[key] = &strings.Builder{}
	}
	outputs[key].WriteString(text)
}

func (r *report) endTest(name testName, action string) {
	switch action {
	case "pass":
		r.passed++
	case "skip":
		r.skips = append(r.skips, skip{name, reason(r.text(name))})
	case "fail":
		r.failed++
		r.failedIn[name.pkg] = true
		fmt.Fprintf(r.out, "--- FAIL: %s\n%s", name, indent(r.text(name)))
	}
}

// endPackage prints a package's line. A package can fail though no test of it did (it does not build, TestMain fails, a
// goroutine panics after the last test): that counts as one failure, and its own output is all there is to explain it.
func (r *report) endPackage(e event) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.out, "ok    %7.2fs  %s\n", e.Elapsed, e.Package)
	case "fail":
		fmt.Fprintf(r.out, "FAIL  %7.2fs  %s\n", e.Elapsed, e.Package)
		if r.failedIn[e.Package] {
			return
		}
		r.failed++
		if build := r.builds[e.FailedBuild]; build != nil {
			fmt.Fprint(r.out, indent(build.String()))
		}
		fmt.Fprint(r.out, indent(r.text(testName{pkg: e.Package})))
	}
}

// text is what a test printed so far.
func (r *report) text(name testName) string {
	if r.output[name] == nil {
		return ""
	}
	return r.output[name].String()
}

// finish prints the skipped tests and the closing line, and tells whether all is well.
func (r *report) finish(noSkips bool) bool {
	slices.SortFunc(r.skips, func(a, b skip) int { return strings.Compare(a.name.String(), b.name.String()) })
	if len(r.skips) > 0 {
		fmt.Fprintln(r.out, "\nskipped:")
	}
	for _, s := range r.skips {
		fmt.Fprintf(r.out, "  %s: %s\n", s.name, s.reason)
	}
	if noSkips && len(r.skips) > 0 {
		fmt.Fprintln(r.out, "No test may be skipped here: give it what it needs (scripts/setup installs it), or remove it.")
	}
	ran := r.passed + r.failed
	if ran == 0 {
		fmt.Fprintln(r.out, "No test ran.")
	}
	r.printSlowest()
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, len(r.skips))
	return r.failed == 0 && ran > 0 && (!noSkips || len(r.skips) == 0)
}

// printSlowest names the tests that took longest, the parts of a test counted with it. A test that runs beside others waits
// for the processor too, so the times say where to look, not what a test costs.
func (r *report) printSlowest() {
	if len(r.times) == 0 {
		return
	}
	slices.SortStableFunc(r.times, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintln(r.out, "\nslowest:")
	for _, t := range r.times[:min(slowest, len(r.times))] {
		fmt.Fprintf(r.out, "  %7.2fs  %s\n", t.seconds, t.name)
	}
}

// reason is what a skipped test said: its output without the lines that go test wraps around it.
func reason(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !isFrame(line) {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}

// isFrame tells the lines that go test prints itself about a test's run.
func isFrame(line string) bool {
	return strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") || line == "FAIL" || strings.HasPrefix(line, "FAIL\t")
}

// indent sets a test's own words apart, without the lines that go test wraps around them.
func indent(output string) string {
	var text strings.Builder
	for line := range strings.Lines(output) {
		if !isFrame(strings.TrimSpace(line)) {
			text.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	return text.String()
}
