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

// Bounds of what is read as Markdown, in bytes. Reading takes time that grows
// with the square of the length where a text nests without end, so a text is
// read in stretches; one that is longer than any rule or advisory is shown as
// it is.
const (
	maxMarkdown        = 64 << 10
	maxMarkdownStretch = 8 << 10
)

// markdownParser reads CommonMark without HTML, which stays text.
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

// markdown renders what rules and advisories say. The text comes from outside,
// so goldmark only reads it: every tag that is written is spelled out here, all
// text is escaped, links are those that safeURL lets through, and an image is a
// link to it.
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

// stretches cuts a text, at the ends of paragraphs or else of lines where it has
// them.
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
	within ast.Node // the link that is open, where another cannot be; nil outside
}

// node writes what stands before the children of a node, or behind them.
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

// tag is what begins or ends a node that has only a tag, or nothing.
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

// text writes words, and the ends of lines within a paragraph.
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

// escape writes text as HTML, after what Markdown escapes in it is read.
func escape(value []byte) string { return html.EscapeString(unescaped(value)) }

// unescaped reads what Markdown escapes, in text and in the addresses of links.
func unescaped(value []byte) string {
	return html.UnescapeString(string(util.UnescapePunctuations(value)))
}

// link begins or ends an anchor to another site. Where the address is none that
// a browser may follow it is shown as it was written.
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

// anchor begins a link to another site.
func anchor(safe string) string {
	return `<a href="` + html.EscapeString(safe) + `" rel="noopener noreferrer nofollow" target="_blank">`
}

// autoLink writes an address that stands for itself.
func (m *markdownWriter) autoLink(n *ast.AutoLink) {
	label := html.EscapeString(string(n.Label(m.source)))
	safe := safeURL(string(n.URL(m.source)))
	if n.AutoLinkType == ast.AutoLinkEmail || safe == "" || m.within != nil {
		m.out.WriteString(label)
		return
	}
	m.out.WriteString(anchor(safe) + label + "</a>")
}
