package imports

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// silentReport returns a report of semgrep without login about the lines of a file that call eval.
func silentReport(path, text string) string {
	var results []reporttest.Result
	offset := 0
	for i, line := range strings.SplitAfter(text, "\n") {
		if at := strings.Index(line, "eval("); at >= 0 {
			end := at + strings.Index(line[at:], ")") + 1
			results = append(results, reporttest.Result{
				Rule: "no-eval", Path: path, Line: i + 1, Column: at + 1, EndColumn: end + 1, Offset: offset + at, Message: "no eval",
			})
		}
		offset += len(line)
	}
	return string(reporttest.SemgrepOf([]string{path}, results...))
}

// TestImportWithCheckout imports reports without code in their checkout. A line inserted above
// another is new, and the other keeps its identity. If the code may differ from the scanned code,
// the import reports why.
func TestImportWithCheckout(t *testing.T) {
	const was, is = "f();\neval(aa);\neval(bb);\n", "eval(xx);\nf();\neval(aa);\neval(bb);\n"
	for _, engine := range []string{"sqlite", "postgres"} {
		for name, test := range map[string]struct {
			folder  string // in which the scanner and the import run
			commit  string // of the second report; empty means the one that is checked out
			change  func(w *importer)
			new     int
			message string
		}{
			"in the checkout":   {"", "", nil, 1, ""},
			"in a folder of it": {"lib", "", nil, 1, ""},
			"with lockfiles of before": {"", "", func(w *importer) {
				w.write("package-lock.json", npmLock("lodash"))
				w.age("package-lock.json", -time.Hour)
			}, 1, ""},
			"of another commit":             {"", strings.Repeat("a", 40), nil, 3, strings.Repeat("a", 40)},
			"of a commit without a flag":    {"", "-", nil, 3, "--commit"},
			"a file that was edited since":  {"", "", func(w *importer) { w.write("src/a.js", is+"g();\n") }, 3, "src/a.js"},
			"a file that was written since": {"", "", func(w *importer) { w.age("src/a.js", time.Minute) }, 3, "src/a.js"},
			"a file of two places":          {"lib", "", func(w *importer) { w.write("../src/a.js", is); w.commit() }, 3, "lib/src/a.js"},
			"a link": {"", "", func(w *importer) {
				if err := errors.Join(os.Rename("src/a.js", "b.js"), os.Symlink("../b.js", "src/a.js")); err != nil {
					w.Fatal(err)
				}
				w.commit()
			}, 3, "not found in the commit"},
		} {
			t.Run(engine+": "+name, func(t *testing.T) {
				w := newImporter(t, engine)
				w.git("init", "-q", ".")
				w.write(filepath.Join(test.folder, "src/a.js"), was)
				if test.folder != "" {
					t.Chdir(test.folder)
				}
				w.commit()
				w.write("first.json", silentReport("src/a.js", was))
				if out, messages, exit := w.run(Command{Commit: w.git("rev-parse", "HEAD")}, "first.json"); exit != 0 || len(out.Imports) != 1 || out.Imports[0].New != 2 || messages != "" {
					t.Fatalf("%+v, %s", out, messages)
				}
				w.write("src/a.js", is)
				w.commit()
				w.write("second.json", silentReport("src/a.js", is))
				files := []string{"second.json"}
				if test.change != nil {
					test.change(w)
				}
				if _, err := os.Stat("package-lock.json"); err == nil {
					files = append(files, "package-lock.json")
				}
				commit := cmp.Or(test.commit, w.git("rev-parse", "HEAD"))
				out, messages, exit := w.run(Command{Commit: strings.TrimPrefix(commit, "-")}, files...)
				if exit != 0 || len(out.Imports) == 0 {
					t.Fatalf("%+v, %s", out, messages)
				}
				s := out.Imports[0]
				if remaining := s.Changed + s.Unchanged; s.New != test.new || remaining != (3-test.new) {
					t.Errorf("%d new and %d kept: %s", s.New, remaining, fmt.Sprint(s))
				}
				if !strings.Contains(messages, test.message) || (messages == "") != (test.message == "") {
					t.Errorf("said is %q, want %q", messages, test.message)
				}
			})
		}
	}
}

// TestImportReadsCodeFromCheckout checks that code is read for a shortened commit and for a root of
// another machine, and that the full commit is stored.
func TestImportReadsCodeFromCheckout(t *testing.T) {
	const text = "eval(aa);\n"
	for name, test := range map[string]struct {
		change  func(c *Command)
		message string
	}{
		"a short commit":            {func(c *Command) { c.Commit = c.Commit[:8] }, ""},
		"a root of another machine": {func(c *Command) { c.Root = "/builds/of/another/machine" }, ""},
		"the root that it is":       {func(c *Command) { c.Root = "." }, ""},
		"a branch":                  {func(c *Command) { c.Commit = "HEAD" }, "HEAD"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newImporter(t, "sqlite")
			w.git("init", "-q", ".")
			w.write("src/a.js", text)
			w.commit()
			w.write("first.json", silentReport("src/a.js", text))
			full := w.git("rev-parse", "HEAD")
			c := Command{Commit: full}
			test.change(&c)
			if _, messages, exit := w.run(c, "first.json"); exit != 0 || !strings.Contains(messages, test.message) || (messages == "") != (test.message == "") {
				t.Errorf("said is %q, want %q", messages, test.message)
			}
		})
	}
}

func (w *importer) git(args ...string) string {
	w.Helper()
	args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)
	out, err := exec.CommandContext(w.Context(), "git", args...).CombinedOutput()
	if err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits all files.
func (w *importer) commit() {
	w.Helper()
	w.git("add", "-A", ":/")
	w.git("commit", "-q", "-m", "a change")
}

// age sets the modification time of a file relative to now.
func (w *importer) age(name string, by time.Duration) {
	w.Helper()
	if err := os.Chtimes(name, time.Time{}, time.Now().Add(by)); err != nil {
		w.Fatal(err)
	}
}
