package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/cli/command"
)

// ManCmd prints a manual page.
type ManCmd struct {
	Command []string `arg:"" optional:"" help:"Command, such as token create (default: redoubt)."`
}

// Run prints the manual page of a command, for man -l -.
func (c ManCmd) Run(a *command.App, k *kong.Kong) error {
	node := k.Model.Node
	for _, word := range c.Command {
		var child *kong.Node
		for _, n := range node.Children {
			if n.Name == word && !n.Hidden {
				child = n
			}
		}
		if child == nil {
			return fmt.Errorf("command %q not found: run redoubt --help", strings.Join(c.Command, " "))
		}
		node = child
	}
	writeManual(command.Exact(a.Out), node)
	return nil
}

// writeManual writes a page in the man(7) format.
func writeManual(w io.Writer, node *kong.Node) {
	name := strings.ReplaceAll(node.FullPath(), " ", "-")
	fmt.Fprintf(w, ".TH %s 1 \"\" \"Redoubt %s\" \"Redoubt\"\n", roff(strings.ToUpper(name)), roff(about.Version))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n",
		roff(name), roff(OneLine(node.Help)), roff(node.FullPath()))
	for _, arg := range node.Positional {
		fmt.Fprintf(w, "%s\n", roff(arg.Summary()))
	}
	if len(node.Children) > 0 {
		fmt.Fprint(w, ".I COMMAND\n[FLAGS]\n.SH COMMANDS\n")
		for _, child := range node.Leaves(true) {
			path := strings.TrimPrefix(child.FullPath(), node.FullPath()+" ")
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(path), roff(OneLine(child.Help)))
		}
	}
	if node.Detail != "" {
		fmt.Fprintf(w, ".SH DESCRIPTION\n%s\n", roff(OneLine(node.Detail)))
	}
	if len(node.Positional) > 0 {
		fmt.Fprint(w, ".SH ARGUMENTS\n")
		for _, arg := range node.Positional {
			fmt.Fprintf(w, ".TP\n.I %s\n%s\n", roff(arg.Summary()), roff(OneLine(arg.Help)))
		}
	}
	fmt.Fprint(w, ".SH OPTIONS\n")
	for _, flag := range flagsOf(node) {
		fmt.Fprintf(w, ".TP\n.B %s\n%s%s\n", roff(flag.String()), roff(OneLine(flag.Help)), roff(Environment(flag)))
	}
	fmt.Fprint(w, ".SH EXIT STATUS\n0 on success, 1 on failure, 2 if the command line is invalid.\n")
}

// Environment returns the environment variables of a flag.
func Environment(flag *kong.Flag) string {
	if len(flag.Envs) == 0 {
		return ""
	}
	return " Environment: " + strings.Join(flag.Envs, ", ") + "."
}

// OneLine returns a text with its lines joined.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// roff escapes control characters of roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}
