package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/redoubt/redoubt/internal/cli"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/testutil/clienttest"
)

const referenceFile = "../../docs/reference/cli.md"

// commandTree returns the command line as users see it.
func commandTree(t *testing.T) *kong.Node {
	t.Helper()
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model.Node
}

// TestReferenceIsCurrent compares docs/reference/cli.md with the commands; -update writes it.
func TestReferenceIsCurrent(t *testing.T) {
	var out strings.Builder
	out.WriteString("# Command-line reference\n\n" +
		"Generated from the program: `go test ./cmd/redoubt -run TestReferenceIsCurrent -update`.\n" +
		"[The command line](../guides/command-line.md) explains how commands work.\n")
	common, err := kong.New(&struct{ webapi.Flags }{})
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString("\n## Common flags\n\nFlags of commands that work with a server or beside its database.\n")
	writeFlags(&out, common.Model.Node, nil)
	for _, node := range commandTree(t).Children {
		writeReference(&out, node, common.Model.Flags)
	}
	if *clienttest.Update {
		if err := os.WriteFile(referenceFile, []byte(out.String()), 0o644); err != nil { //nolint:gosec // a page of the documentation
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(referenceFile)
	if err != nil || string(text) != out.String() {
		t.Errorf("%s is not current (%v): run this test with -update", referenceFile, err)
	}
}

// writeReference writes the section of a noun with its verbs. Common flags have a separate section.
func writeReference(out *strings.Builder, node *kong.Node, common []*kong.Flag) {
	if node.Hidden {
		return
	}
	level := strings.Repeat("#", min(node.Depth()+2, 4))
	fmt.Fprintf(out, "\n%s %s\n\n%s\n", level, node.Path(), cli.OneLine(node.Help))
	for _, child := range node.Children {
		writeReference(out, child, common)
	}
	if len(node.Children) > 0 {
		return
	}
	fmt.Fprintf(out, "\n```\n%s\n```\n", cli.OneLine(node.Summary()))
	named := func(list []*kong.Flag, f *kong.Flag) bool {
		return slices.ContainsFunc(list, func(one *kong.Flag) bool { return one.Name == f.Name })
	}
	if slices.ContainsFunc(common, func(f *kong.Flag) bool { return f.Name != "help" && !named(node.Flags, f) }) {
		common = nil
	}
	writeFlags(out, node, func(f *kong.Flag) bool { return named(common, f) })
	if common != nil {
		out.WriteString("\nAnd the [common flags](#common-flags).\n")
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

// TestNounsDiffer checks that the help lists each noun once, and that no two names differ only by a
// plural s.
func TestNounsDiffer(t *testing.T) {
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
