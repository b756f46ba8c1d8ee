// Testreport makes the stream of `go test -json` readable and judges it: a line per package, the output of what failed, the
// tests that were skipped and why, the ten slowest, and last the line "N passed, N failed, N skipped".
//
// It exits with status 1 when anything failed, when no test ran at all, and, with -no-skips, when a test was skipped: in
// continuous integration a test that is not run must not look as if it had been checked.
//
// Border: it reads standard input and writes standard output; it starts no tests and knows nothing of this repository.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	noSkips := flag.Bool("no-skips", false, "fail when a test was skipped")
	flag.Parse()

	report := newReport(os.Stdout)
	if err := report.read(os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "testreport: reading the output of go test: %v\n", err)
		os.Exit(1)
	}
	if !report.finish(*noSkips) {
		os.Exit(1)
	}
}
