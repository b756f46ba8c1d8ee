package web

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// markdown renders the little of Markdown that rules write their messages in:
// paragraphs, lists, fenced and inline code, emphasis and links. The text comes
// from scanners, so all of it is escaped first; only tags that are spelled out
// here get in, and only links that safeURL lets through.
func markdown(text string) template.HTML {
	var out strings.Builder
	m := blocks{out: &out}
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		m.line(strings.TrimRight(line, "\n"))
	}
	m.close()
	return template.HTML(out.String()) //nolint:gosec // escaped piece by piece above
}

// blocks writes one block after the other.
type blocks struct {
	out  *strings.Builder
	open string // tag of the open block: p, ul, pre or none
}

func (m *blocks) line(line string) {
	trimmed := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(trimmed, "```"):
		if m.open == "pre" {
			m.close()
			return
		}
		m.begin("pre")
	case m.open == "pre":
		m.out.WriteString(html.EscapeString(line) + "\n")
	case trimmed == "":
		m.close()
	case strings.HasPrefix(trimmed, "- "), strings.HasPrefix(trimmed, "* "):
		m.begin("ul")
		m.out.WriteString("<li>" + inline(trimmed[2:]) + "</li>")
	case strings.HasPrefix(trimmed, "#"):
		m.close()
		m.out.WriteString("<p><strong>" + inline(strings.TrimLeft(trimmed, "# ")) + "</strong></p>")
	default:
		if m.open == "p" {
			m.out.WriteString("\n")
		}
		m.begin("p")
		m.out.WriteString(inline(trimmed))
	}
}

// begin opens a block unless it is the open one.
func (m *blocks) begin(tag string) {
	if m.open == tag {
		return
	}
	m.close()
	m.open = tag
	m.out.WriteString("<" + tag + ">")
}

func (m *blocks) close() {
	if m.open != "" {
		m.out.WriteString("</" + m.open + ">")
	}
	m.open = ""
}

// spans are what inline knows, the first that fits: code, a link, a bare
// address, bold, emphasis.
var spans = regexp.MustCompile("`([^`]+)`" + `|\[([^\]\[]+)\]\(([^()\s]+)\)|(https?://[^\s<>()"'` + "`" + `]+[^\s<>()"'` + "`" + `.,;:!?])|\*\*([^*]+)\*\*|\b_([^_]+)_\b`)

// inline renders a line.
func inline(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range spans.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(html.EscapeString(text[at:m[0]]))
		at = m[1]
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		out.WriteString(span(text[m[0]:m[1]], part))
	}
	out.WriteString(html.EscapeString(text[at:]))
	return out.String()
}

func span(whole string, part func(int) string) string {
	switch {
	case part(1) != "":
		return "<code>" + html.EscapeString(part(1)) + "</code>"
	case part(2) != "":
		return link(part(3), part(2), whole)
	case part(4) != "":
		return link(part(4), part(4), whole)
	case part(5) != "":
		return "<strong>" + html.EscapeString(part(5)) + "</strong>"
	}
	return "<em>" + html.EscapeString(part(6)) + "</em>"
}

// link is an anchor to another site, or the plain text where the address is
// none that a browser may follow.
func link(address, label, whole string) string {
	safe := safeURL(address)
	if safe == "" {
		return html.EscapeString(whole)
	}
	return `<a href="` + html.EscapeString(safe) + `" rel="noopener noreferrer nofollow" target="_blank">` + html.EscapeString(label) + "</a>"
}
