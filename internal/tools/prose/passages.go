package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// kind is the place of a passage.
type kind int

const (
	heading kind = iota
	body         // a paragraph or a list item
	cell         // of a table
	label        // a text or attribute of a page
	comment
	help    // of a command
	flags   // of a flag or an argument
	summary // of an API operation
	about   // a description of the API, or a longer help text
	name    // an identifier
)

// passage is a text with its first line. Code and template actions in it are replaced by "_".
type passage struct {
	kind kind
	line int
	text string // line breaks are those of the file
	of   string // the identifier that a comment describes
}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	codeSpan    = regexp.MustCompile("(?s)(``+).+?(``+)|`[^`]+`")
	linkTarget  = regexp.MustCompile(`(?s)\]\([^)]*\)|\]\[[^\]]*\]`)
	address     = regexp.MustCompile(`<?\bhttps?://[^\s)>]+>?`)
	htmlTag     = regexp.MustCompile(`(?s)</?[a-zA-Z][^<>]*>`)
	listItem    = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ x]\] )?`)
	reference   = regexp.MustCompile(`^\s*\[[^\]]+\]:\s`)
	tableRule   = regexp.MustCompile(`^\s*\|?[\s:|-]+\|?\s*$`)
)

// masked replaces matches with "_" and keeps line breaks.
func masked(text string, pattern *regexp.Regexp) string {
	return pattern.ReplaceAllStringFunc(text, func(m string) string { return "_" + breaks(m) })
}

// blank removes matches and keeps line breaks.
func blank(text string, pattern *regexp.Regexp) string {
	return pattern.ReplaceAllStringFunc(text, breaks)
}

func breaks(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) }

// plain removes the markup of a Markdown passage.
func plain(text string) string {
	text = blank(masked(text, codeSpan), linkTarget)
	text = blank(masked(text, address), htmlTag)
	return strings.NewReplacer("![", "", "[", "", "**", "", "*", "").Replace(text)
}

// markdown returns the headings, paragraphs, list items and table cells of a document.
func markdown(content string) (passages []passage) {
	var open passage
	add := func(k kind, line int, text string) {
		if text = plain(text); strings.TrimSpace(text) != "" {
			passages = append(passages, passage{kind: k, line: line, text: text})
		}
	}
	end := func() {
		add(open.kind, open.line, open.text)
		open = passage{}
	}
	fence, front := "", strings.HasPrefix(content, "---\n")
	for i, line := range strings.Split(blank(content, htmlComment), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case front:
			front = i == 0 || trimmed != "---"
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			end()
			fence = trimmed[:3]
		case trimmed == "" || reference.MatchString(line) || open.text == "" && strings.HasPrefix(line, "    "):
			end()
		case strings.HasPrefix(trimmed, "#"):
			end()
			add(heading, i+1, strings.TrimLeft(trimmed, "# "))
		case strings.HasPrefix(trimmed, "|"):
			end()
			if !tableRule.MatchString(line) {
				for text := range strings.SplitSeq(strings.ReplaceAll(masked(trimmed, codeSpan), `\|`, " "), "|") {
					add(cell, i+1, text)
				}
			}
		default:
			if listItem.MatchString(line) {
				end()
			}
			if text := strings.TrimLeft(listItem.ReplaceAllString(line, ""), "> "); open.text == "" {
				open = passage{kind: body, line: i + 1, text: text}
			} else {
				open.text += "\n" + text
			}
		}
	}
	end()
	return passages
}

var (
	action      = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	control     = regexp.MustCompile(`^\{\{-?\s*(if|else|end|range|with|define|template|block|break|continue|/\*)`)
	quoted      = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	hidden      = regexp.MustCompile(`(?is)<(?:script|style|svg|pre|code|kbd)\b.*?</(?:script|style|svg|pre|code|kbd)>`)
	tagName     = regexp.MustCompile(`^</?([a-zA-Z0-9]+)`)
	visible     = regexp.MustCompile(`\s(?:title|aria-label|placeholder|alt|data-confirm|label)="([^"]*)"`)
	inlineTag   = regexp.MustCompile(`^(a|abbr|b|bdi|br|em|i|mark|small|span|strong|time|wbr)$`)
	headingTag  = regexp.MustCompile(`^h[1-6]$`)
	textOrBreak = regexp.MustCompile(`(?s)\x00|<[a-zA-Z/!][^<>]*>|[^<\x00]+|<`)
)

// template returns the texts of a page: its elements, visible attributes and strings in actions.
func template(content string) (passages []passage) {
	add := func(k kind, at int, text string) {
		if strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz") {
			lead := text[:len(text)-len(strings.TrimLeft(text, " \n\t"))]
			line := 1 + strings.Count(content[:at], "\n") + strings.Count(lead, "\n")
			text = strings.TrimSpace(html.UnescapeString(text))
			passages = append(passages, passage{kind: k, line: line, text: text})
		}
	}
	for _, at := range action.FindAllStringIndex(content, -1) {
		for _, s := range quoted.FindAllString(content[at[0]:at[1]], -1) {
			if s = strings.Trim(s, `"`); strings.Contains(s, " ") && s[0] >= 'A' && s[0] <= 'Z' {
				add(label, at[0], s)
			}
		}
	}
	// Actions keep their length, so that offsets stay valid.
	content = action.ReplaceAllStringFunc(content, func(m string) string {
		if control.MatchString(m) {
			return "\x00" + spaces(m[1:])
		}
		return "_" + spaces(m[1:])
	})
	content = hidden.ReplaceAllStringFunc(content, func(m string) string { return "_" + spaces(m[1:]) })
	for _, at := range visible.FindAllStringSubmatchIndex(content, -1) {
		add(label, at[2], strings.ReplaceAll(content[at[2]:at[3]], "\x00", " _ "))
	}
	k, start, text := label, 0, ""
	for _, at := range textOrBreak.FindAllStringIndex(content, -1) {
		token := content[at[0]:at[1]]
		tag := tagName.FindStringSubmatch(token)
		switch {
		case tag != nil && inlineTag.MatchString(tag[1]):
			text += spaces(token)
		case tag != nil || token == "\x00":
			add(k, start, text)
			if start, text = at[1], ""; tag != nil {
				k = label
				if headingTag.MatchString(tag[1]) && token[1] != '/' {
					k = heading
				}
			}
		default:
			text += token
		}
	}
	add(k, start, text)
	return passages
}

