package component

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/chroma/v2"
)

// TestHighlight checks the styles of several languages, and that the text is unchanged.
func TestHighlight(t *testing.T) {
	for file, c := range map[string]struct{ text, keyword, str string }{
		"a/b.py":     {"import os\n\ndef run(name):\n\tos.system(\"tar \" + name)  # now", "def", `"tar "`},
		"x.js":       {"const run = (name) => {\n  exec(`tar ${name}`, \"x\");", "const", `"x"`},
		"Main.java":  {"public class Main { String s = \"é\"; }", "public", `"é"`},
		"Dockerfile": {"FROM debian\nRUN echo \"x\"", "FROM", ""},
		"main.tf":    {"resource \"aws_s3_bucket\" \"b\" {\n  acl = \"public-read\"\n}", "", `"public-read"`},
	} {
		spans := spansOf(t.Context(), lexerOf(file), c.text+"\n")
		var lines []string
		byClass := map[string][]string{}
		for _, line := range spans {
			lines = append(lines, joined(line))
			for _, s := range line {
				byClass[s.Class] = append(byClass[s.Class], strings.TrimSpace(s.Text))
			}
		}
		if got := strings.TrimSuffix(strings.Join(lines, "\n"), "\n"); got != c.text {
			t.Errorf("%s reads %q", file, got)
		}
		if !strings.Contains(strings.Join(byClass["hk"], " "), c.keyword) || !strings.Contains(strings.Join(byClass["hs"], " "), c.str) {
			t.Errorf("%s: %v", file, byClass)
		}
	}
	lines := []CodeLine{{Text: "for"}}
	Highlight(t.Context(), "no-language", lines)
	if lines[0].Spans != nil {
		t.Errorf("text without a language is highlighted: %v", lines)
	}
}

// endless is a lexer that does not terminate.
type endless struct {
	chroma.Lexer
	ended chan struct{}
}

func (e endless) Tokenise(*chroma.TokeniseOptions, string) (chroma.Iterator, error) {
	return func() chroma.Token {
		select {
		case <-e.ended:
			panic("a grammar that fails")
		case <-time.After(time.Minute):
			return chroma.EOF
		}
	}, nil
}

// TestHighlightIsBounded checks that code is shown unstyled if its lexer exceeds the time limit,
// and that other requests wait no longer.
func TestHighlightIsBounded(t *testing.T) {
	slow := endless{ended: make(chan struct{})}
	for range 3 {
		lines := []CodeLine{{Text: "if x"}}
		highlightBy(t.Context(), slow, lines)
		if lines[0].Spans != nil {
			t.Errorf("highlighted without a highlighter: %v", lines)
		}
	}
	close(slow.ended)
	lexing <- struct{}{} // the semaphore is free again although the lexer failed
	<-lexing
	long := []CodeLine{{Text: strings.Repeat("x", maxHighlighted)}, {Text: "a\rb"}}
	highlightBy(t.Context(), lexerOf("x.py"), long)
	highlightBy(t.Context(), lexerOf("x.py"), long[1:])
	highlightBy(t.Context(), lexerOf("x.py"), []CodeLine{{Text: "\xff"}})
	if long[0].Spans != nil || long[1].Spans != nil {
		t.Errorf("text that a lexer would change is highlighted")
	}
}
