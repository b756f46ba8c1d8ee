package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
	"github.com/redoubt/redoubt/internal/report/semgrep"
)

// TestCodeFromCheckout checks that the lines of matches are read from the scanned file, unless the
// file was changed.
func TestCodeFromCheckout(t *testing.T) {
	const text = "one\n  eval(a);\r\nö = eval(\n  b)\nlast"
	at := func(line, col, offset int) string {
		return fmt.Sprintf(`{"line":%d,"col":%d,"offset":%d}`, line, col, offset)
	}
	for name, test := range map[string]struct{ from, to, lines, want string }{
		"a line":                          {at(2, 3, 6), at(2, 10, 13), semgrep.RequiresLogin, "  eval(a);"},
		"several lines, in bytes":         {at(3, 6, 21), at(4, 5, 31), semgrep.RequiresLogin, "ö = eval(\n  b)"},
		"characters, at bytes":            {at(3, 5, 21), at(4, 5, 31), semgrep.RequiresLogin, "ö = eval(\n  b)"},
		"characters":                      {at(3, 5, 20), at(4, 5, 30), semgrep.RequiresLogin, "ö = eval(\n  b)"},
		"the last line, to its end":       {at(5, 1, 32), at(5, 5, 36), semgrep.RequiresLogin, "last"},
		"it has moved since":              {at(2, 3, 8), at(2, 10, 15), semgrep.RequiresLogin, ""},
		"its end has":                     {at(2, 3, 6), at(2, 10, 14), semgrep.RequiresLogin, ""},
		"a line that is not there":        {at(9, 1, 90), at(9, 4, 93), semgrep.RequiresLogin, ""},
		"a column that is not there":      {at(2, 400, 404), at(2, 401, 405), semgrep.RequiresLogin, ""},
		"the end before the beginning":    {at(2, 3, 6), at(1, 1, 0), semgrep.RequiresLogin, ""},
		"no offsets":                      {at(2, 3, 0), at(2, 10, 0), semgrep.RequiresLogin, ""},
		"numbers from nowhere":            {at(-1, -1, -1), at(1<<40, 1<<40, 1<<40), semgrep.RequiresLogin, ""},
		"what the report says is so":      {at(2, 3, 6), at(2, 10, 13), "  eval(b);", "  eval(b);"},
		"what it says to be nothing, too": {at(2, 3, 6), at(2, 10, 13), "", ""},
	} {
		for _, path := range []string{"a.js", "b.js"} {
			data := fmt.Sprintf(`{"results":[{"check_id":"r","path":%q,"start":%s,"end":%s,"extra":{"message":"m","severity":"ERROR","metadata":{},"fingerprint":"requires login","lines":%q}}],"errors":[],"paths":{"scanned":["a.js"]}}`, path, test.from, test.to, test.lines)
			left := map[string]string{}
			reports, err := Read(strings.NewReader(data), format.Options{Source: func(path string) string {
				if path == "a.js" {
					return text
				}
				return ""
			}, Unlooked: func(path, why string) { left[path] = why }})
			if err != nil {
				t.Fatal(err)
			}
			if reason := left["a.js"]; (reason != "") != (path == "a.js" && test.want == "" && test.lines == semgrep.RequiresLogin) {
				t.Errorf("%s, %s: it says %q", name, path, reason)
			}
			want := test.want
			if path != "a.js" && test.lines == semgrep.RequiresLogin {
				want = ""
			}
			r := reports[0].Results[0]
			if r.Code != want || r.MatchBasedID != "" || (r.CodeHash == "") != (want == "") {
				t.Errorf("%s, %s: %q, want %q; %q", name, path, r.Code, want, r.MatchBasedID)
			}
		}
	}
}

// TestCheckoutFilesAreReadOnce checks that each file is read once, up to the limit.
func TestCheckoutFilesAreReadOnce(t *testing.T) {
	var results []string
	for i := range 30 {
		results = append(results, fmt.Sprintf(`{"check_id":"r","path":"%d.js","start":{"line":1,"col":1,"offset":0},"end":{"line":1,"col":3,"offset":2},"extra":{"message":"m","severity":"ERROR","metadata":{},"lines":"requires login"}}`, i%20))
	}
	reads, left := 0, map[string]string{}
	reports, err := Read(strings.NewReader(`{"results":[`+strings.Join(results, ",")+`],"errors":[],"paths":{"scanned":[]}}`), format.Options{Source: func(string) string {
		reads++
		return strings.Repeat("x", semgrep.MaxSources/10)
	}, Unlooked: func(path, why string) { left[path] = why }})
	if err != nil || reads != 10 { // the last one reaches the limit
		t.Fatalf("%d files were read, %v", reads, err)
	}
	withCode := 0
	for _, r := range reports[0].Results {
		if r.Code != "" {
			withCode++
		}
	}
	if withCode != 20 { // 10 of them twice
		t.Errorf("%d have code", withCode)
	}
	if len(left) != 10 || left["19.js"] == "" {
		t.Errorf("it says %v", left)
	}
}

