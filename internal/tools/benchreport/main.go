// Benchreport makes the output of `go test -bench` readable. It passes the
// lines on as they come, and ends with a table in Markdown: a row for each
// benchmark with its time, how many times as long as its limit that is, and
// what else it reports.
//
// It exits with status 1 when anything failed or nothing was measured: a table
// that misses rows must not look whole.
//
// Border: it reads standard input and writes standard output; it runs no
// benchmark and knows nothing of this repository.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	var r report
	if err := r.read(io.TeeReader(os.Stdin, os.Stdout)); err != nil {
		fmt.Fprintf(os.Stderr, "benchreport: reading the output of go test: %v\n", err)
		os.Exit(1)
	}
	fmt.Print(r.table())
	if r.failed || len(r.rows) == 0 {
		os.Exit(1)
	}
}
