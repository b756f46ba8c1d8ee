// Prose checks the language of Redoubt: documents, pages, comments, help texts and names. The rules are in rules.go, and
// docs/contributing/language.md explains them. It prints each violation and exits with status 1 if there is one.
//
//	prose [FILE...]
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// exceptionsFile lists the violations that are allowed, with a reason.
const exceptionsFile = "internal/tools/prose/exceptions.txt"

func main() {
	count, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	if count > 0 {
		fmt.Fprintf(os.Stderr, "prose: %d violations; docs/contributing/language.md explains the rules\n", count)
		os.Exit(1)
	}
}

// run checks files, all of the repository by default, and returns the number of violations.
func run(files []string) (count int, err error) {
	all := len(files) == 0
	if all {
		if files, err = tracked(); err != nil {
			return 0, err
		}
	}
	text, err := os.ReadFile(exceptionsFile)
	if err != nil {
		return 0, err
	}
	allowed, err := parseExceptions(string(text))
	if err != nil {
		return 0, err
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		violations, err := checkFile(name, string(data))
		if err != nil {
			return 0, err
		}
		for _, v := range allowed.filter(violations) {
			fmt.Println(v)
			count++
		}
	}
	if all {
		for _, e := range allowed.unused() {
			fmt.Printf("%s:%d: no violation needs this exception\n", exceptionsFile, e.line)
			count++
		}
	}
	return count, nil
}

// tracked returns the files of the repository whose language is checked.
func tracked() (files []string, err error) {
	out, err := exec.Command("git", "ls-files", "-z", "*.md", "*.html", "*.go").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if name := string(name); name != "" && !excluded(name) {
			files = append(files, name)
		}
	}
	return files, nil
}

// excluded reports whether the language of a file is not ours, or the file quotes what the rules forbid.
func excluded(name string) bool {
	dirs := strings.Split(filepath.ToSlash(filepath.Dir(name)), "/")
	if slices.Contains(dirs, "testdata") || slices.Contains(dirs, "samples") {
		return true
	}
	return strings.HasPrefix(name, "internal/tools/prose/") || name == "docs/contributing/language.md" ||
		name == "internal/about/THIRD_PARTY.md" || strings.HasPrefix(name, "docs/reference/cli") || strings.HasSuffix(name, "_test.go")
}

// checkFile returns the violations of a file, by the kind that its name says.
func checkFile(name, text string) ([]violation, error) {
	var passages []passage
	var err error
	switch filepath.Ext(name) {
	case ".md":
		passages = markdownPassages(text)
	case ".html":
		passages = templatePassages(text)
	case ".go":
		passages, err = goPassages(name, text)
	default:
		return nil, fmt.Errorf("%s: only .md, .html and .go files are checked", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []violation
	for _, p := range passages {
		for _, v := range check(p) {
			v.file = name
			out = append(out, v)
		}
	}
	return out, nil
}