// TestPositionsInLongLines checks positions in bytes and characters in a file with long lines.
func TestPositionsInLongLines(t *testing.T) {
	var text strings.Builder
	for i := range 9000 {
		text.WriteString([]string{"a", "ö", "€\x80\xe2", "𝄞", "b\xe9\x80", "\n"}[(i*i+i/7)%6*min(1, i%97)])
	}
	s := semgrep.NewSources(func(string) string { return text.String() }, nil)
	f := s.File("a.js")
	line, column, columnBytes, characters := 1, 1, 1, 0
	for at, r := range text.String() {
		number := func(n int) read.Number { return read.Number(n) }
		for _, p := range []secrets.Position{
			{Line: number(line), Col: number(column), Offset: number(at)},
			{Line: number(line), Col: number(columnBytes), Offset: number(at)},
		} {
			if got := f.OffsetOf(p); got != at {
				t.Fatalf("%+v is at %d, want %d", p, got, at)
			}
		}
		if got := f.Bytes(characters); got != at {
			t.Fatalf("character %d is at %d, want %d", characters, got, at)
		}
		if from, stop := f.Line(line - 1); f.OffsetOf(secrets.Position{Line: number(line), Col: number(column), Offset: number(characters)}) < from || at >= stop {
			t.Fatalf("character %d is not in line %d", characters, line)
		}
		if got := f.OffsetOf(secrets.Position{Line: number(line), Col: number(column), Offset: number(len(text.String()) + 5)}); got != -1 {
			t.Fatalf("an offset past the end is at %d", got)
		}
		characters, column, columnBytes = characters+1, column+1, columnBytes+widthAt(text.String(), at)
		if r == '\n' {
			line, column, columnBytes = line+1, 1, 1
		}
	}
}

func widthAt(text string, at int) int {
	_, size := utf8.DecodeRuneInString(text[at:])
	return size
}

// TestCodeInOtherEncodings checks that lines of files in other encodings are decoded as the
// scanner does.
func TestCodeInOtherEncodings(t *testing.T) {
	for text, want := range map[string]string{
		"// h\xe9\xe8lo\n/* \xe9\xe8 */ eval(b);\n":             "/* \uFFFD\uFFFD */ eval(b);",
		"// \x93\xfa\x96{\n/* \x93\xfa\x96{ */ eval(b);\n":      "/* \uFFFD\uFFFD\uFFFD{ */ eval(b);",
		"// \xe2\x82 \xf0\x9f\x98\n/* \xe2\x82 */ eval(b);\n":   "/* \uFFFD */ eval(b);",
		"// \xe2\x82\n/* \xe2\x82\xac\xe2\x82 */ eval(b);\nx\n": "/* \u20ac\uFFFD */ eval(b);",
	} {
		at := strings.Index(text, "eval")
		col := at - strings.Index(text, "\n")
		data := fmt.Sprintf(`{"results":[{"check_id":"r","path":"a.js","start":{"line":2,"col":%d,"offset":%d},"end":{"line":2,"col":%d,"offset":%d},"extra":{"message":"m","severity":"ERROR","metadata":{},"fingerprint":"requires login","lines":"requires login"}}],"errors":[],"paths":{"scanned":["a.js"]}}`, col, at, col+7, at+7)
		reports, err := Read(strings.NewReader(data), format.Options{Source: func(string) string { return text }})
		if err != nil {
			t.Fatal(err)
		}
		if got := reports[0].Results[0].Code; got != want {
			t.Errorf("%q of %q, want %q", got, text, want)
		}
	}
}

// TestCheckoutCodeIsBounded checks that the code of many results with the same long
// line is limited. The limit is that of a report of the same length.
func TestCheckoutCodeIsBounded(t *testing.T) {
	const results = 5000
	one := `{"check_id":"r","path":"a.js","start":{"line":1,"col":1,"offset":0},"end":{"line":1,"col":3,"offset":2},"extra":{"message":"m","severity":"ERROR","metadata":{},"lines":"requires login"}}`
	reports, err := Read(strings.NewReader(`{"results":[`+strings.Repeat(one+",", results-1)+one+`],"errors":[],"paths":{"scanned":[]}}`), format.Options{Source: func(string) string {
		return strings.Repeat("x", 4<<20)
	}})
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, r := range reports[0].Results {
		if r.Code != "" {
			size += len(r.Code)
		}
	}
	if limit := (&format.Budget{Read: int64(results * len(one))}).Limit(); size == 0 || int64(size) > limit/2 {
		t.Errorf("%d bytes of code are given", size)
	}
}
