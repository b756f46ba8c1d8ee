package redoubt_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
)

// TestPathGlobsLeaveOutWhatTheScannerDoes compares with what the real scanner
// left out.
func TestPathGlobsLeaveOutWhatTheScannerDoes(t *testing.T) {
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
		globs := redoubt.PathGlobs{fields[0]}
		if err := globs.Check(); err != nil {
			t.Error(err)
		}
		got := slices.DeleteFunc(slices.Clone(files), func(path string) bool { return !globs.Match(path) })
		if diff := cmp.Diff(fields[1:], got); diff != "" {
			t.Errorf("%s (-scanner +ours):\n%s", fields[0], diff)
		}
	}
	if len(files) == 0 {
		t.Error("the record names no files")
	}
}

func TestPathGlobsThatWillNotDo(t *testing.T) {
	for _, glob := range []string{"", " ", "/", "//", " a", "a ", "#a", "!a", "./a", "a//b", `a\b`, "[z-a]"} {
		globs := redoubt.PathGlobs{"ok", glob}
		if globs.Check() == nil {
			t.Errorf("%q will do", glob)
		}
	}
}

// Whatever a glob is, what fits a folder fits all that is in it.
func TestPathGlobsFitWhatIsBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab*?/\[\]!-]{1,8}`)
		globs := redoubt.PathGlobs{word.Draw(t, "glob")}
		path := rapid.StringMatching(`[ab]{1,3}(/[ab]{1,3}){0,2}`).Draw(t, "path")
		if globs.Check() != nil {
			return
		}
		if globs.Match(path) && !globs.Match(path+"/x") {
			t.Errorf("%q fits %s and not %s/x", globs, path, path)
		}
	})
}
