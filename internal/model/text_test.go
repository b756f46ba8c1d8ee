package model

import (
	"strings"
	"testing"
)

func TestControlCharactersInUserTextAreNeutralized(t *testing.T) {
	const hostile = "a\x1b[2Jb\u009bc\u202ed\u2066e\x7ff\r\ng\th\u2028i"
	for name, c := range map[string][2]string{
		"a line":     {Line(hostile), "a[2Jbcdefghi"},
		"a note":     {Note(hostile), "a[2Jbcdef\ng\thi"},
		"escaped":    {Escaped(hostile, "\n"), `a\u001b[2Jb\u009bc\u202ed\u2066e\u007ff\u000d` + "\n" + `g\u0009h\u2028i`},
		"no UTF-8":   {Escaped("a\x9bb\ufffd", ""), `a\x9bb` + "\ufffd"},
		"nothing":    {Line("Zoë 数 \u200fab"), "Zoë 数 \u200fab"},
		"as it was":  {Escaped("Zoë 数", ""), "Zoë 数"},
		"line of no": {Line(""), ""},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %q, want %q", name, c[0], c[1])
		}
	}
}

// TestControlsStayOutside checks that names and texts reject control characters.
func TestControlsStayOutside(t *testing.T) {
	for _, hostile := range []string{"\x1b[2J", "\u009b", "\n", "\x7f", "\u202e", "\u2069", "\u2028"} {
		if err := CheckProjectName("acme/a" + hostile); err == nil {
			t.Errorf("a project may be named with %q", hostile)
		}
		if tags, err := NormalTags([]string{"a" + hostile + "b"}); err != nil || HasControls(tags[0]) {
			t.Errorf("a tag with %q is kept as %q, %v", hostile, tags, err)
		}
		e := Exception{Target: "CVE-2021-44228" + hostile, Reason: "because", TriageReason: AcceptableRisk}
		if e.Check(e.CreatedAt) == nil {
			t.Errorf("an exception may be for something with %q", hostile)
		}
		e = Exception{Target: "CVE-2021-44228", Reason: "be" + hostile + "cause", TriageReason: AcceptableRisk, Projects: []string{"acme/*" + hostile}}
		if e.Check(e.CreatedAt) == nil {
			t.Errorf("a glob may hold %q", hostile)
		}
		if HasControls(strings.ReplaceAll(e.Reason, "\n", "")) {
			t.Errorf("the reason is kept as %q", e.Reason)
		}
		if CheckRef("refs/heads/a"+hostile) == nil {
			t.Errorf("a ref may be named with %q", hostile)
		}
	}
	if err := CheckRef("feature/ü"); err != nil {
		t.Error(err)
	}
}

func TestShortenAndCutBytes(t *testing.T) {
	for name, c := range map[string][2]string{
		"fits":                     {Shorten("数a数", 3), "数a数"},
		"characters":               {Shorten("数a数b", 3), "数a…"},
		"one":                      {Shorten("ab", 1), "…"},
		"empty":                    {Shorten("", 1), ""},
		"bytes fit":                {CutBytes("a数", 4), "a数"},
		"bytes between characters": {CutBytes("a数b", 3), "a"},
		"no bytes":                 {CutBytes("数", 0), ""},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %q, want %q", name, c[0], c[1])
		}
	}
}
