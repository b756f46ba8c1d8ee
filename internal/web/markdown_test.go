package web

import (
	"regexp"
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                                 "<p>plain</p>",
		"one\ntwo\n\nthree":                     "<p>one\ntwo</p><p>three</p>",
		"use `a<b>` and **never** _x_":          "<p>use <code>a&lt;b&gt;</code> and <strong>never</strong> <em>x</em></p>",
		"- a\n- b":                              "<ul><li>a</li><li>b</li></ul>",
		"```go\nx < y\n```\nend":                "<pre>x &lt; y\n</pre><p>end</p>",
		"# Title":                               "<p><strong>Title</strong></p>",
		"snake_case_name":                       "<p>snake_case_name</p>",
		"[docs](https://example.com/a?b=1&c=2)": `<p><a href="https://example.com/a?b=1&amp;c=2" rel="noopener noreferrer nofollow" target="_blank">docs</a></p>`,
		"see https://example.com/x.":            `<p>see <a href="https://example.com/x" rel="noopener noreferrer nofollow" target="_blank">https://example.com/x</a>.</p>`,
		"[x](javascript:alert(1))":              "<p>[x](javascript:alert(1))</p>",
		"[x](javascript:alert)":                 "<p>[x](javascript:alert)</p>",
		"<script>alert(1)</script>":             "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
		`[a"b](https://example.com/"onx=1)`:     `<p><a href="https://example.com/%22onx=1" rel="noopener noreferrer nofollow" target="_blank">a&#34;b</a></p>`,
	} {
		if got := string(markdown(in)); got != want {
			t.Errorf("markdown(%q)\n got %s\nwant %s", in, got, want)
		}
	}
}

var (
	knownTag = regexp.MustCompile(`</?(p|ul|li|pre|code|strong|em)>|<a href="https?://[^"<>]*" rel="noopener noreferrer nofollow" target="_blank">|</a>`)
	anyTag   = regexp.MustCompile(`[<>"]`)
)

// Whatever a scanner writes, no tag and no attribute gets in but our own.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		"`<b>`", "[<i>](https://a/<b>)", "[a](https://x\" onclick=alert(1))", "**<x>**", "```\n</pre><script>", "http://a\"b", "- <li>\n- `", "_<_>_", "[[a](https://b)](https://c)",
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
