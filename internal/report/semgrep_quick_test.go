package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt"
)

// byDecoder is a report of semgrep whose results are read by the decoder, from the
// first on: before them is more space than is looked through.
func byDecoder(data []byte) (padded []byte, ok bool) {
	before, after, ok := bytes.Cut(data, []byte(`"results":[`))
	if !ok {
		before, after, ok = bytes.Cut(data, []byte(`"results": [`))
	}
	return bytes.Join([][]byte{before, []byte(`"results":[`), bytes.Repeat([]byte(" "), 2*maxQuick), after}, nil), ok
}

// readBothWays reads a report and expects it to be what the decoder reads of it, the
// place of an error but for the space before.
func readBothWays(t *testing.T, data []byte) {
	t.Helper()
	padded, ok := byDecoder(data)
	if !ok {
		return
	}
	type fault struct {
		where, what string
		offset      int64
	}
	readOne := func(data []byte) (reports []*redoubt.Report, f fault) {
		reports, err := Read(bytes.NewReader(data), Options{Format: SemgrepJSON, Key: testKey})
		if told := (*FileError)(nil); errors.As(err, &told) {
			f = fault{told.Where, told.Err.Error(), told.Offset}
		}
		return reports, f
	}
	got, gotErr := readOne(data)
	want, wantErr := readOne(padded)
	if wantErr.offset > 2*maxQuick {
		wantErr.offset -= 2 * maxQuick
	}
	if gotErr != wantErr {
		t.Errorf("%.300q: error %v, the decoder says %v", data, gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%.300q: %s", data, diff)
	}
}

// oddResults are results that are not as semgrep writes them, or hardly.
var oddResults = []string{
	``, `null`, `{}`, `[]`, `5`, `{"check_id":"r"`, `{"check_id":"r",}`, `{"check_id" "r"}`, `{"check_id":"r"}}`, `{,}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`, `{"a":1e+5}`,
	`{"check_id":"r","path":"a.py","extra":{}}`,
	`{"check_id":"r","path":"a.py","extra":{}} , {"check_id":"s","path":"a.py","extra":{}}`,
	`{"check_id":"r","path":"a.py","extra":{}} {"check_id":"s","path":"a.py","extra":{}}`,
	`{"check_id":"r","path":"a.py","extra":{}},`, `,{"check_id":"r","path":"a.py","extra":{}}`,
	`{"Check_ID":"r","path":"a.py","extra":{}}`, `{"chec\u212a_id":"r","path":"a.py","extra":{}}`, `{"chec` + "\u212a" + `_id":"r","path":"a.py","extra":{}}`,
	`{"check\u005fid":"r","path":"a.py","extra":{}}`, `{"check_id":"r","check_id":"s","path":"a.py","extra":{}}`,
	`{"check_id":"r","path":"a.py","start":{"line":1},"start":{"col":2},"extra":{}}`, `{"check_id":"r","path":"a.py","extra":{"message":"a"},"extra":{"lines":"b"}}`,
	`{"check_id":"r","path":"a.py","start":null,"end":null,"extra":null}`, `{"check_id":"r","path":"a.py","start":5,"extra":{}}`, `{"check_id":"r","path":"a.py","start":{"line":1,"col":[]},"extra":[]}`,
	`{"check_id":5,"path":"a.py","start":{"line":"7","col":2.0},"end":{"line":1e3,"col":-4},"extra":{"message":{"a":1},"severity":true,"lines":null,"is_ignored":1,"fingerprint":12}}`,
	`{"check_id":"r","path":"a.py","start":{"line":99999999999,"col":007},"extra":{}}`, `{"check_id":"r","path":"a.py","start":{"line":123456789012,"col":12345678},"extra":{}}`,
	`{"check_id":"r","path":"a.py","extra":{"message":"\u00e9\n\ud83d\ude00\ud83d\/","lines":"a\tb","metadata":{"cwe":["CWE-79: x"],"x":"\""}}}`,
	`{"check_id":"r","path":"a.py","extra":{"message":"\x"}}`, `{"check_id":"r","path":"a.py","extra":{"message":"\u00g0"}}`, `{"check_id":"r","path":"a.py","extra":{"message":"\u00`,
	"{\"check_id\":\"r\",\"path\":\"a.py\",\"extra\":{\"message\":\"a\tb\"}}", "{\"check_id\":\"r\",\"path\":\"a.py\",\"extra\":{\"message\":\"\xff\xc3\"}}", "{\"check_id\":\"r\x00\"}", "\x00", "\ufeff{}",
	`{"check_id":"r","path":"a.py","extra":{"sca_info":{"reachable":true,"dependency_match":{"found_dependency":{"package":"p","version":"1","ecosystem":"npm"},"lockfile":"package-lock.json"}}}}`,
	`{"check_id":"r","path":"a.py","extra":{"sca_info":5,"historical_info":[],"dataflow_trace":"x"}}`, `{"check_id":"r","path":"a.py","extra":{"sca_info":null,"historical_info":null,"dataflow_trace":null}}`,
	`{"check_id":"r","path":"a.py","extra":{"historical_info":{"git_commit":"c"},"dataflow_trace":{"taint_source":["CliLoc",[{"path":"a.py","start":{"line":1,"col":1}},"x"]],"intermediate_vars":[{"location":{"path":"a.py","start":{"line":2,"col":1}},"content":"y"}]}}}`,
	`{"check_id":"r","path":"a.py","extra":{"metadata":tru}}`, `{"check_id":"r","path":"a.py","extra":{"metadata":nulll}}`, `{"check_id":"r","path":"a.py","x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `,"extra":{}}`,
	`{"check_id":"r","path":"a.py","extra":{}}],"results":[{"check_id":"s","path":"a.py","extra":{}},{"x":5}`, `],"results":[],"results":[5],"results":[{"check_id":"s","path":"a.py","extra":{}}`,
	`],"results":null,"results":[{"check_id":"r","path":"a.py","extra":{}}],"results":[{"check_id":"s"`, `5],"results":{},"results":[`,
	" \r\n\t{ \"check_id\" : \"r\" , \"path\" : \"a.py\" , \"extra\" : { \"metadata\" : { } , \"engine_kind\" : \"OSS\" } } ",
}

func oddReports() (out [][]byte) {
	const sound = `{"check_id":"ok","path":"b.py","start":{"line":3,"col":1},"end":{"line":3,"col":9},"extra":{"message":"m","lines":"code()","metadata":{"product":"sast"}}}`
	for _, odd := range oddResults {
		for _, results := range []string{odd, sound + "," + odd + "," + sound} {
			out = append(out, []byte(`{"version":"1","results":[`+results+`],"errors":[],"paths":{"scanned":["a.py"]}}`))
		}
	}
	return out
}

// TestQuickReportsAreAsTheDecoderReadsThem reads real and odd reports both ways, and
// small ones cut at each byte.
func TestQuickReportsAreAsTheDecoderReadsThem(t *testing.T) {
	for _, data := range oddReports() {
		readBothWays(t, data)
	}
	files, err := filepath.Glob("testdata/semgrep/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		readBothWays(t, data)
	}
	sound := []byte(`{"results":[{"check_id":"r","path":"a.py","start":{"line":3,"col":1},"extra":{"message":"m\u00e9","metadata":{"a":[1.5e3,true,null,"\\"]}}},{"check_id":"s","extra":null}],"errors":[]}`)
	for i := range sound {
		readBothWays(t, sound[:i])
	}
}

// TestQuickReadsOnAcrossItsBuffer reads results that stand in all ways over the end of
// what is in memory, one of them larger than is read without the decoder.
func TestQuickReadsOnAcrossItsBuffer(t *testing.T) {
	for _, size := range []int{1, 1000, headSize - 60, headSize, 3 * headSize, maxQuick, 2*maxQuick + 1} {
		var b strings.Builder
		b.WriteString(`{"results":[`)
		for i := range 300 {
			if i > 0 {
				b.WriteString(", ")
			}
			long := 700 + 13*i%97
			if i == 150 {
				long = size
			}
			fmt.Fprintf(&b, `{"check_id":"r%d","path":"a.py","start":{"line":%d,"col":1},"extra":{"message":"%s","metadata":{}}}`, i%7, i+1, strings.Repeat("word ", long/5))
		}
		b.WriteString(`],"paths":{"scanned":["a.py"]}}`)
		reports, err := Read(strings.NewReader(b.String()), Options{Format: SemgrepJSON})
		if err != nil {
			t.Fatalf("%d: %v", size, err)
		}
		if n := len(reports[0].Results); n != 300 || len(reports[0].Searched) != 1 {
			t.Fatalf("%d: %d results, searched %v", size, n, reports[0].Searched)
		}
		for i, res := range reports[0].Results {
			if res.Location.Line != i+1 || res.Item != fmt.Sprintf("results[%d]", i) {
				t.Errorf("%d: %s at line %d", size, res.Item, res.Location.Line)
			}
		}
		readBothWays(t, []byte(b.String()))
	}
}

// TestQuickReadsEveryListOfResults reads documents that name their results several
// times, of which all count, wherever the buffers end.
func TestQuickReadsEveryListOfResults(t *testing.T) {
	list := func(n, long int) string {
		one := `{"check_id":"r","path":"a.py","start":{"line":1,"col":1},"extra":{"message":"` + strings.Repeat("m", long) + `"}}`
		return strings.TrimSuffix(strings.Repeat(one+",", n), ",")
	}
	for long := range 400 {
		lists := []string{list(60, 10), list(400, long), "", list(200, 3*long)}
		doc := []byte(`{"results":[` + strings.Join(lists, `],"results":[`) + `],"paths":{"scanned":["a.py"]}}`)
		reports, err := Read(bytes.NewReader(doc), Options{Format: SemgrepJSON})
		if err != nil {
			t.Fatalf("%d: %v", long, err)
		}
		if n := len(reports[0].Results); n != 660 || len(reports[0].Searched) != 1 {
			t.Errorf("%d: %d results of 660, searched %v", long, n, reports[0].Searched)
		}
		if long%40 == 0 {
			readBothWays(t, doc)
		}
	}
}

// FuzzQuickResult reads one result as the decoder does, or leaves it to that.
func FuzzQuickResult(f *testing.F) {
	for _, odd := range oddResults {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s semgrep
		c := cursor{b: data}
		s.parse(&c)
		if c.stopped() {
			return
		}
		var want semgrepResult
		dec := json.NewDecoder(bytes.NewReader(data))
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q was read, the decoder says %v", data, err)
		}
		if int(dec.InputOffset()) != c.at {
			t.Errorf("%q: read to %d, the decoder to %d", data, c.at, dec.InputOffset())
		}
		if diff := cmp.Diff(want, s.quick, cmp.AllowUnexported(semgrepResult{})); diff != "" {
			t.Errorf("%q: %s", data, diff)
		}
	})
}
