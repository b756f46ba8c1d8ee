package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
)

// mutedScanner rejects files with "shapeless" in them and names no rule, and
// otherwise names one rule that has "unparsable" in its id. It counts its runs.
func mutedScanner(t *testing.T) (scanner string, runs func() int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "runs")
	scanner = fakeScanner(t, `for f; do :; done
echo run >> `+log+`
if grep -q shapeless "$f"; then echo "[ERROR] Invalid rule schema in $f" >&2; exit 7; fi
id=$(grep -o 'unparsable[0-9]*' "$f" | head -1)
if [ -n "$id" ]; then echo "[ERROR] Rule parse error in rule $id: no pattern" >&2; exit 7; fi
`)
	return scanner, func() int {
		text, _ := os.ReadFile(log)
		return strings.Count(string(text), "run")
	}
}

// TestRulesThatTheScannerDoesNotName are found by their parts: all are told at
// once with their files, beside those that it names, or the rest is taken.
func TestRulesThatTheScannerDoesNotName(t *testing.T) {
	files, good := map[string]string{}, 0
	for i := range 8 {
		text := "rules:\n"
		for j := range 5 {
			id := fmt.Sprintf("good%d%d", i, j)
			switch n := i*10 + j; n {
			case 21, 24, 70:
				id = fmt.Sprint("shapeless", n)
			case 13, 71:
				id = fmt.Sprint("unparsable", n)
			default:
				good++
			}
			text += strings.TrimPrefix(ruleText(id, "x"), "rules:\n")
		}
		files[fmt.Sprintf("f%d.yaml", i)] = text
	}
	dir := rulesIn(t, files)
	a := &app{ctx: t.Context(), out: t.Output(), err: t.Output(), clock: time.Now}
	for _, skip := range []bool{false, true} {
		scanner, runs := mutedScanner(t)
		set, err := readRules([]string{dir}, skip)
		if err != nil {
			t.Fatal(err)
		}
		checked, err := policiesAddRulesCmd{Semgrep: scanner, Skip: skip}.check(a, set)
		var faults []string
		for _, f := range set.left {
			faults = append(faults, filepath.Base(f.Location)+": "+f.Message)
		}
		slices.Sort(faults)
		told := strings.Join(faults, "\n")
		for _, want := range []string{
			"f1.yaml: the scanner rejects the rule unparsable13: no pattern", "f7.yaml: the scanner rejects the rule unparsable71",
			"f2.yaml: the scanner rejects the rule shapeless21: [ERROR] Invalid rule schema in the rules", "f2.yaml: the scanner rejects the rule shapeless24", "f7.yaml: the scanner rejects the rule shapeless70",
		} {
			if !strings.Contains(told, want) {
				t.Errorf("skip %v: no %q in\n%s", skip, want, told)
			}
		}
		var invalid *redoubt.InvalidError
		if len(faults) != 5 || checked != skip || skip && (err != nil || len(set.rules) != good) || !skip && (!errors.As(err, &invalid) || len(invalid.Fields) != 5) {
			t.Errorf("skip %v: %v, %d of %d rules, %v\n%s", skip, checked, len(set.rules), good, err, told)
		}
		if n := runs(); n > 35 { // each rule by itself would be 40 and more
			t.Errorf("it runs the scanner %d times", n)
		}
	}
}

// TestSearchForBadRulesEnds where the scanner rejects all there is, which is no
// rule's fault, and where the runs do not suffice.
func TestSearchForBadRulesEnds(t *testing.T) {
	a := &app{ctx: t.Context(), out: t.Output(), err: t.Output(), clock: time.Now}
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("f%d.yaml", i)] = ruleText(fmt.Sprint("shapeless", i), "x")
	}
	dir := rulesIn(t, files)
	set, err := readRules([]string{dir}, true)
	if err != nil {
		t.Fatal(err)
	}
	scanner, runs := mutedScanner(t)
	bad := &badRulesError{errors.New("rejected"), "bad shape", map[string]string{}}
	search := ruleSearch{app: a, semgrep: scanner, left: 7}
	if err := search.find(set, bad); err != nil || len(bad.why) != 20 || runs() > 7 {
		t.Errorf("%v after %d runs: %v", err, runs(), bad.why)
	}
	broken := fakeScanner(t, "echo no memory >&2; exit 2\n")
	checked, err := policiesAddRulesCmd{Semgrep: broken, Skip: true}.check(a, set)
	if checked || err == nil || !strings.Contains(err.Error(), "no memory") || len(set.rules) != 20 || len(set.left) != 0 {
		t.Errorf("a broken scanner: %v, %v, %d rules and %v", checked, err, len(set.rules), set.left)
	}
}
