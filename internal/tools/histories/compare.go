package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// location is the key for comparing findings. Line and column count from 1.
type location struct {
	rule, path   string
	line, column int
}

// finding is an open finding with its matched text.
type finding struct {
	location
	text string
}

// result is the result of replaying a repository.
type result struct {
	commits, fewest, most int // commits, and the range of the number of findings in a commit
	retained              int // findings that a commit left at their path
	// hops counts findings that retain their id and path with another text, although the file
	// contains the old text as often as before.
	hops           int
	missing, extra int // places reported by the scanner only, and by the server only
}

// compare counts the differences between two sets of places.
func (r *result) compare(server map[int64]finding, scanner map[location]bool) {
	open := map[location]bool{}
	for _, f := range server {
		open[f.location] = true
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

// follow compares a commit with the previous one.
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
		is, found := after[id]
		if !found || is.path != was.path {
			continue
		}
		r.retained++
		m := matched{was.rule, was.path, was.text}
		if is.text != was.text && has[m] >= had[m] {
			r.hops++
		}
	}
}

// matchedText returns the text at a location of a checkout, without layout. Lines and columns count
// from 1; the end column is exclusive.
func matchedText(dir string, from location, endLine, endColumn int) (string, error) {
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
