package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rulesOf returns the sorted rules that a file breaks, each once.
func rulesOf(t *testing.T, name, content string) []string {
	t.Helper()
	found, err := check(name, content)
	if err != nil {
		t.Fatal(err)
	}
	rules := []string{}
	for _, v := range found {
		rules = append(rules, v.rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

func TestPlantedPassages(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 40)) + "."
	code := func(text string) string { return "package p\n\n" + text + "\n" }
	for _, test := range []struct {
		name, bad, plain string
		rules            []string
	}{
		{
			"a.go", code("// seats says who may read a large webhook.\nvar seats int"),
			code("// largeBodies limits concurrent reads of large webhook bodies.\nvar largeBodies int"),
			[]string{"coined", "name", "people", "told"},
		},
		{"README.md", "seats says who may read a large webhook.", "Reads are limited.", []string{"coined", "people"}},
		{"README.md", "# Ask it\n", "# Querying the API\n", []string{"heading"}},
		{"README.md", "# What is new?\n", "# Changes\n", []string{"heading"}},
		{"docs/reference/a.md", "# Create a token\n", "# Start and memory\n", []string{"heading"}},
		{"docs/guides/a.md", "# Tell people.\n", "# Create a token\n", []string{"heading"}},
		{"a.go", code("func tellAdded() {}"), code("func emitAdded() {}"), []string{"name"}},
		{"a.go", code("type A int\n\nfunc (A) Whatever() {}"), code("type OIDCTask int"), []string{"name"}},
		{"a.md", strings.ReplaceAll(long, " ", "\n"), strings.Repeat("A short sentence.\n", 20), []string{"length"}},
		{"a.md", "| " + long + " |", "| " + strings.Repeat("a part; ", 20) + " |", []string{"length"}},
		{"a.go", code("// A is a " + long + "\ntype A int"), code("// A is a value.\ntype A int"), []string{"length"}},
		{"a.html", "<p>" + long + "</p>", "<p>A short text.</p>", []string{"length"}},
		{"a.md", strings.Repeat("wide\u00a0word. ", 14), "```\n" + long + "\n```\n", []string{"width"}},
		{"a.md", "The server says no.", "The server takes 3 seconds, and `make tell` holds up.", []string{"told"}},
		{"a.go", code("// T are\n// told apart.\nvar a int"), code("// T differ.\nvar a int"), []string{"told"}},
		{"a.html", "<p>It <b>is</b> told.</p>", "<p>It <b>is</b> sent.</p>", []string{"told"}},
		{"a.md", "A token that was told of.", "The provider returns a token.", []string{"told"}},
		{"a.md", "| a |\n|---|\n| what is open |", "What is open? The list shows open findings.", []string{"headless"}},
		{"a.go", code("// What is open.\nvar a int"), code("// Who returns.\nfunc Who() {}"), []string{"headless"}},
		{"a.html", `<input placeholder="Everybody">`, `<input alt="Unassigned" name="everybody">`, []string{"people"}},
	} {
		t.Run(test.name+" "+test.bad[:min(40, len(test.bad))], func(t *testing.T) {
			if diff := cmp.Diff(test.rules, rulesOf(t, test.name, test.bad)); diff != "" {
				t.Errorf("planted text breaks other rules (-want +got):\n%s", diff)
			}
			if found := rulesOf(t, test.name, test.plain); len(found) > 0 {
				t.Errorf("plain text breaks %v:\n%s", found, test.plain)
			}
		})
	}
}

func TestHelpTexts(t *testing.T) {
	const file = "package p\n\ntype c struct {\n\tA aCmd `%s`\n}\n"
	for _, test := range []struct {
		tag   string
		rules []string
	}{
		{`cmd:"" help:"List exceptions."`, []string{}},
		{`cmd:"" help:"Prepare data for another database."`, []string{}},
		{`cmd:"" help:"Distribute deployments."`, []string{}},
		{`cmd:"" help:"What people accepted."`, []string{"headless", "subject"}},
		{`cmd:"" help:"Look after the keys."`, []string{"subject"}},
		{`cmd:"" help:"List the exceptions of one project and of all projects in one table."`, []string{"help"}},
		{`help:"Address of the server; that of the last sign-in by default, or of the environment."`, []string{}},
		{`help:"How others reach this server."`, []string{"subject"}},
		{`doc:"Whether the finding is open."`, []string{}},
		{`doc:"What the rule says."`, []string{"headless", "told"}},
	} {
		if diff := cmp.Diff(test.rules, rulesOf(t, "cmd/redoubt/a.go", fmt.Sprintf(file, test.tag))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.tag, diff)
		}
	}
	operation := "package p\n\nvar words = map[string]doc{\"a\": {Summary: \"%s\", Text: \"It is \" +\n\t\"told.\"}}\n"
	for summary, want := range map[string][]string{
		"List tokens": {"told"}, "Comment on a finding": {"told"}, "The tokens": {"subject", "told"},
	} {
		found := rulesOf(t, "internal/apihttp/words.go", fmt.Sprintf(operation, summary))
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", summary, diff)
		}
	}
}

