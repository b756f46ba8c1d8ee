package sbom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
)

// large returns a project of n components, a tenth of them vulnerable.
func large(n int) Content {
	c := sample()
	p := &c.Projects[0]
	p.Dependencies, p.Vulnerabilities = nil, nil
	for i := range n {
		name := fmt.Sprintf("@scope-%d/package-%d", i%50, i)
		p.Dependencies = append(p.Dependencies, model.Dependency{
			Lockfile: fmt.Sprintf("app-%d/package-lock.json", i%7), Ecosystem: "npm", Name: name, Version: fmt.Sprintf("%d.%d.0", i%9, i%31),
			Transitivity: model.Transitive, Licenses: []string{"MIT"}, Hashes: []model.Hash{{Algorithm: "SHA-512", Hex: strings.Repeat("ab", 64)}},
		})
		if i%10 == 0 {
			p.Vulnerabilities = append(p.Vulnerabilities, Vulnerability{
				ID: fmt.Sprintf("CVE-2024-%d", i), Severity: model.SeverityHigh, Description: "Something bad.", CWEs: []string{"CWE-79"},
				Ecosystem: "npm", Package: name, Version: p.Dependencies[i].Version, Fixes: []model.Fix{{Package: name, Version: "99.0.0"}},
			})
		}
	}
	return c
}

// BenchmarkWrite compares Write with json.Marshal of the finished structs, which is the lower limit
// for any use of the library.
func BenchmarkWrite(b *testing.B) {
	c := large(10_000)
	r := request("cyclonedx 1.5 json")
	bom := cycloneDX(r, c, build(c, false))
	b.Run("limit=json.Marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(bom); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, output := range []string{"cyclonedx 1.5 json", "cyclonedx 1.5 xml", "spdx 2.3 json"} {
		b.Run(strings.ReplaceAll(output, " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Write(io.Discard, request(output), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEdges compares exports with and without dependency edges.
func BenchmarkEdges(b *testing.B) {
	for _, n := range []int{3_000, 50_000} {
		with := Content{Serial: sample().Serial, Projects: []Project{npmProject(n)}}
		without := Content{Serial: sample().Serial, Projects: []Project{npmProject(n)}}
		without.Projects[0].Edges = nil
		for name, c := range map[string]Content{"edges": with, "limit=none": without} {
			for _, output := range []string{"cyclonedx 1.6 json", "spdx 2.3 json"} {
				b.Run(fmt.Sprintf("n=%d/%s/%s", n, strings.ReplaceAll(output, " ", "-"), name), func(b *testing.B) {
					for b.Loop() {
						if _, err := Write(io.Discard, request(output), c); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(len(c.Projects[0].Edges)), "edges")
				})
			}
		}
	}
}

// BenchmarkDense writes and reads 3,000 components with increasing numbers of edges. The time of a
// round trip must be linear in the edges.
func BenchmarkDense(b *testing.B) {
	for _, each := range []int{0, 100, 400} {
		p := npmProject(3_000)
		p.Edges = nil
		for i := range p.Dependencies {
			for k := range each {
				to := (i+k+1)%len(p.Dependencies) + 1
				p.Edges = append(p.Edges, model.DependencyEdge{From: int64(i + 1), To: int64(to)})
			}
		}
		c := Content{Serial: sample().Serial, Projects: []Project{p}}
		for _, output := range []string{"cyclonedx 1.6 json", "spdx 2.3 json"} {
			name := fmt.Sprintf("edges=%d/%s", len(p.Edges), strings.ReplaceAll(output, " ", "-"))
			b.Run(name+"/write", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Write(io.Discard, request(output), c); err != nil {
						b.Fatal(err)
					}
				}
			})
			doc := write(b, request(output), c)
			b.Run(name+"/read", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, err := report.Read(bytes.NewReader(doc), report.Options{Name: "bom", Limits: report.Limits{Items: 10_000_000}})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestLargeExportMemory checks that the memory allocated is proportional to the size of the
// document.
func TestLargeExportMemory(t *testing.T) {
	for output, n := range map[string]int{"cyclonedx 1.6 json": 50_000, "cyclonedx 1.6 xml": 10_000, "spdx 2.3 json": 10_000} {
		c := large(n)
		var before, after runtime.MemStats
		var counter countingWriter
		runtime.ReadMemStats(&before)
		if _, err := Write(&counter, request(output), c); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d MB allocated to write %d MB", output, allocated>>20, counter.n>>20)
		if limit := uint64(12 * counter.n); counter.n < 500*n || allocated > limit {
			t.Errorf("%s: %d bytes allocated to write %d, want at most %d", output, allocated, counter.n, limit)
		}
	}
}

type countingWriter struct{ n int }

func (w *countingWriter) Write(p []byte) (int, error) {
	w.n += len(p)
	return len(p), nil
}