// spaces returns as many spaces as a text has bytes, with the same line breaks.
func spaces(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c != '\n' {
			out[i] = ' '
		}
	}
	return string(out)
}

// reader collects the passages of a Go file.
type reader struct {
	name     string
	files    *token.FileSet
	passages []passage
}

// goFile returns the doc comments, identifiers, help texts and API texts of a Go file.
func goFile(path, content string) ([]passage, error) {
	r := &reader{name: path, files: token.NewFileSet()}
	file, err := parser.ParseFile(r.files, path, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	r.comment(file.Doc, "")
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			r.comment(d.Doc, d.Name.Name)
			r.ident(d.Name)
			if d.Name.Name == "Help" && d.Body != nil {
				r.strings(d.Body)
			}
		case *ast.GenDecl:
			r.comment(d.Doc, "")
			for _, s := range d.Specs {
				r.spec(s)
			}
		}
	}
	ast.Inspect(file, r.texts)
	return r.passages, nil
}

func (r *reader) spec(spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		r.comment(s.Doc, s.Name.Name)
		r.comment(s.Comment, "")
		r.ident(s.Name)
		ast.Inspect(s.Type, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				r.comment(f.Doc, fieldName(f))
				r.comment(f.Comment, "")
			}
			return true
		})
	case *ast.ValueSpec:
		r.comment(s.Doc, s.Names[0].Name)
		r.comment(s.Comment, "")
		for _, n := range s.Names {
			r.ident(n)
		}
	}
}

func fieldName(f *ast.Field) string {
	if len(f.Names) == 0 {
		return ""
	}
	return f.Names[0].Name
}

func (r *reader) add(k kind, at token.Pos, text string) {
	if strings.TrimSpace(text) != "" {
		r.passages = append(r.passages, passage{kind: k, line: r.files.Position(at).Line, text: text})
	}
}

func (r *reader) ident(id *ast.Ident) { r.add(name, id.Pos(), id.Name) }

var directive = regexp.MustCompile(`^//[a-z]+:`)

// comment adds the paragraphs of the comment of an identifier. It omits directives and indented code.
func (r *reader) comment(group *ast.CommentGroup, of string) {
	if group == nil {
		return
	}
	open := passage{kind: comment, of: of}
	end := func() {
		if strings.TrimSpace(open.text) != "" {
			r.passages = append(r.passages, open)
		}
		open.text = ""
	}
	for _, c := range group.List {
		if directive.MatchString(c.Text) {
			continue
		}
		first := r.files.Position(c.Pos()).Line
		for i, line := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/"), "\n") {
			line = strings.TrimPrefix(line, "//")
			code := strings.HasPrefix(line, "\t")
			if code || strings.TrimSpace(line) == "" || listItem.MatchString(line) || strings.HasPrefix(line, " # ") {
				end()
			}
			if code {
				continue
			}
			if line = masked(masked(listItem.ReplaceAllString(line, ""), codeSpan), address); open.text == "" {
				open.line, open.text = first+i, line
			} else {
				open.text += "\n" + line
			}
		}
	}
	end()
}

// texts adds the texts of struct tags, and of the members that describe operations, tools and metrics.
func (r *reader) texts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Field:
		r.tags(n)
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		api := strings.HasPrefix(r.name, "internal/apihttp/") || strings.HasPrefix(r.name, "internal/mcp/")
		text, literal := constant(n.Value)
		switch {
		case !ok || !literal:
		case key.Name == "Summary" && api:
			r.add(summary, n.Pos(), text)
		case key.Name == "Help", api && (key.Name == "Text" || key.Name == "text" || key.Name == "Description"):
			r.add(about, n.Pos(), masked(text, codeSpan))
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Description" {
			r.strings(n)
		}
	}
	return true
}

func (r *reader) tags(f *ast.Field) {
	if f.Tag == nil {
		return
	}
	text, _ := strconv.Unquote(f.Tag.Value) // checked by the parser
	tag := reflect.StructTag(text)
	k := flags
	if _, command := tag.Lookup("cmd"); command {
		k = help
	}
	r.add(k, f.Tag.Pos(), tag.Get("help"))
	for _, key := range []string{"doc", "patternDescription", "jsonschema"} {
		r.add(about, f.Tag.Pos(), masked(tag.Get(key), codeSpan))
	}
}

// strings adds the string constants within a node.
func (r *reader) strings(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, literal := constant(e)
		if literal {
			for paragraph := range strings.SplitSeq(text, "\n\n") {
				r.add(about, n.Pos(), paragraph)
			}
		}
		return !literal
	})
}

// constant returns the text of a string literal or a concatenation. Other operands become "_".
func constant(e ast.Expr) (text string, literal bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return constant(e.X)
	case *ast.BinaryExpr:
		left, first := constant(e.X)
		right, second := constant(e.Y)
		return left + right, (first || second) && e.Op == token.ADD
	}
	return "_", false
}
