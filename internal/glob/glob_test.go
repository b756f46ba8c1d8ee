package glob

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// TestMatchAgreesWithScannerExclusions compares Match with the recorded exclusions of the real
// scanner.
func TestMatchAgreesWithScannerExclusions(t *testing.T) {
	text, err := os.ReadFile("testdata/path_globs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case files == nil:
			files = fields[1:]
			continue
		}
		globs := model.PathGlobs{fields[0]}
		if err := globs.Check(); err != nil {
			t.Error(err)
		}
		got := slices.DeleteFunc(slices.Clone(files), func(path string) bool { return !Match(globs, path) })
		if diff := cmp.Diff(fields[1:], got); diff != "" {
			t.Errorf("%s (-scanner +ours):\n%s", fields[0], diff)
		}
	}
	if len(files) == 0 {
		t.Error("the record names no files")
	}
}

// TestMatchIncludesPathsInFolder checks that a glob that matches a folder matches every path in it.
func TestMatchIncludesPathsInFolder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab*?/\[\]!-]{1,8}`)
		globs := model.PathGlobs{word.Draw(t, "glob")}
		path := rapid.StringMatching(`[ab]{1,3}(/[ab]{1,3}){0,2}`).Draw(t, "path")
		if globs.Check() != nil {
			return
		}
		if Match(globs, path) && !Match(globs, path+"/x") {
			t.Errorf("%q fits %s and not %s/x", globs, path, path)
		}
	})
}

// TestNegatedEmptySetIsRejected checks that a negated empty set is rejected, even if another bracket
// follows.
func TestNegatedEmptySetIsRejected(t *testing.T) {
	for _, glob := range []string{"[!]", "[!]*", "a[^]]", "[^]b/[a]"} {
		if err := (model.PathGlobs{glob}).Check(); err == nil || expression(glob) != nil {
			t.Errorf("%q can be read, and is checked: %v", glob, err)
		}
	}
}

// TestPathGlobsAcceptCompilableBrackets checks that model.PathGlobs accepts exactly the globs whose
// brackets compile.
func TestPathGlobsAcceptCompilableBrackets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[ab\[\]!^ä/*-]{1,10}`).Draw(t, "glob")
		err := model.PathGlobs{glob}.Check()
		if err != nil && !strings.Contains(err.Error(), "brackets") {
			return
		}
		if readable := expression(glob) != nil; readable != (err == nil) {
			t.Errorf("%q can be read: %v, and is checked: %v", glob, readable, err)
		}
	})
}
