package lockfile_test

import (
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// TestGoStdlib checks that the required release of Go is the version of the standard library.
func TestGoStdlib(t *testing.T) {
	for text, want := range map[string]string{
		"module a\n":                                                   "",
		"module a\n\ngo 1.21\n":                                        "1.21 3",
		"module a\ngo 1.22rc1 // soon\n":                               "1.22rc1 2",
		"toolchain go1.22.3\nmodule a\ngo 1.22.1\n":                    "1.22.3 1",
		"module a\ngo 1.22.1\ntoolchain go1.22.3-custom\n":             "1.22.3 3",
		"module a\ngo 1.22.1\ntoolchain default\n":                     "1.22.1 2",
		"module a\ngo next\n":                                          "",
		"module a\ngo 1\n":                                             "",
		"module a\ngo 1.22 1.23\n":                                     "",
		"module a\ngo 1.22\nrequire (\n\tstdlib.example/a v1.0.0\n)\n": "1.22 2",
	} {
		got := ""
		for _, d := range readOne(t, "go.mod", text).Inventories[0].Dependencies {
			if d.Name == lockfile.GoStdlib {
				got += fmt.Sprint(d.Version, " ", d.Line)
				if d.Ecosystem != "gomod" || d.PURL != "pkg:golang/stdlib@"+d.Version || d.Transitivity.String() != "direct" {
					t.Errorf("%q: %+v", text, d)
				}
			}
		}
		if got != want {
			t.Errorf("%q: stdlib %q, want %q", text, got, want)
		}
	}
}
