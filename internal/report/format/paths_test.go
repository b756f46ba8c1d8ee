package format

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

func TestPaths(t *testing.T) {
	c := &Checkout{}
	c.AddRoot("/builds/acme/pay")
	c.AddRoot(`D:\build\pay`)
	c.AddRoot("/") // not a root
	tests := []struct {
		raw   string
		isURI bool
		want  string // empty if refused
	}{
		{raw: "a/b.py", want: "a/b.py"},
		{raw: "./a/b.py", want: "a/b.py"},
		{raw: "a//b/../c.py", want: "a/c.py"},
		{raw: `src\app\x.cs`, want: "src/app/x.cs"},
		{raw: "a%20b.py", want: "a%20b.py"},
		{raw: "a%20b.py", isURI: true, want: "a b.py"},
		{raw: "100%.py", isURI: true, want: "100%.py"},
		{raw: "/builds/acme/pay/a.py", want: "a.py"},
		{raw: "/builds/acme/payroll/a.py"},
		{raw: "/builds/acme/pay/../other/a.py"},
		{raw: "file:///builds/acme/pay/a.py", isURI: true, want: "a.py"},
		{raw: "file://host/builds/acme/pay/a.py", isURI: true, want: "a.py"},
		{raw: "file:/builds/acme/pay/a.py", isURI: true, want: "a.py"},
		{raw: "FILE:///builds/acme/pay/a.py", isURI: true, want: "a.py"},
		{raw: `d:\build\pay\a.cs`, want: "a.cs"},
		{raw: "file:///D:/build/pay/a.cs", isURI: true, want: "a.cs"},
		{raw: "file:///d%3A/build/pay/a.cs", isURI: true, want: "a.cs"},
		{raw: "https://example.org/a.py", isURI: true},
		{raw: "../a.py"},
		{raw: "a/../../b.py"},
		{raw: "%2e%2e/a.py", isURI: true},
		{raw: `..\a.py`},
		{raw: "/etc/passwd"},
		{raw: ""},
		{raw: "."},
		{raw: "/builds/acme/pay"},
		{raw: "a\x00b\n.py", want: "ab.py"},
		{raw: "a%00b.py", isURI: true, want: "ab.py"},
		{raw: "a\xffb.py", want: "a\ufffdb.py"},
		{raw: strings.Repeat("a/", read.MaxPath)},
	}
	for _, test := range tests {
		got, err := c.resolve(test.raw, test.isURI)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("resolve(%q, uri %v) = %q, %v; want %q", test.raw, test.isURI, got, err, test.want)
		}
	}
}

// TestPathsStayInside checks that resolved paths are clean, relative and inside of the repository.
func TestPathsStayInside(t *testing.T) {
	piece := rapid.SampledFrom([]string{"..", ".", "/", `\`, "a", "b c", "%2e", "%2f", "%5c", "file://", "c:", "\x00", "\u202e", "é", "%zz"})
	rapid.Check(t, func(t *rapid.T) {
		raw := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "raw"), "")
		c := &Checkout{}
		c.AddRoot(strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "root"), ""))
		got, err := c.resolve(raw, rapid.Bool().Draw(t, "uri"))
		if err == nil && !reporttest.IsInside(got) {
			t.Fatalf("resolve(%q) = %q", raw, got)
		}
	})
}
