package component

import (
	"context"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Limits of highlighting. Lexers are backtracking regular expressions, and the code may be hostile.
// Code that exceeds the limits is shown without highlighting. A lexer that still runs in the
// background uses at most one processor.
const (
	maxHighlighted = 32 << 10 // bytes of code
	highlightFor   = 100 * time.Millisecond
)

// lexing is a semaphore held by the running lexer.
var lexing = make(chan struct{}, 1)

// span is a part of a line with one style.
type span struct {
	Class string // from classOf; empty for plain text
	Text  string
}

// Highlight splits lines into styled spans. The language is derived from the file name. Lines stay
// unchanged if lexing exceeds its time limit.
func Highlight(ctx context.Context, file string, lines []CodeLine) {
	if lexer := lexerOf(file); lexer != nil && len(lines) > 0 {
		highlightBy(ctx, lexer, lines)
	}
}

func highlightBy(ctx context.Context, lexer chroma.Lexer, lines []CodeLine) {
	var text strings.Builder
	for i := range lines {
		text.WriteString(lines[i].Text + "\n")
	}
	if text.Len() > maxHighlighted || !utf8.ValidString(text.String()) || strings.Contains(text.String(), "\r") {
		return // the lexer would change the text
	}
	ctx, cancel := context.WithTimeout(ctx, highlightFor)
	defer cancel()
	select {
	case lexing <- struct{}{}:
	case <-ctx.Done():
		return
	}
	done := make(chan [][]span, 1)
	go func() {
		defer func() { <-lexing }()
		defer func() { _ = recover() }() // a panic of a lexer must not fail the page
		done <- spansOf(ctx, lexer, text.String())
	}()
	select {
	case spans := <-done:
		for i := range min(len(spans), len(lines)) {
			if joined(spans[i]) == lines[i].Text {
				lines[i].Spans = spans[i]
			}
		}
	case <-ctx.Done():
	}
}

// lexerOf returns the lexer for a file name, or nil.
func lexerOf(file string) chroma.Lexer {
	name := path.Base(file)
	if len(name) > 255 {
		return nil
	}
	return lexers.Match(name)
}

// spansOf splits text into lines of spans. It returns nil if lexing fails or ctx ends.
func spansOf(ctx context.Context, lexer chroma.Lexer, text string) [][]span {
	tokens, err := lexer.Tokenise(nil, text)
	if err != nil {
		return nil
	}
	out := [][]span{nil}
	for token := tokens(); token != chroma.EOF; token = tokens() {
		if ctx.Err() != nil {
			return nil
		}
		class := classOf(token.Type)
		for i, part := range strings.Split(token.Value, "\n") {
			if i > 0 {
				out = append(out, nil)
			}
			line := &out[len(out)-1]
			switch last := len(*line) - 1; {
			case part == "":
			case last >= 0 && (*line)[last].Class == class:
				(*line)[last].Text += part
			default:
				*line = append(*line, span{class, part})
			}
		}
	}
	return out
}

func joined(spans []span) string {
	var out strings.Builder
	for _, s := range spans {
		out.WriteString(s.Text)
	}
	return out.String()
}

// classOf maps a token type to one of a few CSS classes: keywords, strings, comments, numbers, and
// names of definitions or tags.
func classOf(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Keyword), t == chroma.OperatorWord:
		return "hk"
	case t.InSubCategory(chroma.LiteralString):
		return "hs"
	case t.InCategory(chroma.Comment):
		return "hc"
	case t.InSubCategory(chroma.LiteralNumber):
		return "hn"
	case t == chroma.NameFunction, t == chroma.NameClass, t == chroma.NameTag, t == chroma.NameDecorator,
		t == chroma.NameAttribute, t == chroma.NameBuiltin:
		return "hf"
	}
	return ""
}
