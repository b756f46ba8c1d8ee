package rulefiles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/scannertest"
)

// rulesIn writes files of rules to a new directory.
func rulesIn(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "pack")
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ruleText(id, pattern string) string {
	return "rules:\n- {id: " + id + ", languages: [python], severity: ERROR, message: m, pattern: " + pattern + "}\n"
}

func idsOf(set *Set) (ids []string) {
	for _, r := range set.Rules {
		ids = append(ids, r.ID)
		if !strings.Contains(string(r.Text), strconv.Quote(r.ID)) {
			ids = append(ids, "another id in its text")
		}
	}
	slices.Sort(ids)
	return ids
}

// TestIDsOfSeveralFiles checks which ids are prefixed with their path. They match those of a
// scanner that runs in the same directory with the same arguments.
func TestIDsOfSeveralFiles(t *testing.T) {
	dir := rulesIn(t, map[string]string{
		"a/x.yaml": ruleText("twice", "x"), "b/deep er/y.yml": ruleText("twice", "y"), "b/z.yaml": ruleText("once", "z"),
		"c/one.yaml": ruleText("same", "s"), "c/two.yaml": ruleText("same", "s"),
	})
	above := filepath.Dir(dir)
	prefix := strings.TrimLeft(strings.ReplaceAll(filepath.ToSlash(above), "/", "."), ".") + "."
	for _, from := range []struct {
		folder, before string
		names          []string
	}{
		{above, "pack.", []string{"pack"}},
		{above, "pack.", []string{"./pack/"}},
		{above, "pack.", []string{dir}},
		{above, "pack.", []string{"pack/a", "pack/b", "pack/c"}},
		{above, "pack.", []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")}},
		{above, "pack.", []string{filepath.Join(dir, "a/x.yaml"), "pack/b", dir + "/c"}},
		{dir, "", []string{"."}},
		{dir, "", []string{dir}},
		{dir, "", []string{"a/x.yaml", filepath.Join(dir, "b"), "c"}},
		{dir, "pack.", []string{"../pack/"}},
		{filepath.Join(dir, "a"), "", []string{".."}},
		{"/", prefix + "pack.", []string{dir}},
	} {
		t.Chdir(from.folder)
		want := []string{from.before + "a.twice", from.before + "b.deeper.twice", from.before + "c.same", "once"}
		slices.Sort(want)
		set, err := Read(from.names, false)
		if err != nil || !slices.Equal(idsOf(set), want) {
			t.Errorf("%q from %s: %v, want %v, %v", from.names, from.folder, idsOf(set), want, err)
		}
	}
}

// TestIDsMatchScanner compares the ids with those of the real scanner for directories with
// absolute paths.
func TestIDsMatchScanner(t *testing.T) {
	semgrep := scannertest.Forked(t)
	dir := rulesIn(t, map[string]string{"js/x.yaml": ruleText("twice", "one"), "p y/x.yaml": ruleText("twice", "two"), "code.py": "one\ntwo\n"})
	t.Chdir(filepath.Dir(dir))
	names := []string{filepath.Join(dir, "js"), filepath.Join(dir, "p y")}
	set, err := Read(names, false)
	if err != nil {
		t.Fatal(err)
	}
	a := &command.App{Ctx: t.Context(), Out: t.Output(), Err: t.Output(), Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	out, complaints, err := runScanner(a, semgrep, filepath.Dir(dir), "--json", "--config", names[0], "--config", names[1], "pack/code.py")
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints)
	}
	var report struct {
		Results []struct {
			CheckID string `json:"check_id"`
		} `json:"results"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	scannerIDs := []string{}
	for _, r := range report.Results {
		scannerIDs = append(scannerIDs, r.CheckID)
	}
	slices.Sort(scannerIDs)
	if ours := idsOf(set); !slices.Equal(ours, scannerIDs) || !slices.Equal(ours, []string{"pack.js.twice", "pack.py.twice"}) {
		t.Errorf("ids are %q, those of the scanner %q", ours, scannerIDs)
	}
}

// TestInvalidRuleFiles checks that all faults are reported at once, or that invalid rules are
// omitted.
func TestInvalidRuleFiles(t *testing.T) {
	var bomb strings.Builder // a text of one megabyte, referenced 100 times in each of 100 rules
	bomb.WriteString("big: &big " + strings.Repeat("a", 1<<20) + "\nlist: &list [" + strings.Repeat("*big, ", 100) + "]\nrules:\n")
	for i := range 100 {
		fmt.Fprintf(&bomb, "- {id: bomb%d, languages: [python], severity: ERROR, message: m, pattern: x, metadata: {a: *list}}\n", i)
	}
	nest := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		nest += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9))
	}
	dir := rulesIn(t, map[string]string{
		"good.yaml": ruleText("good", "x"), "latin.yaml": "rules:\n- {id: l, message: \"\xe9\"}\n", "bomb.yaml": bomb.String(),
		"nest.yaml": nest + "rules: [*j]\n", "p/clash.yaml": ruleText("k", "one"), "p/clash2.yaml": ruleText("k", "two"), "empty.yaml": "",
		"half.yaml": ruleText("fine", "x") + "- {id: bad, languages: [python], severity: ERROR, pattern: x}\n",
	})
	t.Chdir(filepath.Dir(dir))
	began := time.Now()
	_, err := Read([]string{dir}, false)
	var invalid *model.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	for _, want := range []string{"latin.yaml: ", "bomb.yaml: rules[0].id", "bomb.yaml: rules[99].id", "nest.yaml: ", "p/clash2.yaml", "empty.yaml: ", "half.yaml: rules[1].message"} {
		if !slices.ContainsFunc(invalid.Fields, func(f model.FieldError) bool { return strings.Contains(f.Location, want) }) {
			t.Errorf("nothing is said of %s: %d faults", want, len(invalid.Fields))
		}
	}
	set, err := Read([]string{dir}, true)
	if err != nil || !slices.Equal(idsOf(set), []string{"fine", "good", "pack.p.k"}) || len(set.Left) != len(invalid.Fields) {
		t.Errorf("remaining files: %v with %d faults, %v", idsOf(set), len(set.Left), err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it takes %v", took)
	}
}

// TestManyRuleFiles reads 2,000 files of the size of public rules.
func TestManyRuleFiles(t *testing.T) {
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("%d/%d.yaml", i%40, i)] = ruleText(fmt.Sprint("r", i%1000), "x") + "  # " + strings.Repeat("why ", 400) + "\n"
	}
	set, err := Read([]string{rulesIn(t, files)}, false)
	if err != nil || len(set.Rules) != 1000 { // i and i+1000 are identical and in the same directory
		t.Errorf("%v, %v", len(set.Rules), err)
	}
}

// fakeScanner writes a shell script that replaces the scanner.
func fakeScanner(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "semgrep")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSkipInvalid checks that rules that the scanner rejects one per run are omitted, or all
// reported, with the names of the user's files.
func TestSkipInvalid(t *testing.T) {
	dir := rulesIn(t, map[string]string{"good.yaml": ruleText("good", "x"), "bad.yaml": ruleText("bad1", "x"), "worse.yaml": ruleText("bad2", "x"), "empty.yaml": ""})
	scanner := fakeScanner(t, `for f; do :; done
for id in bad1 bad2; do
  if grep -q "\"$id\"" "$f"; then echo "[ERROR] Rule parse error in rule $id:" >&2; echo "  Invalid pattern in $f" >&2; exit 7; fi
done
`)
	a := &command.App{Ctx: t.Context(), Out: t.Output(), Err: t.Output(), Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	for _, skip := range []bool{false, true} {
		set, err := Read([]string{dir}, true)
		if err != nil {
			t.Fatal(err)
		}
		checked, err := set.Check(a, scanner, skip)
		message := fmt.Sprint(err, set.Left)
		for _, want := range []string{"bad.yaml", "worse.yaml", "empty.yaml", "rule bad1: Invalid pattern in the rules", "rule bad2"} {
			if !strings.Contains(message, want) || strings.Contains(message, mergedFile) {
				t.Errorf("skip %v: %s", skip, message)
			}
		}
		if checked != skip || skip && (err != nil || !slices.Equal(idsOf(set), []string{"good"})) {
			t.Errorf("skip %v: %v, %v, %v", skip, checked, err, idsOf(set))
		}
	}
}

// TestInterruptStopsScanner checks that an interrupt also ends the child processes of the
// scanner.
func TestInterruptStopsScanner(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	scanner := fakeScanner(t, "sleep 600 &\necho $! > "+pid+".tmp\nmv "+pid+".tmp "+pid+"\nwait\n")
	ctx, interrupt := context.WithCancel(t.Context())
	a := &command.App{Ctx: ctx, Out: t.Output(), Err: t.Output(), Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	set, err := Read([]string{rulesIn(t, map[string]string{"good.yaml": ruleText("good", "x")})}, false)
	if err != nil {
		t.Fatal(err)
	}
	child := 0
	go func() {
		defer interrupt()
		for until := time.Now().Add(time.Minute); child == 0 && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
			text, _ := os.ReadFile(pid)
			child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
	}()
	_, err = set.Check(a, scanner, false)
	if err == nil || child == 0 {
		t.Fatalf("%v, child %d", err, child)
	}
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child)); errors.Is(syscall.Kill(child, 0), syscall.ESRCH) || err == nil && strings.Contains(string(text), ") Z ") {
			return
		}
	}
	t.Errorf("the program %d that the scanner started still runs", child)
}
