package main

import (
	"slices"
	"strings"
	"testing"
)

// rulesOf returns the names of the rules that a file breaks.
func rulesOf(t *testing.T, name, text string) (rules []string) {
	t.Helper()
	violations, err := checkFile(name, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		rules = append(rules, v.rule)
	}
	return rules
}

var long = strings.TrimSpace(strings.Repeat("word ", 40)) + "."

func TestViolationsAreFound(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a.md", "# Querying the API\n\nThe server returns a page.\n", nil},
		{"a.md", "## Ask it\n", []string{"heading"}},
		{"a.md", "- " + long + "\n", []string{"length"}},
		{"a.md", "One sentence\nover two lines, " + long + "\n", []string{"length"}},
		{"a.md", "```\n" + long + "\nnobody\n```\n", nil},
		{"a.md", "`nobody` is a user; write @nobody in a comment.\n", nil},
		{"a.md", "| Nobody | is told |\n|---|---|\n", []string{"people", "told"}},
		{"a.md", strings.Repeat("x", 121) + "\n", []string{"width"}},
		{"a.md", "The host says no. Reports that tell no code are handed in anew.\n", []string{"subject", "coined", "coined"}},
		{"a.md", "What tells no code\n", []string{"headless"}},
		{"a.html", `<h1>Ask {{.Name}}</h1><p title="Nobody">Text</p>`, []string{"heading", "people"}},
		{"a.html", "<p>" + strings.ReplaceAll(long, "word word", "<b>word</b> word") + "</p>", []string{"length"}},
		{"a.go", "package a\n\n// seats says who may read.\nvar limit int\n", []string{"headless", "headless"}},
		{"a.go", "package a\n\nfunc tellAdded() {}\n", []string{"name"}},
		{"a.go", "package a\n\ntype t struct{ Heard, total int }\n", []string{"name"}},
		{"a.go", "package a\n\n// Wake notifies an idle worker that a job was added.\nfunc Wake() {}\n", nil},
		{"a.go", "package a\n\n// " + long + "\nfunc Wake() {}\n", []string{"length"}},
		{"a.go", "package a\n\n//go:embed nobody\nvar x string\n", nil},
		{"a.go", "package a\n\ntype t struct {\n\tA string `help:\"" + strings.Repeat("word ", 11) + "\"`\n}\n", []string{"help"}},
	} {
		if got := rulesOf(t, c.name, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %v, want %v", c.name, c.text, got, c.want)
		}
	}
}

func TestLinesAreThoseOfTheFile(t *testing.T) {
	for name, text := range map[string]string{
		"a.md":   "# Title\n\nFirst\nnobody\n",
		"a.html": "<p>\n{{with\n.X}}\nnobody</p>",
		"a.go":   "package a\n\n// First line.\n//\n// nobody\nvar x int\n",
	} {
		violations, err := checkFile(name, text)
		if err != nil || len(violations) != 1 || violations[0].line < 1 || violations[0].line > 5 {
			t.Errorf("%s: %v, %v", name, violations, err)
		}
	}
}

func TestExceptions(t *testing.T) {
	list, err := parseExceptions("# a comment\npeople docs/*.md \"nobody\" # a user of the system\n")
	if err != nil {
		t.Fatal(err)
	}
	violations := []violation{{file: "docs/a.md", rule: "people", found: "Nobody"}, {file: "README.md", rule: "people", found: "nobody"}}
	if got := list.filter(violations); len(got) != 1 || got[0].file != "README.md" || len(list.unused()) != 0 {
		t.Errorf("%v, unused %v", got, list.unused())
	}
	for _, bad := range []string{"people docs/*.md \"nobody\"", "people \"nobody\" # why", "people [ \"x\" # why"} {
		if _, err := parseExceptions(bad); err == nil {
			t.Errorf("%s: accepted", bad)
		}
	}
}
