package ui

import (
	"bytes"
	"html"
	"html/template"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Limits of Markdown, in bytes. Parsing time grows with the square of the length for deeply nested
// text. A text is therefore parsed in parts. A text above maxMarkdown is shown unformatted: rules
// and advisories are shorter.
const (
	maxMarkdown        = 64 << 10
	maxMarkdownStretch = 8 << 10
)

// markdownParser parses CommonMark. HTML is treated as text.
var markdownParser = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100), util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300), util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500), util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700), util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100), util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300), util.Prioritized(parser.NewEmphasisParser(), 500),
		util.Prioritized(extension.NewLinkifyParser(), 999),
	),
	parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
)

// markdown renders the text of rules and advisories. The text is untrusted, so goldmark only parses
// it. All tags are written here, all text is escaped, and links pass through safeURL. Images are
// rendered as links.
func markdown(source string) template.HTML {
	if len(source) > maxMarkdown {
		return template.HTML("<pre>" + html.EscapeString(source) + "</pre>") //nolint:gosec // escaped
	}
	var out strings.Builder
	for _, stretch := range stretches(source) {
		m := markdownWriter{source: []byte(stretch), out: &out}
		doc := markdownParser.Parse(text.NewReader(m.source))
		_ = ast.Walk(doc, m.node) // node returns no error
	}
	return template.HTML(out.String()) //nolint:gosec // only tags of markdownWriter, and escaped text
}

// stretches splits a text into parts, at the ends of paragraphs or lines where possible.
func stretches(source string) (list []string) {
	for len(source) > maxMarkdownStretch {
		cut := strings.LastIndex(source[:maxMarkdownStretch], "\n\n")
		if cut <= 0 {
			cut = strings.LastIndexByte(source[:maxMarkdownStretch], '\n')
		}
		if cut <= 0 {
			for cut = maxMarkdownStretch; !utf8.RuneStart(source[cut]); {
				cut--
			}
		}
		list, source = append(list, source[:cut]), source[cut:]
	}
	return append(list, source)
}

// markdownWriter writes a parsed text as HTML.
type markdownWriter struct {
	source []byte
	out    *strings.Builder
	within ast.Node // the open link, as links cannot nest; nil outside of links
}

// node writes the start or the end of a node.
func (m *markdownWriter) node(n ast.Node, entering bool) (ast.WalkStatus, error) {
	switch n := n.(type) {
	case *ast.Text:
		if entering {
			m.text(n)
		}
	case *ast.String:
		if entering {
			m.out.WriteString(escape(n.Value))
		}
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		if entering {
			m.out.WriteString("<pre>" + html.EscapeString(string(n.Lines().Value(m.source))) + "</pre>")
		}
	case *ast.Link:
		m.link(n, n.Destination, "[", entering)
	case *ast.Image:
		m.link(n, n.Destination, "![", entering)
	case *ast.AutoLink:
		if entering {
			m.autoLink(n)
		}
	default:
		m.out.WriteString(tag(n, entering))
	}
	return ast.WalkContinue, nil
}

// tag returns the opening or closing tags of a node, or an empty string.
func tag(n ast.Node, begins bool) string {
	var names []string
	switch n := n.(type) {
	case *ast.Paragraph:
		names = []string{"p"}
	case *ast.Heading:
		names = []string{"p", "strong"}
	case *ast.List:
		names = []string{"ul"}
		if n.IsOrdered() {
			names = []string{"ol"}
		}
	case *ast.ListItem:
		names = []string{"li"}
	case *ast.Blockquote:
		names = []string{"blockquote"}
	case *ast.CodeSpan:
		names = []string{"code"}
	case *ast.Emphasis:
		names = []string{"em"}
		if n.Level > 1 {
			names = []string{"strong"}
		}
	}
	out := ""
	for _, name := range names {
		if begins {
			out += "<" + name + ">"
		} else {
			out = "</" + name + ">" + out
		}
	}
	return out
}

// text writes a text node and line breaks within a paragraph.
func (m *markdownWriter) text(n *ast.Text) {
	value := n.Segment.Value(m.source)
	if _, code := n.Parent().(*ast.CodeSpan); code {
		m.out.WriteString(html.EscapeString(string(bytes.ReplaceAll(value, []byte("\n"), []byte(" ")))))
		return
	}
	m.out.WriteString(escape(value))
	if n.SoftLineBreak() || n.HardLineBreak() {
		m.out.WriteString("\n")
	}
}

// escape resolves Markdown escapes and returns the text as HTML.
func escape(value []byte) string { return html.EscapeString(unescaped(value)) }

// unescaped resolves Markdown escapes in text and link addresses.
func unescaped(value []byte) string {
	return html.UnescapeString(string(util.UnescapePunctuations(value)))
}

// link starts or ends a link to another site. A link with an unsafe address is written as its
// source text.
func (m *markdownWriter) link(n ast.Node, address []byte, bracket string, begins bool) {
	safe := safeURL(unescaped(address))
	switch {
	case safe == "" && begins:
		m.out.WriteString(bracket)
	case safe == "":
		m.out.WriteString("](" + html.EscapeString(string(address)) + ")")
	case begins && m.within == nil:
		m.within = n
		m.out.WriteString(anchor(safe))
	case !begins && m.within == n:
		m.within = nil
		m.out.WriteString("</a>")
	}
}

// anchor returns the start tag of a link to another site.
func anchor(safe string) string {
	return `<a href="` + html.EscapeString(safe) + `" rel="noopener noreferrer nofollow" target="_blank">`
}

// autoLink writes an automatic link.
func (m *markdownWriter) autoLink(n *ast.AutoLink) {
	label := html.EscapeString(string(n.Label(m.source)))
	safe := safeURL(string(n.URL(m.source)))
	if n.AutoLinkType == ast.AutoLinkEmail || safe == "" || m.within != nil {
		m.out.WriteString(label)
		return
	}
	m.out.WriteString(anchor(safe) + label + "</a>")
}
