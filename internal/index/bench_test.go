package index

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// bulk is a Source of many findings with the proportions of a real deployment. Few projects and
// rules have most findings, and most findings are untriaged. A third has an assistant's verdict,
// and a third is also on a second ref.
type bulk struct {
	n       int
	version int64
	extra   []*model.Batch // changes after version 1
}

func (s *bulk) Version(context.Context, int64) (int64, error) { return s.version, nil }

func (s *bulk) Versions(_ context.Context, ids []int64) (map[int64]int64, error) {
	return map[int64]int64{ids[0]: s.version}, nil
}

func (s *bulk) Bodies(_ context.Context, _ int64, ids []int64) (map[int64][]byte, error) {
	return nil, fmt.Errorf("%d bodies are not in memory", len(ids))
}

func (s *bulk) Feed(_ context.Context, _, since int64, handle func(*model.Batch) error) (int64, bool, error) {
	if since > 0 {
		for _, b := range s.extra {
			if err := handle(b); err != nil {
				return 0, false, err
			}
		}
		return s.version, false, nil
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	if err := handle(bulkDictionaries(rnd, s.n)); err != nil {
		return 0, false, err
	}
	for at := 0; at < s.n; at += 1000 {
		if err := handle(bulkFindings(rnd, at, min(at+1000, s.n))); err != nil {
			return 0, false, err
		}
	}
	return s.version, false, nil
}

const (
	bulkProjects = 400
	bulkRules    = 300
)

// bulkBegin is the time of the first finding. The others follow over two years for a million
// findings.
var bulkBegin = time.Unix(1_700_000_000, 0)

// bulkTime returns the time of finding i, with 50 findings per commit.
func bulkTime(i int) time.Time { return bulkBegin.Add(time.Duration(i/50) * 50 * time.Minute) }

func bulkDictionaries(rnd *rand.Rand, n int) *model.Batch {
	b := &model.Batch{Policies: []model.Policy{{ID: 1, Name: "Global Policy", Slug: "global-policy", Product: model.SAST, Default: true}}}
	for i := range bulkProjects {
		b.Projects = append(b.Projects, model.Project{ID: int64(i + 1), Name: fmt.Sprintf("acme/service-%d", i), URL: "https://git.example/acme", PrimaryBranch: "refs/heads/main"})
	}
	for i := range bulkRules {
		rule := model.Rule{
			ID: int64(i + 1), Name: fmt.Sprintf("python.flask.security.rule-%d", i), Message: strings.Repeat("Detected user input. ", 20),
			Category: []string{"security", "security", "best-practice"}[rnd.IntN(3)], CWE: []string{"CWE-89: SQL Injection"}, Confidence: 2,
		}
		b.Rules = append(b.Rules, rule)
		b.PolicyRules = append(b.PolicyRules, model.PolicyRule{ID: int64(i + 1), PolicyID: 1, Rule: rule, Mode: model.PolicyMode(1 + rnd.IntN(3))})
	}
	for i := range n {
		b.Lineages = append(b.Lineages, bulkLineage(rnd, int64(i+1)))
	}
	return b
}

func bulkLineage(rnd *rand.Rand, id int64) model.Lineage {
	l := model.Lineage{ID: id, Triage: model.Triage{State: model.TriageUntriaged}}
	if rnd.IntN(100) < 25 {
		l.Triage = model.Triage{State: model.TriageIgnored, Reason: model.TriageReason(1 + rnd.IntN(4)), At: bulkTime(int(id)).Add(time.Duration(rnd.IntN(60*24)) * time.Hour), Comment: "known"}
	}
	if rnd.IntN(100) < 30 {
		l.Annotations.Assistant = &model.Assistant{RuleExplanation: &struct {
			Explanation string `json:"explanation"`
			Summary     string `json:"summary"`
		}{strings.Repeat("Because of this and that. ", 20), "In short."}}
	}
	return l
}

func bulkFindings(rnd *rand.Rand, from, to int) *model.Batch {
	b := &model.Batch{}
	zipf := rand.NewZipf(rnd, 1.3, 8, bulkProjects-1)
	rules := rand.NewZipf(rnd, 1.2, 8, bulkRules-1)
	message := strings.Repeat("m", 60)
	for i := from; i < to; i++ {
		at := bulkTime(i)
		body := model.Body{
			RuleMessage: &message, Location: model.WireLocation{FilePath: strings.Repeat("src/", 20), Line: i},
			LineOfCodeURL: "https://git.example/" + strings.Repeat("x", 120), MatchBasedID: strings.Repeat("a", 160), SyntacticID: strings.Repeat("b", 64),
		}
		members, err := body.Members()
		if err != nil {
			panic(err)
		}
		lineage, ref := int64(i+1), "refs/heads/main"
		if i > 100 && rnd.IntN(3) == 0 {
			lineage, ref = int64(i-rnd.IntN(100)), fmt.Sprintf("refs/heads/branch-%d", rnd.IntN(200))
		}
		b.Findings = append(b.Findings, model.IndexedFinding{Body: members, Finding: model.Finding{
			ID: int64(i + 1), IssueType: model.SAST, ProjectID: int64(zipf.Uint64() + 1), Ref: ref, LineageID: lineage,
			RuleID: int64(rules.Uint64() + 1), State: []model.State{1, 1, 1, 2, 3}[rnd.IntN(5)], StateUpdatedAt: at.Add(time.Duration(rnd.IntN(60*24)) * time.Hour), Severity: model.Severity(1 + rnd.IntN(4)),
			Confidence: model.Confidence(1 + rnd.IntN(3)), CreatedAt: at, RelevantSince: at, FirstScanID: int64(i / 50),
		}})
	}
	return b
}

func bulkView(tb testing.TB, n int) *View {
	tb.Helper()
	x := New(&bulk{n: n, version: 1}, Options{BodyCache: 4 << 30})
	v, err := x.Deployment(context.Background(), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// BenchmarkPage measures writing pages, relative to writing the same bytes from memory. Only the
// ratio is significant.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		v := bulkView(b, n)
		for _, size := range []int{100, 3000} {
			for _, c := range []struct {
				name string
				f    model.FindingFilter
				page int
			}{
				{name: "all"},
				{name: "status+severity", f: model.FindingFilter{Statuses: []model.Status{model.StatusOpen}, Severities: []model.Severity{3, 4}}},
				{name: "repos", f: model.FindingFilter{Projects: []string{"acme/service-3", "ACME/service-8", "acme/service-40"}}},
				{name: "mode+category", f: model.FindingFilter{Modes: []model.PolicyMode{model.ModeBlock}, Categories: []string{"security"}}},
				{name: "dedup", f: model.FindingFilter{Dedup: true}},
				{name: "deep", page: n * 8 / 10 / size},
			} {
				c.f.IssueType = model.SAST
				b.Run(fmt.Sprintf("n=%d/size=%d/%s/index", n, size, c.name), func(b *testing.B) { benchPage(b, v, c.f, c.page, size) })
				b.Run(fmt.Sprintf("n=%d/size=%d/%s/limit", n, size, c.name), func(b *testing.B) { benchLimit(b, v, c.f, c.page, size) })
			}
		}
	}
}

func benchPage(b *testing.B, v *View, f model.FindingFilter, page, size int) {
	b.Helper()
	b.ReportAllocs()
	var sink sink
	for b.Loop() {
		p, err := v.Page(context.Background(), f, page, size)
		if err != nil {
			b.Fatal(err)
		}
		n, err := p.WriteTo(&sink)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
	}
}

// benchLimit measures writing the bytes of an encoded page.
func benchLimit(b *testing.B, v *View, f model.FindingFilter, page, size int) {
	b.Helper()
	p, err := v.Page(context.Background(), f, page, size)
	if err != nil {
		b.Fatal(err)
	}
	var ready bytes.Buffer
	if _, err := p.WriteTo(&ready); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(ready.Len()))
	var sink sink
	for b.Loop() {
		for rest := ready.Bytes(); len(rest) > 0; {
			n := min(len(rest), bufferSize)
			if _, err := sink.Write(rest[:n]); err != nil {
				b.Fatal(err)
			}
			rest = rest[n:]
		}
	}
}

