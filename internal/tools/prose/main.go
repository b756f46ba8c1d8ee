// Prose checks the language of comments, names, pages, help and documentation. It reads the files
// that git lists, prints "path:line: [rule] text" for each violation, and ends with "prose: N
// violations". The exit status is 1 if there is a violation or an exception that matches nothing.
// docs/contributing/language.md explains the rules.
//
//	go run ./internal/tools/prose [folder]
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// violation is a passage that breaks a rule.
type violation struct {
	file string
	line int
	rule string
	text string // the sentence, the identifier or the start of the line
	part string // the words that break the rule
}

func (v violation) String() string {
	text := strings.Join(strings.Fields(v.text), " ")
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown]) + "…"
	}
	return fmt.Sprintf("%s:%d: [%s] %s: %s", v.file, v.line, v.rule, v.part, text)
}

// table is the file with the exceptions.
const table = "internal/tools/prose/exceptions.go"

// maxShown is the length of a text in the output, in characters.
const maxShown = 160

func main() {
	flag.Parse()
	root := cmp.Or(flag.Arg(0), ".")
	names, err := listed(context.Background(), root)
	if err != nil {
		fail(err)
	}
	var found []violation
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) { // deleted, but still in the index of git
			continue
		}
		if err != nil {
			fail(err)
		}
		violations, err := check(name, string(content))
		if err != nil {
			fail(err)
		}
		found = append(found, violations...)
	}
	found = except(found, exceptions)
	for _, v := range found {
		fmt.Println(v)
	}
	fmt.Printf("prose: %d violations\n", len(found))
	if len(found) > 0 {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "prose: %v\n", err)
	os.Exit(2)
}

// listed returns the files of a git work tree, including new files that git does not ignore.
func listed(ctx context.Context, root string) ([]string, error) {
	command := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z", "--cached", "--others",
		"--exclude-standard", "--", "*.md", "*.html", "*.go")
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing files with git: %w", err)
	}
	var names []string
	for name := range bytes.SplitSeq(output, []byte{0}) {
		if len(name) > 0 && !excluded(string(name)) {
			names = append(names, string(name))
		}
	}
	return names, nil
}

// excluded reports whether a file is not checked: tests, generated files, files of other projects
// and the rules themselves.
func excluded(name string) bool {
	return strings.HasSuffix(name, "_test.go") || strings.Contains("/"+name, "/testdata/") ||
		slices.ContainsFunc([]string{
			"docs/reference/cli/", "internal/demo/samples/", "internal/tools/prose/rules.go", table,
		}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// check applies all rules to a file.
func check(name, content string) (found []violation, err error) {
	var passages []passage
	switch {
	case strings.HasSuffix(name, ".md"):
		passages = markdown(content)
		found = wideLines(name, content)
	case strings.HasSuffix(name, ".html"):
		passages = template(content)
	default:
		passages, err = goFile(name, content)
	}
	for _, p := range passages {
		found = append(found, apply(name, p)...)
	}
	return found, err
}

// except removes violations with an exception, sorts the others, and adds a violation for each
// exception that matches nothing.
func except(found []violation, list []exception) (rest []violation) {
	used := make([]bool, len(list))
	for _, v := range found {
		excepted := false
		for i, e := range list {
			text := strings.Join(strings.Fields(v.text), " ")
			if (e.file == "" || e.file == v.file) && e.rule == v.rule && strings.Contains(text, e.text) {
				used[i], excepted = true, true
			}
		}
		if !excepted {
			rest = append(rest, v)
		}
	}
	for i, e := range list {
		if !used[i] {
			text := e.file + ": [" + e.rule + "] " + e.text
			rest = append(rest, violation{table, 1, "exception", text, "matches nothing, remove it"})
		}
	}
	slices.SortStableFunc(rest, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.rule, b.rule))
	})
	return rest
}
