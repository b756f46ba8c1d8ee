package ui

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                                    "<p>plain</p>",
		"one\ntwo\n\nthree":                        "<p>one\ntwo</p><p>three</p>",
		"use `a<b>` and **never** _x_":             "<p>use <code>a&lt;b&gt;</code> and <strong>never</strong> <em>x</em></p>",
		"- a\n- b":                                 "<ul><li>a</li><li>b</li></ul>",
		"```go\nx < y\n```\nend":                   "<pre>x &lt; y\n</pre><p>end</p>",
		"# Title":                                  "<p><strong>Title</strong></p>",
		"snake_case_name":                          "<p>snake_case_name</p>",
		"[docs](https://example.com/a?b=1&c=2)":    `<p><a href="https://example.com/a?b=1&amp;c=2" rel="noopener noreferrer nofollow" target="_blank">docs</a></p>`,
		"see https://example.com/x.":               `<p>see <a href="https://example.com/x" rel="noopener noreferrer nofollow" target="_blank">https://example.com/x</a>.</p>`,
		"[x](javascript:alert(1))":                 "<p>[x](javascript:alert(1))</p>",
		"[x](javascript:alert)":                    "<p>[x](javascript:alert)</p>",
		"<script>alert(1)</script>":                "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
		`[a"b](https://example.com/"onx=1)`:        `<p><a href="https://example.com/%22onx=1" rel="noopener noreferrer nofollow" target="_blank">a&#34;b</a></p>`,
		"1. a\n2. b":                               "<ol><li>a</li><li>b</li></ol>",
		"> said":                                   "<blockquote><p>said</p></blockquote>",
		`\*no\* &lt;b&gt;`:                         "<p>*no* &lt;b&gt;</p>",
		"![shot](https://example.com/x.png)":       `<p><a href="https://example.com/x.png" rel="noopener noreferrer nofollow" target="_blank">shot</a></p>`,
		"[![i](https://a.org/b)](https://c.org/)":  `<p><a href="https://c.org/" rel="noopener noreferrer nofollow" target="_blank">i</a></p>`,
		"[x](data:text/html,y)":                    "<p>[x](data:text/html,y)</p>",
		`[x](https://a.org/b\_c\(d\)?e=1&amp;f=2)`: `<p><a href="https://a.org/b_c(d)?e=1&amp;f=2" rel="noopener noreferrer nofollow" target="_blank">x</a></p>`,
		"[x](java&#115;cript:alert)":               "<p>[x](java&amp;#115;cript:alert)</p>",
		`[x](javascript\:alert)`:                   `<p>[x](javascript\:alert)</p>`,
		"[x](//evil.example/)":                     "<p>[x](//evil.example/)</p>",
	} {
		if got := string(markdown(in)); got != want {
			t.Errorf("markdown(%q)\n got %s\nwant %s", in, got, want)
		}
	}
}

var (
	knownTag = regexp.MustCompile(`</?(p|ul|ol|li|blockquote|pre|code|strong|em)>|<a href="https?://[^"<>]*" rel="noopener noreferrer nofollow" target="_blank">|</a>`)
	anyTag   = regexp.MustCompile(`[<>"]`)
)

// FuzzMarkdown checks that the output contains no tags or attributes other than those of the
// renderer.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		"`<b>`", "[<i>](https://a/<b>)", "[a](https://x\" onclick=alert(1))", "**<x>**", "```\n</pre><script>", "http://a\"b", "- <li>\n- `", "_<_>_", "[[a](https://b)](https://c)", "![<](http://a)[![b](http://c)](http://d)", "> 1. <x>\n> ===", "<http://a\"b> &quot;<", "&lt;b&gt;\\<",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := string(markdown(text))
		if rest := knownTag.ReplaceAllString(out, ""); anyTag.MatchString(rest) {
			t.Errorf("markdown(%q) lets through %q", text, out)
		}
		if strings.Count(out, "<p>") != strings.Count(out, "</p>") || strings.Count(out, "<a ") != strings.Count(out, "</a>") {
			t.Errorf("markdown(%q) leaves a tag open: %q", text, out)
		}
	})
}

// TestLongMarkdown checks that a text above the limit is shown unformatted, and that splitting
// loses no text.
func TestLongMarkdown(t *testing.T) {
	long := strings.Repeat("**<b>** ", maxMarkdown/8+1)
	if got := string(markdown(long)); got != "<pre>"+strings.ReplaceAll(strings.ReplaceAll(long, "<", "&lt;"), ">", "&gt;")+"</pre>" {
		t.Errorf("%d bytes became %.60q…", len(long), got)
	}
	for _, piece := range []string{"one paragraph\n\n", "one line\n", "é", ">\u00a0", "[a](", "\n"} {
		source := strings.Repeat(piece, maxMarkdown/len(piece))
		if got := strings.Join(stretches(source), ""); got != source {
			t.Errorf("%q is cut to %d of %d bytes", piece, len(got), len(source))
		}
		for _, stretch := range stretches(source) {
			if len(stretch) > maxMarkdownStretch || !utf8.ValidString(stretch) {
				t.Errorf("%q: a stretch of %d bytes, valid: %v", piece, len(stretch), utf8.ValidString(stretch))
			}
		}
	}
	if got := strings.Count(string(markdown(strings.Repeat("one paragraph\n\n", 4000))), "<p>one paragraph</p>"); got != 4000 {
		t.Errorf("%d of 4000 paragraphs are left", got)
	}
}
