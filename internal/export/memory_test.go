package export

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// TestExportIsStreamed checks for each format that the output follows the input with a delay of at
// most a few steps.
func TestExportIsStreamed(t *testing.T) {
	const findings = 16 * step
	for _, f := range Formats() {
		var written int64
		out := writerFunc(func(p []byte) (int, error) {
			written += int64(len(p))
			return len(p), nil
		})
		var at []int64 // bytes written at the start of each step
		source := &generated{n: findings, before: func() { at = append(at, written) }}
		if err := Write(t.Context(), out, f, []Selection{source}, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, part := range []int{4, 8, 12} {
			if share := float64(at[part]) / float64(written); share < float64(part)/16-0.15 { // margin for compression
				t.Errorf("%s: of %d of 16 steps only %.2f of the bytes are out", f, part, share)
			}
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// generated is a selection of findings that are generated when they are read.
type generated struct {
	n, done int
	before  func()
}

func (g *generated) Total() int { return g.n }

func (g *generated) Next(_ context.Context, size int, yield func(model.IssueType, []byte) error) (bool, error) {
	g.before()
	size = min(size, g.n-g.done)
	for range size {
		g.done++
		text := fmt.Sprintf(`{"id":%d,"rule_name":"rule-%d","severity":"high","location":{"filePath":"src/%d.py","line":%d},"rule_message":%q,"created_at":"2026-01-02T03:04:05Z","relevant_since":"2026-01-02T03:04:05Z","repository":{"name":"acme/%d","url":""}}`,
			g.done, g.done%7, g.done*7919%1000, g.done*104729%5000, strings.Repeat(fmt.Sprint(g.done*15485863), 6), g.done%3)
		if err := yield(model.SAST, []byte(text)); err != nil {
			return false, err
		}
	}
	return size > 0, nil
}

// BenchmarkMemory exports ten thousand and a million findings from the index in each format. It
// reports the growth of the heap, for the million relative to the ten thousand, which should be
// about 1.
func BenchmarkMemory(b *testing.B) {
	few, many := 10_000, 1_000_000
	if testing.Short() {
		many = 100_000
	}
	views := map[int]*index.View{}
	for _, n := range []int{few, many} {
		v, err := index.New(&bulk{n: n}, index.Options{BodyCache: 4 << 30}).Deployment(b.Context(), 1)
		if err != nil {
			b.Fatal(err)
		}
		views[n] = v
	}
	for _, f := range Formats() {
		b.Run(string(f), func(b *testing.B) {
			for b.Loop() {
				small := risen(b, views[few], f, few)
				began := time.Now()
				large := risen(b, views[many], f, many)
				b.ReportMetric(float64(many)/time.Since(began).Seconds(), "findings/s")
				b.ReportMetric(float64(large)/float64(1<<20), "MiB")
				b.ReportMetric(float64(large)/float64(max(small, 1)), "x-of-few")
			}
		})
	}
}

// risen returns the maximum growth of live memory in bytes during an export, measured every hundred
// steps.
func risen(b *testing.B, v *index.View, f Format, want int) int64 {
	b.Helper()
	before, most, steps, last := alive(), int64(0), 0, 0
	progress := func(n int) {
		if steps, last = steps+1, n; steps%100 == 10 {
			most = max(most, alive()-before)
		}
	}
	parts := Parts(v, f, model.FindingFilter{IssueType: model.SAST})
	if err := Write(b.Context(), io.Discard, f, parts, Options{Progress: progress}); err != nil {
		b.Fatal(err)
	}
	if f != SARIF && last != want { // SARIF reports progress per run
		b.Fatalf("%d of %d findings came", last, want)
	}
	return most
}

func alive() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// bulk is a source of many findings.
type bulk struct{ n int }

func (s *bulk) Version(context.Context, int64) (int64, error) { return 1, nil }

func (s *bulk) Versions(context.Context, []int64) (map[int64]int64, error) { return nil, nil }

func (s *bulk) Bodies(_ context.Context, _ int64, ids []int64) (map[int64][]byte, error) {
	return nil, fmt.Errorf("%d bodies are not in memory", len(ids))
}

func (s *bulk) Feed(_ context.Context, _, _ int64, yield func(*model.Batch) error) (int64, bool, error) {
	first := &model.Batch{}
	for i := range 50 {
		first.Projects = append(first.Projects, model.Project{ID: int64(i + 1), Name: fmt.Sprintf("acme/service-%d", i), URL: "https://git.example/acme"})
		first.Rules = append(first.Rules, model.Rule{ID: int64(i + 1), Name: fmt.Sprintf("python.rule-%d", i), Message: "Do not.", Category: "security", Confidence: model.ConfidenceHigh})
	}
	if err := yield(first); err != nil {
		return 0, false, err
	}
	began := time.Unix(1_700_000_000, 0)
	for at := 0; at < s.n; at += 1000 {
		b := &model.Batch{}
		for i := at; i < min(at+1000, s.n); i++ {
			message := fmt.Sprintf("Found user input in line %d of a file unchanged for years.", i)
			body, err := model.Body{RuleMessage: &message, Location: model.WireLocation{FilePath: fmt.Sprintf("src/file%d.py", i%5000), Line: i%900 + 1, EndLine: i%900 + 1}}.Members()
			if err != nil {
				return 0, false, err
			}
			b.Lineages = append(b.Lineages, model.Lineage{ID: int64(i + 1), ProjectID: int64(i%50 + 1), Triage: model.Triage{State: model.TriageUntriaged}})
			b.Findings = append(b.Findings, model.IndexedFinding{Finding: model.Finding{
				ID: int64(i + 1), LineageID: int64(i + 1), ProjectID: int64(i%50 + 1), RuleID: int64(i%47%50 + 1), IssueType: model.SAST, Ref: "refs/heads/main",
				State: model.Unresolved, Severity: model.SeverityHigh, Confidence: model.ConfidenceHigh,
				CreatedAt: began.Add(time.Duration(i) * time.Second), RelevantSince: began.Add(time.Duration(i) * time.Second),
			}, Body: body})
		}
		if err := yield(b); err != nil {
			return 0, false, err
		}
	}
	return 1, false, nil
}
