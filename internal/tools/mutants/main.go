// Mutants breaks the code on purpose, one place at a time, and asks the tests of the package whether they see it: conditions are
// turned around, comparisons moved by one, "and" made "or", statements left out. What no test sees is printed, unless reasons.tsv
// says why it does no harm, and the status is 1.
//
// All places of a package are compiled into one test binary, each behind a switch that the environment sets, so that one costs a
// run and no compilation. A first run tells which places the tests reach at all.
//
// Border: it starts `go test -c` and what that makes, in a folder of its own; the checkout is only read.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

func main() {
	only := flag.String("files", "", "only files whose name fits this pattern")
	tests := flag.String("tests", "", "only tests whose name fits this pattern: what passes them may still fail another")
	first := flag.String("first", "", "tests that are asked before all others: those that are likely to see it, which takes a fraction of the time")
	by := flag.String("by", "", "the folder whose tests are asked, where they are not beside the code")
	workers := flag.Int("workers", runtime.NumCPU(), "how many run at a time")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	reasons, err := readReasons(filepath.Join("internal", "tools", "mutants", "reasons.tsv"))
	if err == nil {
		err = run(flag.Args(), trial{by: *by, only: pattern, tests: *tests, first: *first, workers: *workers}, reasons)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run goes through the packages, which are folders of the checkout, and fails where
// something survived.
func run(folders []string, each trial, reasons map[string]string) error {
	survivors := 0
	for _, folder := range folders {
		t := each
		t.folder = filepath.Clean(folder)
		t.by = cmp.Or(t.by, t.folder)
		if err := t.run(); err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		survivors += t.report(reasons)
	}
	if survivors > 0 {
		return fmt.Errorf("%d places may be broken and no test sees it: test them, or say in reasons.tsv why not", survivors)
	}
	return nil
}

// report prints what survived a trial, and returns how many nobody gave a reason for.
func (t *trial) report(reasons map[string]string) (bare int) {
	slices.SortFunc(t.mutants, func(a, b *mutant) int { return cmp.Compare(a.n, b.n) })
	killed, excused, late := 0, 0, 0
	for _, m := range t.mutants {
		if m.late {
			late++
		}
		switch {
		case m.killed:
			killed++
		case reasons[m.key()] != "":
			excused++
		default:
			bare++
			how := "survived"
			if !m.reached {
				how = "not reached"
			}
			fmt.Printf("%s:%d: %s: %s\t%s\n", m.file, m.line, how, m.what, m.text)
		}
	}
	fmt.Printf("%s: %d mutants, %d killed (%d by never ending), %d survived with a reason, %d without\n", t.folder, len(t.mutants), killed, late, excused, bare)
	return bare
}

// readReasons reads lines of file, kind, line of code and reason, with tabs between.
func readReasons(name string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 4 {
			return nil, fmt.Errorf("%s: %q has not four cells", name, line)
		}
		out[strings.Join(cells[:3], "\t")] = cells[3]
	}
	return out, nil
}
