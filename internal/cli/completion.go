package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/redoubt/redoubt/internal/cli/command"
)

// CompletionCmd prints completion scripts for shells.
type CompletionCmd struct {
	Bash  completionScriptCmd `cmd:"" help:"Print the completion for bash: source <(redoubt completion bash)"`
	Zsh   completionScriptCmd `cmd:"" help:"Print the completion for zsh: source <(redoubt completion zsh)"`
	Fish  completionScriptCmd `cmd:"" help:"Print the completion for fish: redoubt completion fish | source"`
	Words completionWordsCmd  `cmd:"" hidden:"" help:"Print completions, for the scripts."`
}

// completionScripts run redoubt to list completions, so they know all commands and flags of the
// installed version.
var completionScripts = map[string]string{
	"bash": `_redoubt() {
  local IFS=$'\n'
  COMPREPLY=($(redoubt completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _redoubt redoubt
`,
	"zsh": `#compdef redoubt
_redoubt() {
  local -a lines found
  local line
  lines=("${(@f)$(redoubt completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( $#found )); then _describe redoubt found; else _files; fi
}
compdef _redoubt redoubt
`,
	"fish": `complete -c redoubt -a '(redoubt completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
}

type completionScriptCmd struct{}

// Run prints the script of the shell that the command is named after.
func (completionScriptCmd) Run(a *command.App, line *kong.Context) error {
	_, err := fmt.Fprint(a.Out, completionScripts[line.Selected().Name])
	return err
}

type completionWordsCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"Words of the command line; the last may be incomplete."`
}

// Run prints the completions of the last word with their descriptions.
func (c completionWordsCmd) Run(a *command.App, k *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, found := range complete(k.Model.Node, words) {
		if _, err := fmt.Fprintf(a.Out, "%s\t%s\n", found.word, found.help); err != nil {
			return err
		}
	}
	return nil
}

// completed is a completion with its description.
type completed struct{ word, help string }

// complete returns the completions of the last word.
func complete(root *kong.Node, words []string) (found []completed) {
	if len(words) == 0 {
		words = []string{""}
	}
	node, wants := walkLine(root, words[:len(words)-1])
	last := words[len(words)-1]
	name, typed, given := strings.Cut(last, "=")
	if flag := flagOf(node, name); given && flag != nil {
		return valuesOf(flag, name+"=", typed)
	}
	switch {
	case wants != nil:
		return valuesOf(wants, "", last)
	case strings.HasPrefix(last, "-"):
		for _, flag := range flagsOf(node) {
			found = add(found, last, "--"+flag.Name, flag.Help)
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				found = add(found, last, child.Name, child.Help)
			}
		}
		for _, arg := range node.Positional {
			for _, value := range enumOf(arg) {
				found = add(found, last, value, arg.Help)
			}
		}
	}
	slices.SortFunc(found, func(a, b completed) int { return strings.Compare(a.word, b.word) })
	return found
}

// walkLine follows the words to the command that they name. wants is the flag that expects its
// value next, if any.
func walkLine(root *kong.Node, words []string) (node *kong.Node, wants *kong.Value) {
	node = root
	for _, word := range words {
		if word == "=" { // bash splits words at =
			continue
		}
		if wants != nil {
			wants = nil
			continue
		}
		if strings.HasPrefix(word, "-") {
			if flag := flagOf(node, word); flag != nil && !flag.IsBool() && !flag.IsCounter() {
				wants = flag
			}
			continue
		}
		for _, child := range node.Children {
			if child.Name == word || slices.Contains(child.Aliases, word) {
				node = child
				break
			}
		}
	}
	return node, wants
}

// flagsOf returns the visible flags of a command and of its parents.
func flagsOf(node *kong.Node) (list []*kong.Flag) {
	for ; node != nil; node = node.Parent {
		for _, flag := range node.Flags {
			if !flag.Hidden {
				list = append(list, flag)
			}
		}
	}
	return list
}

func flagOf(node *kong.Node, word string) *kong.Value {
	for _, flag := range flagsOf(node) {
		if word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short) {
			return flag.Value
		}
	}
	return nil
}

// valuesOf returns the completions of a flag with an enumeration.
func valuesOf(flag *kong.Value, before, typed string) (found []completed) {
	for _, value := range enumOf(flag) {
		found = add(found, before+typed, before+value, flag.Help)
	}
	return found
}

func enumOf(v *kong.Value) (list []string) {
	for _, value := range v.EnumSlice() {
		if value = strings.TrimSpace(value); value != "" {
			list = append(list, value)
		}
	}
	return list
}

// add appends a word if it begins with the typed text. Its help is joined to one line.
func add(found []completed, typed, word, help string) []completed {
	if !strings.HasPrefix(word, typed) {
		return found
	}
	return append(found, completed{word, strings.Join(strings.Fields(help), " ")})
}
