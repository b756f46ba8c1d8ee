package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/redoubt/redoubt/internal/cli"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/testutil/clienttest"
)

const referenceFolder = "../../docs/reference/cli"

// commandTree returns the command line as users see it.
func commandTree(t *testing.T) *kong.Node {
	t.Helper()
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model.Node
}

// TestReferenceIsCurrent compares the pages below docs/reference/cli with the commands; -update writes them.
func TestReferenceIsCurrent(t *testing.T) {
	pages := referencePages(t)
	if *clienttest.Update {
		if err := os.RemoveAll(referenceFolder); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(referenceFolder, 0o755); err != nil { //nolint:gosec // pages of the documentation
			t.Fatal(err)
		}
		for name, text := range pages {
			if err := os.WriteFile(filepath.Join(referenceFolder, name), []byte(text), 0o644); err != nil { //nolint:gosec // as above
				t.Fatal(err)
			}
		}
		return
	}
	files, err := os.ReadDir(referenceFolder)
	if err != nil || len(files) != len(pages) {
		t.Errorf("%s has %d files, want %d (%v): run this test with -update", referenceFolder, len(files), len(pages), err)
	}
	for name, want := range pages {
		text, err := os.ReadFile(filepath.Join(referenceFolder, name))
		if err != nil || string(text) != want {
			t.Errorf("%s is not current (%v): run this test with -update", name, err)
		}
		if lines := strings.Count(want, "\n"); lines > 200 {
			t.Errorf("%s has %d lines, at most 200", name, lines)
		}
	}
}

// referencePages returns the texts of the pages by file name: an index, and a page per noun.
func referencePages(t *testing.T) map[string]string {
	t.Helper()
	common, err := kong.New(&struct{ webapi.Flags }{})
	if err != nil {
		t.Fatal(err)
	}
	var index strings.Builder
	index.WriteString("# Command-line reference\n\n" +
		"These pages are generated: `go test ./cmd/redoubt -run TestReferenceIsCurrent -update`.\n" +
		"[Command line](../../guides/command-line.md) explains how commands work.\n\n| command | |\n|---|---|\n")
	pages := map[string]string{}
	for _, node := range commandTree(t).Children {
		if node.Hidden {
			continue
		}
		var page strings.Builder
		writeReference(&page, node, common.Model.Flags)
		pages[node.Name+".md"] = strings.TrimPrefix(page.String(), "\n")
		fmt.Fprintf(&index, "| [%s](%s.md) | %s |\n", node.Name, node.Name, cli.OneLine(node.Help))
	}
	index.WriteString("\n## Common flags\n\nFlags of commands that work with a server or with its database.\n")
	writeFlags(&index, common.Model.Node, nil)
	pages["README.md"] = index.String()
	return pages
}

// writeReference writes the section of a noun with its verbs. Common flags have a separate section.
func writeReference(out *strings.Builder, node *kong.Node, common []*kong.Flag) {
	if node.Hidden {
		return
	}
	level := strings.Repeat("#", min(node.Depth()+1, 4))
	fmt.Fprintf(out, "\n%s %s\n\n%s\n", level, node.Path(), cli.OneLine(node.Help))
	for _, child := range node.Children {
		writeReference(out, child, common)
	}
	if len(node.Children) > 0 {
		return
	}
	fmt.Fprintf(out, "\n`%s`\n", cli.OneLine(node.Summary()))
	named := func(list []*kong.Flag, f *kong.Flag) bool {
		return slices.ContainsFunc(list, func(one *kong.Flag) bool { return one.Name == f.Name })
	}
	if slices.ContainsFunc(common, func(f *kong.Flag) bool { return f.Name != "help" && !named(node.Flags, f) }) {
		common = nil
	}
	writeFlags(out, node, func(f *kong.Flag) bool { return named(common, f) })
	if common != nil {
		out.WriteString("\nAlso the [common flags](README.md#common-flags).\n")
	}
}

// writeFlags writes a table of the arguments and flags of a command.
func writeFlags(out *strings.Builder, node *kong.Node, skip func(*kong.Flag) bool) {
	var rows []string
	for _, arg := range node.Positional {
		rows = append(rows, referenceRow(arg.Summary(), arg.Help, ""))
	}
	for _, f := range node.Flags {
		if !f.Hidden && f.Name != "help" && (skip == nil || !skip(f)) {
			rows = append(rows, referenceRow(f.String(), f.Help, cli.Environment(f)))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(out, "\n| argument or flag | |\n|---|---|\n%s\n", strings.Join(rows, "\n"))
	}
}

func referenceRow(name, help, environment string) string {
	cell := func(text string) string { return strings.ReplaceAll(cli.OneLine(text), "|", `\|`) }
	return fmt.Sprintf("| `%s` | %s |", cell(name), cell(help+environment))
}

// TestCommandNounsAreUnique checks that the help lists each noun once, and that no two names differ only by a
// plural s.
func TestCommandNounsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, node := range commandTree(t).Children {
		if node.Hidden {
			continue
		}
		if noun := strings.TrimSuffix(node.Name, "s"); seen[noun] {
			t.Errorf("there are two nouns %s", noun)
		} else {
			seen[noun] = true
		}
	}
}
