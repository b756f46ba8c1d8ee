package conformance

import (
	"maps"
	"strings"
	"testing"
)

// ruledText is a member with an additional rule of the server, and texts that it accepts and
// rejects.
type ruledText struct {
	member       string
	method, path string
	body         object // valid with a good text
	list         bool   // the member is a list of such texts
	inside       string // path of the object with the member; empty for the body itself
	good, bad    []string
}

func textRules(chain string) []ruledText {
	name := strings.Repeat("é", 512)
	exception := object{"target": "x", "reason": "y", "forever": true, "dry_run": true}
	condition := object{"mode": "monitor", "direct": true}
	project := object{"name": "acme/told"}
	globs := []string{"acme/*", "**", " ", "!x", name}
	noGlobs := []string{"", "a\nb", "\u202ex", name + "x"}
	return []ruledText{
		{member: "reason", path: "exceptions", body: exception, good: []string{"y", " y ", "é"}, bad: []string{" ", "\n\t", "\u0007", "\u00a0"}},
		{member: "target", path: "exceptions", body: exception, good: []string{"a.b", "BDSA-1 (CVE-2)", name}, bad: []string{" a", "a ", "a\tb", name + "x"}},
		{
			member: "until", path: "exceptions", body: object{"target": "x", "reason": "y", "dry_run": true},
			good: []string{"2029-01-31", "2029-12-01T23:59:59.5+02:00"}, bad: []string{"2029-13-01", "2029-01-32", "2029-00-10", "2029-01-31T24:00:00Z", "2029-01-31T12:60:00Z", "31.1.2029"},
		},
		{member: "projects", path: "exceptions", body: exception, list: true, good: globs, bad: noGlobs},
		{member: "paths", path: "exceptions", body: exception, list: true, good: []string{"src/**", "/a", "a b", "*.py", "[a-z]"}, bad: []string{"", " a", "a ", "#a", "!a", `a\b`, "a\nb"}},
		{member: "projects", path: chain, body: condition, list: true, good: globs, bad: noGlobs},
		{member: "branches", path: chain, body: condition, list: true, good: globs, bad: noGlobs},
		{member: "tags", path: chain, body: condition, list: true, good: []string{"pci", strings.Repeat("é", 64)}, bad: []string{strings.Repeat("t", 65)}},
		{member: "name", path: "projects", body: project, good: []string{"a/b", "a/.b/c", "a/.../..c", "é/ b"}, bad: []string{"abc", "a//b", "a/b/", "/a/b", "a/.", "../a", "a/b\n", "a/\u2028"}},
		{
			member: "url", path: "projects", body: project, good: []string{"", "https://git.example", "http://git.example:8080/a/b?c=d#e", "HTTPS://[::1]/a%20b", "http://[1:2:3:4:5:6:7::]", "http://[::ffff:192.0.2.1]:80", "https://é.example/ü"},
			bad: []string{"git.example/a", "ftp://git.example", "https://", "https:///a", "https://me:secret@git.example/a", "https://git.example/%zz", "https://git.example/a\nb", "javascript:alert(1)", "https://[6]", "https://[1:2:3]", "https://[1::2::3]", "https://[1:2:3:4:5:6:7:8::]"},
		},
		{member: "primary_branch", path: "projects", body: project, good: []string{"main", "refs/heads/a/b"}, bad: []string{"a b", "a\tb"}},
		{member: "primary_branch", method: "PATCH", path: "projects/acme/patched", body: object{}, good: []string{"main", "None"}, bad: []string{"", "a b"}},
		{member: "url", path: "sbom/export", body: object{}, inside: "metadataSupplier", good: []string{"", "https://acme.example/about"}, bad: []string{"acme", "ftp://acme.example"}},
		{member: "email", path: "sbom/export", body: object{}, inside: "metadataSupplier.contact", good: []string{"", "jane.doe+x@acme.example"}, bad: []string{"jane", "jane@", "Jane <jane@acme.example>", "a b@acme.example"}},
	}
}

// with returns the body with a text in the member.
func (c ruledText) with(text string) object {
	body := maps.Clone(c.body)
	at := body
	if c.inside != "" {
		for name := range strings.SplitSeq(c.inside, ".") {
			inner := object{}
			at[name], at = inner, inner
		}
	}
	if at[c.member] = text; c.list {
		at[c.member] = []any{text}
	}
	return body
}

// TestTextValidation sends texts that the server accepts or rejects by rules that openapi.json
// contains only as text.
func TestTextValidation(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := &world{site: s}
		s.send(t, request{method: "POST", path: "projects", body: object{"name": "acme/patched"}})
		for _, c := range textRules("policies/" + w.policyID(t, "PRODUCT_TYPE_SCA") + "/conditions") {
			if c.method == "" {
				c.method = "POST"
			}
			for _, text := range c.good {
				if a := s.send(t, request{method: c.method, path: c.path, body: c.with(text)}); a.status != 200 && a.status != 409 {
					t.Errorf("%s.%s: %.30q returns %d %s", c.path, c.member, text, a.status, a.body)
				}
			}
			for _, text := range c.bad {
				a := s.send(t, request{method: c.method, path: c.path, body: c.with(text)})
				if a.status != 400 {
					t.Errorf("%s.%s: %.30q returns %d %s", c.path, c.member, text, a.status, a.body)
				}
				if strings.Contains(string(a.body), "secret") {
					t.Errorf("%s.%s: the response contains a password: %s", c.path, c.member, a.body)
				}
			}
		}
	})
}
