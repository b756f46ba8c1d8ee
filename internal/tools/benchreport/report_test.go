package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const run = `goos: linux
goarch: amd64
pkg: example.com/bench
BenchmarkDeployment/10000_findings/page/100/all-2         	    1226	    325995 ns/op	         2.665 x-limit
BenchmarkDeployment/10000_findings/load-2                 	       3	 160854006 ns/op	     62081 findings/s	         2.599 x-limit
BenchmarkSelect/count                                     	   10000	        12.25 ns/op	       0 B/op
    some_test.go:7: BenchmarkSelect says something
PASS
ok  	example.com/bench	29.079s
`

const table = `
| benchmark                              | time  | x-limit | also             |
|----------------------------------------|-------|---------|------------------|
| Deployment/10000 findings/page/100/all | 326µs | 2.67    |                  |
| Deployment/10000 findings/load         | 161ms | 2.60    | 62081 findings/s |
| Select/count                           | 12ns  |         | 0 B/op           |
`

func read(t *testing.T, output string) report {
	t.Helper()
	var r report
	if err := r.read(strings.NewReader(output)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTable(t *testing.T) {
	r := read(t, run)
	if diff := cmp.Diff(table, r.table()); diff != "" || r.failed {
		t.Errorf("failed %v, table (-want +got):\n%s", r.failed, diff)
	}
}

func TestFailures(t *testing.T) {
	for line, want := range map[string]bool{
		"--- FAIL: BenchmarkX":                true,
		"    --- FAIL: BenchmarkX/y-2":        true,
		"FAIL\texample.com/bench\t0.1s":       true,
		"FAIL":                                true,
		"FAIL example.com/x [build failed]":   true,
		"--- SKIP: BenchmarkX":                false,
		"ok  \texample.com/bench\t0.1s":       false,
		"    x_test.go:1: FAIL is in a note":  false,
		"BenchmarkFAIL-2  10  10 ns/op 0 B/s": false,
	} {
		if got := read(t, line+"\n").failed; got != want {
			t.Errorf("%q: failed %v", line, got)
		}
	}
}

// A line that is cut off or odd is no row.
func TestOddLines(t *testing.T) {
	for _, line := range []string{"", "BenchmarkX-2", "BenchmarkX-2  10", "BenchmarkX-2 10 fast ns/op", "Benchmarks are run 3 times"} {
		if r := read(t, line+"\n"); len(r.rows) != 0 {
			t.Errorf("%q: rows %q", line, r.rows)
		}
	}
}