// show returns the passages, one a line, with line breaks as "/".
func show(passages []passage) (lines []string) {
	for _, p := range passages {
		lines = append(lines, fmt.Sprintf("%d %d %s", p.line, p.kind, strings.ReplaceAll(p.text, "\n", "/")))
	}
	return lines
}

func TestMarkdown(t *testing.T) {
	const document = "# A `b` [title](x.md)\n\nFirst **line**\nof [a\nlink](y.md).\n- item\n  goes on\n\n" +
		"```\ncode\n```\n<!-- no\n-->\n" +
		"| one | `a|b` |\n|---|---|\n| two | |\n"
	want := []string{
		"1 0 A _ title", "3 1 First line/of a/link.", "6 1 item/goes on", "14 2  one ", "14 2  _ ", "16 2  two ",
	}
	if diff := cmp.Diff(want, show(markdown(document))); diff != "" {
		t.Error(diff)
	}
}

func TestTemplate(t *testing.T) {
	const page = "{{define \"a\"}}<h2 title=\"Hint\">Tokens of {{.Name}}</h2>\n" +
		"<p>Some <b>bold</b>\ntext{{if .A}}yes{{end}}</p>" +
		"<script>var hidden</script>{{template \"x\" \"Shown text\"}}"
	want := []string{"3 3 Shown text", "1 3 Hint", "1 0 Tokens of _", "2 3 Some    bold    /text", "3 3 yes"}
	lines := show(template(page))
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestGoFile(t *testing.T) {
	const file = "// Package p is documented.\npackage p\n\n//go:generate no\n\n" +
		"// A is a type\n// of two lines.\n//\n//\tcode\ntype A struct {\n" +
		"\tB int `help:\"Number of parts.\"` // comment\n}\n\n// f does not\nfunc f() {\n\t// inner\n}\n"
	passages, err := goFile("a.go", file)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 4  Package p is documented.", "6 4  A is a type/ of two lines.", "10 9 A", "11 4  comment",
		"14 4  f does not", "15 9 f", "11 6 Number of parts.",
	}
	if diff := cmp.Diff(want, show(passages)); diff != "" {
		t.Error(diff)
	}
}

func TestExceptions(t *testing.T) {
	found := []violation{
		{"a.md", 3, "told", "The server\nsays no.", "server says"},
		{"a.md", 1, "people", "Anybody", "Anybody"},
		{"c.md", 2, "people", "A b", "A"},
		{"d.md", 2, "people", "A b", "A"},
	}
	rest := except(found, []exception{
		{"a.md", "told", "server says no", "an example"},
		{"b.md", "told", "server says no", "unused"},
		{"", "people", "A b", "all files"},
	})
	var lines []string
	for _, v := range rest {
		lines = append(lines, v.String())
	}
	want := []string{
		"a.md:1: [people] Anybody: Anybody",
		"internal/tools/prose/exceptions.go:1: [exception] matches nothing, remove it: b.md: [told] server says no",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	for _, e := range exceptions {
		if e.reason == "" {
			t.Errorf("the exception %v has no reason", e)
		}
	}
}

func TestSplit(t *testing.T) {
	for id, want := range map[string]string{
		"tellAdded": "tell Added", "OIDCTask2FA": "OIDC Task FA", "mask": "mask", "errAPI_x": "err API x",
	} {
		if got := strings.Join(split(id), " "); got != want {
			t.Errorf("split(%q) = %q, want %q", id, got, want)
		}
	}
}
