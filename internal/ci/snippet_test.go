package ci_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/ci"
	"github.com/redoubt/redoubt/internal/model"
)

func TestSnippet(t *testing.T) {
	file := strings.Split("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7", "\r\n")
	for name, test := range map[string]struct {
		location model.SnippetLocation
		first    int
		want     string
	}{
		"in the middle":    {model.SnippetLocation{Line: 4, EndLine: 4}, 2, "2 3 4 5 6"},
		"at the beginning": {model.SnippetLocation{Line: 1, EndLine: 1}, 1, "1 2 3"},
		"at the end":       {model.SnippetLocation{Line: 7, EndLine: 7}, 5, "5 6 7"},
		"several lines":    {model.SnippetLocation{Line: 3, EndLine: 5}, 1, "1 2 3 4 5 6 7"},
		"beyond the end":   {model.SnippetLocation{Line: 8, EndLine: 8}, 0, ""},
		"an odd end":       {model.SnippetLocation{Line: 3, EndLine: 1}, 1, "1 2 3 4 5"},
		"no line":          {model.SnippetLocation{}, 0, ""},
		"ends beyond":      {model.SnippetLocation{Line: 6, EndLine: 1 << 40}, 4, "4 5 6 7"},
	} {
		first, lines := ci.Snippet(file, test.location)
		if first != test.first || strings.Join(lines, " ") != test.want {
			t.Errorf("%s: %d %q, want %d %q", name, first, lines, test.first, test.want)
		}
	}
}

func TestSnippetOfMinifiedCode(t *testing.T) {
	line := strings.Repeat("a", 5000) + "eval(x)" + strings.Repeat("b", 5000)
	_, lines := ci.Snippet([]string{line}, model.SnippetLocation{Line: 1, EndLine: 1, Column: 5001})
	if len(lines) != 1 || !strings.Contains(lines[0], "eval(x)") || !strings.HasPrefix(lines[0], "…a") || !strings.HasSuffix(lines[0], "b…") {
		t.Errorf("%q", lines)
	}
	_, lines = ci.Snippet([]string{line}, model.SnippetLocation{Line: 1, EndLine: 1, Column: 1})
	if diff := cmp.Diff(strings.Repeat("a", model.MaxSnippetLine-6)+"…", lines[0]); diff != "" {
		t.Error(diff)
	}
}

// TestSnippetIsBounded checks the limits for any file and place.
func TestSnippetIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SliceOfN(rapid.Map(rapid.SampledFrom([]string{"", "x", "ü", "€", "😀"}), func(s string) string { return strings.Repeat(s, 500) }), 0, 40).Draw(t, "file")
		p := model.SnippetLocation{Line: rapid.IntRange(-1, 50).Draw(t, "line"), EndLine: rapid.IntRange(-1, 100).Draw(t, "end"), Column: rapid.IntRange(-5, 5000).Draw(t, "column")}
		first, lines := ci.Snippet(file, p)
		if len(lines) > 0 && (first > p.Line || first+len(lines) <= p.Line) || len(lines) > model.MaxSnippetLines {
			t.Fatalf("%d lines from %d", len(lines), first)
		}
		for _, line := range lines {
			if len(line) > model.MaxSnippetLine || !utf8.ValidString(line) {
				t.Fatalf("%d bytes: %q", len(line), line)
			}
		}
	})
}
