package ci

import (
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// ellipsis replaces the removed part of a line.
const ellipsis = "…"

// Snippet returns the lines of a finding with two lines of context before and after, within the
// limits of package model. It returns no lines if the file has no such line.
func Snippet(file []string, p model.SnippetLocation) (first int, lines []string) {
	if p.Line < 1 || p.Line > len(file) {
		return 0, nil
	}
	first = max(p.Line-model.SnippetAround, 1)
	last := min(max(p.Line, p.EndLine)+model.SnippetAround, first+model.MaxSnippetLines-1, len(file))
	for number := first; number <= last; number++ {
		from := 0
		if number == p.Line {
			from = p.Column - 1
		}
		lines = append(lines, cutLine(strings.TrimSuffix(file[number-1], "\r"), from))
	}
	return first, lines
}

// cutLine limits the length of a line. Of a long one, such as minified code, it returns the part
// around a byte offset.
func cutLine(line string, about int) string {
	if len(line) <= model.MaxSnippetLine {
		return line
	}
	width, from := model.MaxSnippetLine-2*len(ellipsis), 0
	if about > width/2 {
		from = min(about-width/4, len(line)-width)
	}
	for from > 0 && !utf8.RuneStart(line[from]) {
		from++
	}
	to := min(from+width, len(line))
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to--
	}
	out := line[from:to]
	if from > 0 {
		out = ellipsis + out
	}
	if to < len(line) {
		out += ellipsis
	}
	return out
}
