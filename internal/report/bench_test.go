package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/report/format"
)

// bigSARIF returns a report with a number of results of some 480 bytes each.
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

// BenchmarkSARIF reads 50,000 results. BenchmarkValid is the lower limit of ns/result.
func BenchmarkSARIF(b *testing.B) {
	benchmarkResults(b, func(data []byte, results int) error {
		reports, err := Read(bytes.NewReader(data), format.Options{Name: "x.sarif"})
		if err == nil && len(reports[0].Results) != results {
			return fmt.Errorf("%d results", len(reports[0].Results))
		}
		return err
	})
}

// BenchmarkValid validates the JSON that BenchmarkSARIF reads.
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

// BenchmarkCIResultsGrowth compares uploads with many renamed, skipped and searched files, one ten
// times as large as the other. Linear time is ten times as long; the limit is twenty.
func BenchmarkCIResultsGrowth(b *testing.B) {
	const few = 2_000
	small, large := renamedFiles(few), renamedFiles(10*few)
	read := func(text []byte, paths int) time.Duration {
		begun := time.Now()
		reading, err := ReadCIResults(bytes.NewReader(text), format.Options{})
		took := time.Since(begun)
		if err != nil {
			b.Fatal(err)
		}
		if skipped := len(reading.Reports(nil)[0].Skipped); skipped != paths/2 {
			b.Fatalf("%d skipped, want %d", skipped, paths/2)
		}
		return took
	}
	ofSmall, ofLarge := time.Hour, time.Hour // the minimum, which is the least disturbed
	for b.Loop() {
		ofSmall = min(ofSmall, read(small, few))
		ofLarge = min(ofLarge, read(large, 10*few))
	}
	growth := ofLarge.Seconds() / ofSmall.Seconds()
	b.ReportMetric(growth, "x-of-a-tenth")
	b.ReportMetric(growth/20, "x-limit")
}

// renamedFiles returns results with a number of skipped files, all of which were renamed. Half of
// the old names were searched.
func renamedFiles(count int) []byte {
	list := func(from int) []byte {
		var paths []string
		for i := from; i < count; i++ {
			paths = append(paths, fmt.Sprintf("src/of/some/length/file_%06d.py", i))
		}
		text, _ := json.Marshal(paths) // strings only
		return text
	}
	return fmt.Appendf(nil, `{"findings":[],"renamed_paths":%s,"skipped_paths":%s,"searched_paths":%s}`, list(0), list(0), list(count/2))
}
