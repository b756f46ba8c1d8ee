// Package demo contains the data of `redoubt demo`: real scanner reports about four small projects,
// advisories, and a history of imports and decisions. It embeds and lists files, but does not parse
// or import them. samples/README.md describes the tools; `make samples` regenerates the files.
package demo

import (
	"embed"
	"io/fs"
	"strings"
)

// Samples contains the rules, reports and advisories under samples/, but not the scanned code.
//
//go:embed samples/rules samples/reports samples/advisories
var Samples embed.FS

// code contains the first version of one of the projects.
//
//go:embed all:samples/_src/acme/payments/tree
var code embed.FS

// Code returns a directory of code with findings, for a repository to scan.
func Code() (fs.FS, error) { return fs.Sub(code, "samples/_src/acme/payments/tree") }

// commits maps a project and a version, joined by a space, to the commit of its reports. It is read
// from a file that `make samples` writes. The tests check that it contains all versions of the
// timeline.
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

// Folder returns one of the directories of Samples.
func Folder(name string) (fs.FS, error) { return fs.Sub(Samples, name) }

// ScoresOf is the date of the EPSS scores in Samples.
const ScoresOf = "2026-01-01"
