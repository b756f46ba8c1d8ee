package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	tests := []struct {
		name   string
		events []string
		want   string
	}{
		{
			name: "tests and subtests that pass are counted and leave only the package's line",
			events: []string{
				`{"Action":"start","Package":"m/a"}`,
				`{"Action":"run","Package":"m/a","Test":"TestX"}`,
				`{"Action":"output","Package":"m/a","Test":"TestX","Output":"=== RUN   TestX\n"}`,
				`{"Action":"output","Package":"m/a","Test":"TestX","Output":"    x_test.go:3: chatter\n"}`,
				`{"Action":"pass","Package":"m/a","Test":"TestX/sub"}`,
				`{"Action":"pass","Package":"m/a","Test":"TestX"}`,
				`{"Action":"pass","Package":"m/a","Elapsed":1.5}`,
			},
			want: "ok       1.50s  m/a\n\nslowest:\n\n2 passed, 0 failed, 0 skipped\n",
		},
		{
			name: "a failing test says why, a passing one beside it is quiet",
			events: []string{
				`{"Action":"output","Package":"m/a","Test":"TestX","Output":"=== RUN   TestX\n"}`,
				`{"Action":"output","Package":"m/a","Test":"TestX","Output":"    x_test.go:3: got 1\n"}`,
				`{"Action":"output","Package":"m/a","Test":"TestY","Output":"    x_test.go:9: quiet\n"}`,
				`{"Action":"output","Package":"m/a","Test":"TestX","Output":"        want 2\n"}`,
				`{"Action":"output","Package":"m/a","Test":"TestX","Output":"--- FAIL: TestX (0.00s)\n"}`,
				`{"Action":"fail","Package":"m/a","Test":"TestX"}`,
				`{"Action":"pass","Package":"m/a","Test":"TestY"}`,
				`{"Action":"output","Package":"m/a","Output":"FAIL\n"}`,
				`{"Action":"fail","Package":"m/a","Elapsed":0.25}`,
			},
			want: "--- FAIL: m/a TestX\n" +
				"        x_test.go:3: got 1\n" +
				"            want 2\n" +
				"FAIL     0.25s  m/a\n" +
				"\nslowest:\n\n1 passed, 1 failed, 0 skipped\n",
		},
		{
			name: "a package that does not build is one failure, with what the compiler said",
			events: []string{
				`{"ImportPath":"m/a [m/a.test]","Action":"build-output","Output":"a.go:1:2: undefined: b\n"}`,
				`{"ImportPath":"m/a [m/a.test]","Action":"build-fail"}`,
				`{"Action":"output","Package":"m/a","Output":"FAIL\tm/a [build failed]\n"}`,
				`{"Action":"fail","Package":"m/a","FailedBuild":"m/a [m/a.test]"}`,
			},
			want: "FAIL     0.00s  m/a\n    a.go:1:2: undefined: b\n    FAIL\tm/a [build failed]\n\nslowest:\n\n0 passed, 1 failed, 0 skipped\n",
		},
		{
			name: "a package that fails after its tests passed is a failure, with its own output",
			events: []string{
				`{"Action":"pass","Package":"m/a","Test":"TestX"}`,
				`{"Action":"output","Package":"m/a","Output":"found unexpected goroutines\n"}`,
				`{"Action":"fail","Package":"m/a"}`,
			},
			want: "FAIL     0.00s  m/a\n    found unexpected goroutines\n\nslowest:\n\n1 passed, 1 failed, 0 skipped\n",
		},
		{
			name:   "a skipped test is listed with its reason",
			events: oneSkipped,
			want: "ok       0.00s  m/a\n" +
				"\nskipped:\n" +
				"  m/a TestX: x_test.go:3: no PostgreSQL here\n" +
				"\nslowest:\n\n1 passed, 0 failed, 1 skipped\n",
		},
		{
			name:   "a skip without a reason is listed",
			events: []string{`{"Action":"pass","Package":"m/a","Test":"TestY"}`, `{"Action":"skip","Package":"m/a","Test":"TestX"}`},
			want:   "\nskipped:\n  m/a TestX: \n\nslowest:\n\n1 passed, 0 failed, 1 skipped\n",
		},
		{
			name:   "a package without test files is neither run nor skipped, and leaves no line",
			events: []string{`{"Action":"skip","Package":"m/a"}`},
			want:   "\nslowest:\n\n0 passed, 0 failed, 0 skipped\n",
		},
		{
			name:   "the ten slowest tests are named, the slowest first, each with its parts",
			events: elevenTimed,
			want: "\nslowest:\n    12.50s  m/a TestB\n" + "     9.00s  m/a TestJ\n" + "     8.00s  m/a TestI\n" + "     7.00s  m/a TestH\n" + "     6.00s  m/a TestG\n" +
				"     5.00s  m/a TestF\n" + "     4.00s  m/a TestE\n" + "     3.00s  m/a TestD\n" + "     2.00s  m/a TestC\n" + "     1.00s  m/a TestA\n" +
				"\n12 passed, 0 failed, 0 skipped\n",
		},
		{
			name:   "other lines are passed on",
			events: []string{"go: no such tool", `{"Action":"pass","Package":"m/a","Test":"TestX"}`, `{not json`},
			want:   "go: no such tool\n{not json\n\nslowest:\n\n1 passed, 0 failed, 0 skipped\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			r := report{out: &out, output: map[string]string{}, failedIn: map[string]bool{}}
			if err := r.read(strings.NewReader(strings.Join(tt.events, "\n"))); err != nil {
				t.Fatal(err)
			}
			r.print()
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStatus runs the program and checks its exit status.
func TestStatus(t *testing.T) {
	program := filepath.Join(t.TempDir(), "testreport")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	passed, failed := `{"Action":"pass","Package":"m/a","Test":"TestX"}`, `{"Action":"fail","Package":"m/a","Test":"TestY"}`
	for _, tt := range []struct {
		name    string
		events  []string
		noSkips bool
		want    int
	}{
		{"passed", []string{passed}, true, 0},
		{"one skipped", oneSkipped, false, 0},
		{"one skipped with -no-skips", oneSkipped, true, 1},
		{"one failed", []string{passed, failed}, false, 1},
		{"a package failed", []string{passed, `{"Action":"fail","Package":"m/a"}`}, false, 1},
		{"no test ran", []string{`{"Action":"skip","Package":"m/a"}`}, false, 1},
	} {
		run := exec.CommandContext(t.Context(), program, fmt.Sprintf("-no-skips=%v", tt.noSkips))
		run.Stdin = strings.NewReader(strings.Join(tt.events, "\n"))
		out, err := run.CombinedOutput()
		if got := run.ProcessState.ExitCode(); got != tt.want {
			t.Errorf("%s: status %d, want %d: %v\n%s", tt.name, got, tt.want, err, out)
		}
	}
}

var oneSkipped = []string{
	`{"Action":"output","Package":"m/a","Test":"TestX","Output":"=== RUN   TestX\n"}`,
	`{"Action":"output","Package":"m/a","Test":"TestX","Output":"    x_test.go:3: no PostgreSQL here\n"}`,
	`{"Action":"output","Package":"m/a","Test":"TestX","Output":"--- SKIP: TestX (0.00s)\n"}`,
	`{"Action":"skip","Package":"m/a","Test":"TestX"}`,
	`{"Action":"pass","Package":"m/a","Test":"TestY"}`,
	`{"Action":"pass","Package":"m/a"}`,
}

var elevenTimed = []string{
	`{"Action":"pass","Package":"m/a","Test":"TestA","Elapsed":1}`,
	`{"Action":"pass","Package":"m/a","Test":"TestB/part","Elapsed":12.25}`,
	`{"Action":"pass","Package":"m/a","Test":"TestB","Elapsed":12.5}`,
	`{"Action":"pass","Package":"m/a","Test":"TestC","Elapsed":2}`,
	`{"Action":"pass","Package":"m/a","Test":"TestD","Elapsed":3}`,
	`{"Action":"pass","Package":"m/a","Test":"TestE","Elapsed":4}`,
	`{"Action":"pass","Package":"m/a","Test":"TestF","Elapsed":5}`,
	`{"Action":"pass","Package":"m/a","Test":"TestG","Elapsed":6}`,
	`{"Action":"pass","Package":"m/a","Test":"TestH","Elapsed":7}`,
	`{"Action":"pass","Package":"m/a","Test":"TestI","Elapsed":8}`,
	`{"Action":"pass","Package":"m/a","Test":"TestJ","Elapsed":9}`,
	`{"Action":"pass","Package":"m/a","Test":"TestFast","Elapsed":0.5}`,
}

// TestReportBrokenStream checks that a truncated stream is an error, not a short successful run.
func TestReportBrokenStream(t *testing.T) {
	broken := errors.New("pipe broke")
	r := report{out: io.Discard}
	if err := r.read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("read = %v, want %v", err, broken)
	}
}
