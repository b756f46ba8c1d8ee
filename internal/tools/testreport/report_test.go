package main

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	tests := []struct {
		name    string
		events  []string
		noSkips bool
		ok      bool
		want    string
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
			ok:   true,
			want: "ok       1.50s  m/a\n\n2 passed, 0 failed, 0 skipped\n",
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
				"\n1 passed, 1 failed, 0 skipped\n",
		},
		{
			name: "a package that does not build is one failure, with what the compiler said",
			events: []string{
				`{"ImportPath":"m/a [m/a.test]","Action":"build-output","Output":"a.go:1:2: undefined: b\n"}`,
				`{"ImportPath":"m/a [m/a.test]","Action":"build-fail"}`,
				`{"Action":"output","Package":"m/a","Output":"FAIL\tm/a [build failed]\n"}`,
				`{"Action":"fail","Package":"m/a","FailedBuild":"m/a [m/a.test]"}`,
			},
			want: "FAIL     0.00s  m/a\n    a.go:1:2: undefined: b\n\n0 passed, 1 failed, 0 skipped\n",
		},
		{
			name: "a package that fails after its tests passed is a failure, with its own output",
			events: []string{
				`{"Action":"pass","Package":"m/a","Test":"TestX"}`,
				`{"Action":"output","Package":"m/a","Output":"found unexpected goroutines\n"}`,
				`{"Action":"fail","Package":"m/a"}`,
			},
			want: "FAIL     0.00s  m/a\n    found unexpected goroutines\n\n1 passed, 1 failed, 0 skipped\n",
		},
		{
			name:   "a skipped test is listed with its reason",
			events: oneSkipped,
			ok:     true,
			want: "ok       0.00s  m/a\n" +
				"\nskipped:\n" +
				"  m/a TestX: x_test.go:3: no PostgreSQL here\n" +
				"\n1 passed, 0 failed, 1 skipped\n",
		},
		{
			name:    "with -no-skips a skipped test fails the run",
			events:  oneSkipped,
			noSkips: true,
			want: "ok       0.00s  m/a\n" +
				"\nskipped:\n" +
				"  m/a TestX: x_test.go:3: no PostgreSQL here\n" +
				"No test may be skipped here: give it what it needs (scripts/setup installs it), or remove it.\n" +
				"\n1 passed, 0 failed, 1 skipped\n",
		},
		{
			name:   "a skip without a reason says so",
			events: []string{`{"Action":"pass","Package":"m/a","Test":"TestY"}`, `{"Action":"skip","Package":"m/a","Test":"TestX"}`},
			ok:     true,
			want:   "\nskipped:\n  m/a TestX: no reason given\n\n1 passed, 0 failed, 1 skipped\n",
		},
		{
			name:   "a package without test files is neither run nor skipped, and no test at all is a failure",
			events: []string{`{"Action":"skip","Package":"m/a"}`},
			want:   "No test ran.\n\n0 passed, 0 failed, 0 skipped\n",
		},
		{
			name:   "the ten slowest tests are named, the slowest first, each with its parts",
			events: elevenTimed,
			ok:     true,
			want: "\nslowest:\n    12.50s  m/a TestB\n" + "     9.00s  m/a TestJ\n" + "     8.00s  m/a TestI\n" + "     7.00s  m/a TestH\n" + "     6.00s  m/a TestG\n" +
				"     5.00s  m/a TestF\n" + "     4.00s  m/a TestE\n" + "     3.00s  m/a TestD\n" + "     2.00s  m/a TestC\n" + "     1.00s  m/a TestA\n" +
				"\n12 passed, 0 failed, 0 skipped\n",
		},
		{
			name:   "what is no event is passed on",
			events: []string{"go: no such tool", `{"Action":"pass","Package":"m/a","Test":"TestX"}`, `{not json`},
			ok:     true,
			want:   "go: no such tool\n{not json\n\n1 passed, 0 failed, 0 skipped\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(strings.NewReader(strings.Join(tt.events, "\n"))); err != nil {
				t.Fatal(err)
			}
			if ok := r.finish(tt.noSkips); ok != tt.ok {
				t.Errorf("finish(%v) = %v, want %v", tt.noSkips, ok, tt.ok)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
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

// A stream that breaks off must not be reported as a short run in which all is well.
func TestReportBrokenStream(t *testing.T) {
	broken := errors.New("pipe broke")
	if err := newReport(&strings.Builder{}).read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("read = %v, want %v", err, broken)
	}
}
