package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is where a text stands.
type kind int

const (
	prose      kind = iota // sentences of documents, pages and comments
	heading                // a heading of a document or page
	help                   // a help text of the command line
	identifier             // a declared name
	wide                   // a line of Markdown outside tables and code
)

// passage is a text of one kind. Code in it is replaced by a placeholder word.
type passage struct {
	kind kind
	line int
	text string
}

// code stands for a span of code, a link target or a template action: one word that no rule matches.
const code = "CODE"

var (
	codeSpan   = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
	address    = regexp.MustCompile(`https?://\S+|<[^>]+>`)
	listItem   = regexp.MustCompile(`^\s*(?:[-*+]|\d+\.)\s+`)
)

// plain replaces what is not language in a line of Markdown or of a comment.
func plain(line string) string {
	line = codeSpan.ReplaceAllString(line, code)
	line = linkTarget.ReplaceAllString(line, "]")
	line = address.ReplaceAllString(line, code)
	return strings.NewReplacer("[", "", "]", "", "**", "", "_", " ").Replace(line)
}

// markdownWidth is the greatest width of a line of Markdown, in columns.
const markdownWidth = 120

// markdownPassages returns the headings, paragraphs, list items and cells of a document.
func markdownPassages(text string) (out []passage) {
	var paragraph []string
	begin, fenced := 0, false
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, passage{prose, begin, strings.Join(paragraph, " ")})
		}
		paragraph = nil
	}
	for i, line := range strings.Split(text, "\n") {
		number := i + 1
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			flush()
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(line, "    ") && len(paragraph) == 0 {
			continue
		}
		table := strings.HasPrefix(trimmed, "|")
		if !table && utf8.RuneCountInString(line) > markdownWidth {
			out = append(out, passage{wide, number, line})
		}
		switch {
		case trimmed == "":
			flush()
		case strings.HasPrefix(trimmed, "#"):
			flush()
			out = append(out, passage{heading, number, plain(strings.TrimLeft(trimmed, "# "))})
		case table:
			flush()
			for cell := range strings.SplitSeq(strings.ReplaceAll(trimmed, `\|`, "/"), "|") {
				out = append(out, passage{prose, number, plain(strings.TrimSpace(cell))})
			}
		default:
			if listItem.MatchString(line) {
				flush()
				line = listItem.ReplaceAllString(line, "")
			}
			if len(paragraph) == 0 {
				begin = number
			}
			paragraph = append(paragraph, plain(strings.TrimSpace(line)))
		}
	}
	flush()
	return out
}

var (
	action   = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	inline   = regexp.MustCompile(`</?(?:a|b|bdi|code|em|i|kbd|span|small|strong|time)\b[^>]*>`)
	codeText = regexp.MustCompile(`(?s)<(code|pre|script|style|kbd)\b[^>]*>.*?</(?:code|pre|script|style|kbd)>`)
	title    = regexp.MustCompile(`(?s)<h[1-6]\b[^>]*>(.*?)</h[1-6]>`)
	shown    = regexp.MustCompile(`\b(?:title|placeholder|aria-label|alt)="([^"]*)"`)
	tag      = regexp.MustCompile(`(?s)<[^>]*>`)
)

// templatePassages returns the headings, texts and attributes that people see of a template.
func templatePassages(text string) (out []passage) {
	blank := func(s, with string) string { return with + strings.Repeat("\n", strings.Count(s, "\n")) }
	text = action.ReplaceAllStringFunc(text, func(s string) string { return blank(s, " "+code+" ") })
	text = codeText.ReplaceAllStringFunc(text, func(s string) string { return blank(s, " "+code+" ") })
	line := func(at int) int { return 1 + strings.Count(text[:at], "\n") }
	for _, m := range title.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, passage{heading, line(m[0]), words(tag.ReplaceAllString(text[m[2]:m[3]], " "))})
	}
	for _, m := range shown.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, passage{prose, line(m[0]), words(text[m[2]:m[3]])})
	}
	text = inline.ReplaceAllStringFunc(text, func(s string) string { return blank(s, " ") })
	at := 0
	for _, m := range append(tag.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if between := words(text[at:m[0]]); between != "" {
			out = append(out, passage{prose, line(at), between})
		}
		at = m[1]
	}
	return out
}

// words joins the words of a text by single blanks.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

var directive = regexp.MustCompile(`^//(?:go:|nolint|line )`)

// goPassages returns the comments, help texts and declared names of a Go file.
func goPassages(name, text string) (out []passage, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	line := func(p token.Pos) int { return set.Position(p).Line }
	for _, group := range file.Comments {
		out = append(out, commentPassages(group, line(group.Pos()))...)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			out = append(out, passage{identifier, line(n.Name.Pos()), n.Name.Name})
		case *ast.TypeSpec:
			out = append(out, passage{identifier, line(n.Name.Pos()), n.Name.Name})
		case *ast.ValueSpec:
			for _, id := range n.Names {
				out = append(out, passage{identifier, line(id.Pos()), id.Name})
			}
		case *ast.Field:
			for _, id := range n.Names {
				out = append(out, passage{identifier, line(id.Pos()), id.Name})
			}
			if n.Tag != nil {
				out = append(out, tagPassages(n.Tag, line(n.Tag.Pos()))...)
			}
		}
		return true
	})
	return out, nil
}

// commentPassages returns the paragraphs of a comment, without the code in it.
func commentPassages(group *ast.CommentGroup, begin int) (out []passage) {
	var paragraph []string
	first := begin
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, passage{prose, first, strings.Join(paragraph, " ")})
		}
		paragraph = nil
	}
	number := begin - 1
	for _, c := range group.List {
		for raw := range strings.SplitSeq(c.Text, "\n") {
			number++
			if directive.MatchString(raw) {
				continue
			}
			text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(raw, "//"), "/*"), "*/")
			if strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "  ") {
				flush()
				continue
			}
			text, _, _ = strings.Cut(text, "//nolint")
			trimmed := strings.TrimSpace(text)
			if trimmed == "" || listItem.MatchString(trimmed) {
				flush()
			}
			if trimmed == "" {
				continue
			}
			if len(paragraph) == 0 {
				first = number
			}
			paragraph = append(paragraph, plain(listItem.ReplaceAllString(trimmed, "")))
		}
	}
	flush()
	return out
}

// tagPassages returns the help texts and descriptions in the tag of a field.
func tagPassages(tag *ast.BasicLit, line int) (out []passage) {
	text, err := strconv.Unquote(tag.Value)
	if err != nil {
		return nil
	}
	if s := reflect.StructTag(text).Get("help"); s != "" {
		out = append(out, passage{help, line, plain(s)})
	}
	if s := reflect.StructTag(text).Get("doc"); s != "" {
		out = append(out, passage{prose, line, plain(s)})
	}
	return out
}
