package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// place is what a finding is compared by. Line and column count from 1.
type place struct {
	rule, path   string
	line, column int
}

// finding is an open one, by its id, with the text that it matched.
type finding struct {
	place
	text string
}

// result is what the replay of a repository came to.
type result struct {
	commits, fewest, most int // findings of a commit
	kept                  int // findings that a commit left on their path
	// hops are findings that kept id and path while their text changed, although as
	// much of the old text as before still stands in the file.
	hops           int
	missing, extra int // places that only the scanner tells, and only the server
}

// compare counts what differs between two sets of places.
func (r *result) compare(server map[int64]finding, scanner map[place]bool) {
	open := map[place]bool{}
	for _, f := range server {
		open[f.place] = true
	}
	for p := range scanner {
		if !open[p] {
			r.missing++
		}
	}
	for p := range open {
		if !scanner[p] {
			r.extra++
		}
	}
	if n := len(open); r.commits == 0 || n < r.fewest {
		r.fewest = n
	}
	r.most = max(r.most, len(open))
	r.commits++
}

// follow compares a commit with the one before.
func (r *result) follow(before, after map[int64]finding) {
	type matched struct{ rule, path, text string }
	count := func(list map[int64]finding) map[matched]int {
		out := map[matched]int{}
		for f := range maps.Values(list) {
			out[matched{f.rule, f.path, f.text}]++
		}
		return out
	}
	had, has := count(before), count(after)
	for id, was := range before {
		is, there := after[id]
		if !there || is.path != was.path {
			continue
		}
		r.kept++
		m := matched{was.rule, was.path, was.text}
		if is.text != was.text && has[m] >= had[m] {
			r.hops++
		}
	}
}

// matchedText is what stands at a place of a checkout, without layout. Lines and
// columns count from 1; the end is behind the last column.
func matchedText(dir string, from place, endLine, endColumn int) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(from.path)))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(text), "\n")
	if from.line < 1 || endLine < from.line || endLine > len(lines) {
		return "", fmt.Errorf("%s has no lines %d to %d", from.path, from.line, endLine)
	}
	lines = slices.Clone(lines[from.line-1 : endLine])
	last := len(lines) - 1
	lines[last] = lines[last][:min(max(endColumn-1, 0), len(lines[last]))]
	lines[0] = lines[0][min(max(from.column-1, 0), len(lines[0])):]
	return strings.Join(strings.Fields(strings.Join(lines, " ")), " "), nil
}
