package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// oldBlankLiterals replaces one string after the other.
func oldBlankLiterals(res *model.Result) {
	blankIn := func(code string) string {
		code, found := secrets.BlankStrings(code)
		for _, inner := range found {
			for _, quote := range []string{"'", `"`, "`"} {
				res.Message = strings.ReplaceAll(res.Message, quote+inner+quote, quote+secrets.Redacted+quote)
			}
		}
		return code
	}
	res.Code = blankIn(res.Code)
	for i := range res.DataFlow {
		res.DataFlow[i].Content = blankIn(res.DataFlow[i].Content)
	}
}

// FuzzLiterals checks that BlankLiterals removes at least as much as oldBlankLiterals, and the same
// if strings do not overlap.
func FuzzLiterals(f *testing.F) {
	f.Add(`x('letmein', "it's")`, `found 'letmein' and "it's" and 'letmein'`, `y = 'other'`)
	f.Add(`"a'b'c'd'e'f"`, `quotes 'a'b'c'd'e'f' and 'g'`, "")
	f.Add(`'abcd' 'efgh'`, `'abcd'efgh'`, "")
	f.Fuzz(func(t *testing.T, code, message, flow string) {
		make2 := func() model.Result {
			return model.Result{Code: code, Message: message, DataFlow: []model.FlowStep{{Content: flow}}}
		}
		want, got := make2(), make2()
		oldBlankLiterals(&want)
		secrets.BlankLiterals(&got)
		if want.Code != got.Code || want.DataFlow[0] != got.DataFlow[0] {
			t.Fatalf("the code is %q %q, want %q %q", got.Code, got.DataFlow[0].Content, want.Code, want.DataFlow[0].Content)
		}
		_, found := secrets.BlankStrings(code)
		_, more := secrets.BlankStrings(flow)
		literals, inner := map[string]bool{}, 0
		for _, s := range append(found, more...) {
			literals[s] = true
			inner = max(inner, strings.Count(s, "'"), strings.Count(s, `"`), strings.Count(s, "`"))
		}
		spans := secrets.QuotedSpans(message, literals)
		apart := true
		for i := 1; i < len(spans); i++ {
			apart = apart && spans[i].From > spans[i-1].To+1
		}
		if apart && inner <= secrets.MaxInner && !strings.Contains(code+message+flow, "REDACTED") && got.Message != want.Message {
			t.Errorf("%q became %q, want %q", message, got.Message, want.Message)
		}
		for s := range literals {
			for _, q := range []string{"'", `"`, "`"} {
				if strings.Contains(got.Message, q+s+q) && !strings.Contains(secrets.Redacted, s) {
					t.Errorf("%q keeps %q", got.Message, s)
				}
			}
		}
	})
}

// BenchmarkBlankText redacts the texts of real reports, with and without inserted words about
// secrets. It alternates with json.Valid of the same bytes.
func BenchmarkBlankText(b *testing.B) {
	texts := ordinaryTexts(b)
	for name, texts := range map[string][]string{"ordinary": texts, "of secrets": speakingOfSecrets(texts)} {
		b.Run(name, func(b *testing.B) {
			text, err := json.Marshal(texts)
			if err != nil {
				b.Fatal(err)
			}
			r, times := secrets.NewRedactor(testKey), [2]time.Duration{}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				begun := time.Now()
				for _, s := range texts {
					r.BlankText(s)
				}
				times[0] += time.Since(begun)
				begun = time.Now()
				if !json.Valid(text) {
					b.Fatal("no JSON")
				}
				times[1] += time.Since(begun)
			}
			b.ReportMetric(times[0].Seconds()/times[1].Seconds(), "x-valid")
		})
	}
}

// semgrepOf returns a report with a number of results that contain texts.
func semgrepOf(texts []string, results int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"version":"1.180.0","skipped_rules":[],"results":[`)
	for i := range results {
		if i > 0 {
			b.WriteByte(',')
		}
		message, _ := json.Marshal(texts[i%len(texts)] + fmt.Sprint(" ", i)) // strings only
		code, _ := json.Marshal(fmt.Sprintf("    value_%d = %s", i, texts[(i*7+1)%len(texts)]))
		fmt.Fprintf(&b, `{"check_id":"rules.rule-%d","path":"src/module%d/file%d.py","start":{"line":%d,"col":5},"end":{"line":%d,"col":42},"extra":{"message":%s,"lines":%s,`+
			`"severity":"WARNING","fingerprint":"%064x_0","metadata":{"cwe":["CWE-79: x"],"confidence":"HIGH"}}}`, i%200, i%50, i%1000, i+1, i+1, message, code, i)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// BenchmarkReadTexts reads reports with and without inserted words about secrets. x-ordinary is the
// ratio of both times, and x-valid the ratio to json.Valid.
func BenchmarkReadTexts(b *testing.B) {
	const results = 5_000
	texts := ordinaryTexts(b)
	ordinary, words := semgrepOf(texts, results), semgrepOf(speakingOfSecrets(texts), results)
	times := [3]time.Duration{}
	for b.Loop() {
		for i, data := range [][]byte{ordinary, words} {
			begun := time.Now()
			reports, err := Read(bytes.NewReader(data), format.Options{Name: "x.json", Key: testKey})
			times[i] += time.Since(begun)
			if err != nil || len(reports[0].Results) != results {
				b.Fatal(err)
			}
		}
		begun := time.Now()
		if !json.Valid(words) {
			b.Fatal("no JSON")
		}
		times[2] += time.Since(begun)
	}
	b.ReportMetric(results*float64(b.N)/times[1].Seconds(), "findings/s")
	b.ReportMetric(times[1].Seconds()/times[0].Seconds()*float64(len(ordinary))/float64(len(words)), "x-ordinary")
	b.ReportMetric(times[1].Seconds()/times[2].Seconds(), "x-valid")
}

// TestRedactionTimeIsLinear checks that redaction takes linear time for malicious items. The
// code has very many strings, and the message very many quotation marks.
func TestRedactionTimeIsLinear(t *testing.T) {
	var literals strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&literals, "'%05x'", i)
	}
	half := literals.Len() / 2
	res := model.Result{
		Code: literals.String()[:half], DataFlow: []model.FlowStep{{Content: literals.String()[half:]}},
		Message: "found '0beef' of " + strings.Repeat("'don't' ", read.MaxBlock/8),
	}
	secrets.BlankLiterals(&res)
	if want := "found '" + secrets.Redacted + "' of 'don't'"; !strings.HasPrefix(res.Message, want) || strings.Contains(res.Code+res.DataFlow[0].Content, "beef") {
		t.Errorf("it became %.60q", res.Message)
	}
}