// sink copies and discards its input, like a socket.
type sink struct{ buf []byte }

func (s *sink) Write(p []byte) (int, error) {
	if cap(s.buf) < len(p) {
		s.buf = make([]byte, 2*len(p))
	}
	return copy(s.buf[:cap(s.buf)], p), nil
}

var _ io.Writer = (*sink)(nil)

func BenchmarkSelect(b *testing.B) {
	v := bulkView(b, 100_000)
	f := model.FindingFilter{IssueType: model.SAST, Statuses: []model.Status{model.StatusOpen}, Severities: []model.Severity{3, 4}}
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			v.Count(f)
		}
	})
	b.Run("newest", func(b *testing.B) {
		for b.Loop() {
			if _, err := v.Newest(context.Background(), f, model.MaxTriage); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFollow measures applying one commit: triage of 3,000 lineages, or 3,000 findings that
// reappeared.
func BenchmarkFollow(b *testing.B) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		name string
		next func(version int64) *model.Batch
	}{
		{"triage", func(version int64) *model.Batch {
			batch := &model.Batch{}
			for id := range int64(3000) {
				batch.Lineages = append(batch.Lineages, model.Lineage{ID: id + 50_000, Triage: model.Triage{State: model.TriageState(2 + version%2)}})
			}
			return batch
		}},
		{"returned", func(version int64) *model.Batch {
			batch := bulkFindings(rnd, 50_000, 53_000)
			for i := range batch.Findings {
				batch.Findings[i].RelevantSince = time.UnixMicro(1_800_000_000_000_000 + version)
			}
			return batch
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			src := &bulk{n: 100_000, version: 1}
			x := New(src, Options{BodyCache: 4 << 30})
			if _, err := x.Deployment(b.Context(), tenant); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				b.StopTimer()
				src.version++
				src.extra = []*model.Batch{c.next(src.version)}
				b.StartTimer()
				if _, err := x.Deployment(b.Context(), tenant); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoad measures building an index and reports its size without bodies.
func BenchmarkLoad(b *testing.B) {
	const n = 100_000
	var v *View
	for b.Loop() {
		v = bulkView(b, n)
	}
	stats := v.d.x.Stats()
	b.ReportMetric(float64(stats.Bytes-stats.BodyBytes)/n, "B/finding")
}
