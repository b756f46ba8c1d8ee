package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// exception allows a violation: the rule, the files by a glob, the words in lower case ("*" for any), and why.
type exception struct {
	line               int
	rule, files, words string
	used               bool
}

type exceptions []*exception

// parseExceptions reads lines `RULE FILES "WORDS" # reason`. A line without a reason is an error.
func parseExceptions(text string) (list exceptions, err error) {
	for i, line := range strings.Split(text, "\n") {
		line, reason, _ := strings.Cut(line, " # ")
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		head, words, quoted := strings.Cut(line, ` "`)
		fields := strings.Fields(head)
		if len(fields) != 2 || !quoted || !strings.HasSuffix(words, `"`) || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: write RULE FILES \"WORDS\" # reason", exceptionsFile, i+1)
		}
		if _, err := filepath.Match(fields[1], ""); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", exceptionsFile, i+1, err)
		}
		list = append(list, &exception{line: i + 1, rule: fields[0], files: fields[1], words: strings.ToLower(strings.TrimSuffix(words, `"`))})
	}
	return list, nil
}

// filter returns the violations that no exception allows.
func (list exceptions) filter(violations []violation) (out []violation) {
	for _, v := range violations {
		if !list.allow(v) {
			out = append(out, v)
		}
	}
	return out
}

func (list exceptions) allow(v violation) bool {
	for _, e := range list {
		inFile, _ := filepath.Match(e.files, v.file)
		if e.rule == v.rule && inFile && (e.words == "*" || e.words == strings.ToLower(v.found)) {
			e.used = true
			return true
		}
	}
	return false
}

// unused returns the exceptions that allowed nothing.
func (list exceptions) unused() (out exceptions) {
	for _, e := range list {
		if !e.used {
			out = append(out, e)
		}
	}
	return out
}
