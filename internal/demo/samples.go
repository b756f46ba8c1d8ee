// Package demo holds what `redoubt demo` shows: reports that real scanners wrote about four small projects of ours,
// records of advisories, and the history in which they came and people decided about them. It embeds and lists; it
// neither parses a report nor imports one. samples/README.md says which tool made which file, `make samples` makes
// them again.
package demo

import (
	"embed"
	"io/fs"
	"strings"
)

// Samples holds the rules, reports and advisories under samples/, not the code that they are about.
//
//go:embed samples/rules samples/reports samples/advisories
var Samples embed.FS

// code is what one of the projects was before anybody looked at it.
//
//go:embed all:samples/_src/acme/payments/tree
var code embed.FS

// Code is a folder of code with something to find in it, for a repository that is scanned.
func Code() (fs.FS, error) { return fs.Sub(code, "samples/_src/acme/payments/tree") }

// commits maps a project and a version of it, joined by a space, to the commit the reports were made from. It is
// read from the file that `make samples` writes; the package's tests prove that every version of the timeline is in
// it.
var commits = readCommits()

func readCommits() map[string]string {
	byVersion := map[string]string{}
	text, _ := Samples.ReadFile("samples/reports/commits.txt") // embedded, so it cannot fail
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			byVersion[fields[0]+" "+fields[1]] = fields[2]
		}
	}
	return byVersion
}

// Folder is one of the folders of Samples.
func Folder(name string) (fs.FS, error) { return fs.Sub(Samples, name) }

// ScoresOf is the day that stands in the EPSS scores of Samples.
const ScoresOf = "2026-01-01"
