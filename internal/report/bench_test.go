package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// bigSARIF is a report of so many results, some 480 bytes each.
func bigSARIF(results int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"CodeQL","rules":[`)
	for i := range 200 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"js/rule-%d","properties":{"security-severity":"7.5","tags":["security","external/cwe/cwe-079"]}}`, i)
	}
	b.WriteString(`]}},"results":[`)
	for i := range results {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"ruleId":"js/rule-%d","ruleIndex":%d,"level":"error","message":{"text":"Cross-site scripting vulnerability due to a [user-provided value](1)."},`+
			`"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/module%d/file%d.js","uriBaseId":"%%SRCROOT%%","index":%d},`+
			`"region":{"startLine":%d,"startColumn":5,"endColumn":42,"snippet":{"text":"    res.send(\"<h1>\" + req.query.name + \"</h1>\")"}}}}],`+
			`"partialFingerprints":{"primaryLocationLineHash":"%016x:1"}}`, i%200, i%200, i%50, i%1000, i%1000, i+1, i)
	}
	b.WriteString(`]}]}`)
	return b.Bytes()
}

// BenchmarkSARIF reads 50,000 results. Compare ns/result with that of
// BenchmarkValid, the least that any reader of the same bytes does.
func BenchmarkSARIF(b *testing.B) {
	benchmarkResults(b, func(data []byte, results int) error {
		reports, err := Read(bytes.NewReader(data), Options{Name: "x.sarif"})
		if err == nil && len(reports[0].Results) != results {
			return fmt.Errorf("%d results", len(reports[0].Results))
		}
		return err
	})
}

// BenchmarkValid only looks whether the same bytes are JSON.
func BenchmarkValid(b *testing.B) {
	benchmarkResults(b, func(data []byte, _ int) error {
		if !json.Valid(data) {
			return fmt.Errorf("not JSON")
		}
		return nil
	})
}

func benchmarkResults(b *testing.B, read func(data []byte, results int) error) {
	const results = 50_000
	data := bigSARIF(results)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := read(data, results); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/results, "ns/result")
}
