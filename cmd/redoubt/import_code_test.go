package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// silentReport is what semgrep writes of the lines of a file that call eval, where nobody
// is logged in.
func silentReport(t *testing.T, path, text string) string {
	t.Helper()
	results, offset := []any{}, 0
	for i, line := range strings.SplitAfter(text, "\n") {
		if at := strings.Index(line, "eval("); at >= 0 {
			end := at + strings.Index(line[at:], ")") + 1
			results = append(results, map[string]any{
				"check_id": "no-eval", "path": path,
				"start": map[string]any{"line": i + 1, "col": at + 1, "offset": offset + at}, "end": map[string]any{"line": i + 1, "col": end + 1, "offset": offset + end},
				"extra": map[string]any{"message": "no eval", "metadata": map[string]any{}, "severity": "ERROR", "fingerprint": "requires login", "lines": "requires login"},
			})
		}
		offset += len(line)
	}
	out, err := json.Marshal(map[string]any{"version": "1.180.0", "results": results, "errors": []any{}, "paths": map[string]any{"scanned": []string{path}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestImportBesideTheCheckout imports reports that tell no code, in the checkout that they
// are of: a line put above another is new, and that one stays who it was. Without the
// checkout, or where its files are others by now, nobody can say which is new.
func TestImportBesideTheCheckout(t *testing.T) {
	const was, is = "f();\neval(aa);\neval(bb);\n", "eval(xx);\nf();\neval(aa);\neval(bb);\n"
	for _, engine := range []string{"sqlite", "postgres"} {
		for name, test := range map[string]struct {
			git, since bool // the file was written since the second report was
			new, old   int
		}{
			"in the checkout":              {true, false, 1, 2},
			"no checkout":                  {false, false, 3, 0},
			"a file that was edited since": {true, true, 3, 0},
		} {
			t.Run(engine+": "+name, func(t *testing.T) {
				w := newImporter(t, engine)
				if test.git {
					if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", ".").CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
				w.write("src/a.js", was)
				w.write("first.json", silentReport(t, "src/a.js", was))
				if out, said, exit := w.run(importCmd{}, "first.json"); exit != 0 || len(out.Imports) != 1 || out.Imports[0].New != 2 {
					t.Fatalf("%+v, %s", out, said)
				}
				w.write("src/a.js", is)
				w.write("second.json", silentReport(t, "src/a.js", is))
				if test.since {
					if err := os.Chtimes("src/a.js", time.Time{}, time.Now().Add(time.Minute)); err != nil {
						t.Fatal(err)
					}
				}
				out, said, exit := w.run(importCmd{}, "second.json")
				if exit != 0 || len(out.Imports) != 1 {
					t.Fatalf("%+v, %s", out, said)
				}
				s := out.Imports[0]
				if kept := s.Changed + s.Unchanged; s.New != test.new || kept != test.old {
					t.Errorf("%d new and %d kept, want %d and %d: %s", s.New, kept, test.new, test.old, fmt.Sprint(s))
				}
			})
		}
	}
}
