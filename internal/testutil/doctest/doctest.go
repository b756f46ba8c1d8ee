// Package doctest compares the program with its documents.
package doctest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var exitCode = regexp.MustCompile(`(?m)^\| (\d+) \|`)

// ExitCodes returns the exit codes in the table of a document that begins with head.
func ExitCodes(t testing.TB, file, head string) (codes []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), head)
	if !found {
		t.Fatalf("%s has no table that begins with %q", file, head)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for _, m := range exitCode.FindAllStringSubmatch(table, -1) {
		codes = append(codes, m[1])
	}
	return codes
}
