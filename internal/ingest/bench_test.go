package ingest

import (
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

const benchFindings = 10_000

// benchReport returns a report with as many results as a large repository.
func benchReport() *model.Report {
	results := make([]model.Result, benchFindings)
	for i := range results {
		r := result(eqeq, fmt.Sprintf("src/package%d/file%d.py", i%100, i%1000), i, "    return x == x")
		r.MatchBasedID = fmt.Sprintf("%0128x_0", i)
		r.CodeHash, r.PatternHash = fmt.Sprintf("%064x", i), fmt.Sprintf("%064x", i)
		results[i] = r
	}
	return &model.Report{Tool: "semgrep", Results: results}
}

func benchFacts(sightings []Sighting) Facts {
	u := full()
	return Facts{ProjectID: 1, Ref: "refs/heads/main", Source: "semgrep", ScanID: 1, Scope: scopeOf(&u, sightings), RuleIDs: map[*model.Rule]int64{eqeq: 1}}
}

// BenchmarkBaseline is the baseline of the other benchmarks: it adds the same identities to a map and
// looks them up.
func BenchmarkBaseline(b *testing.B) {
	sightings, _ := Observe(benchReport())
	for b.Loop() {
		m := make(map[model.Identity]*model.Finding, len(sightings))
		for i := range sightings {
			m[sightings[i].Finding.Identity] = &sightings[i].Finding
		}
		for i := range sightings {
			if m[sightings[i].Finding.Identity] == nil {
				b.Fatal("lost")
			}
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	report := benchReport()
	for b.Loop() {
		if sightings, _ := Observe(report); len(sightings) != benchFindings {
			b.Fatal(len(sightings))
		}
	}
}

// BenchmarkPlanFirst plans a first import: every row is new, with its body.
func BenchmarkPlanFirst(b *testing.B) {
	sightings, _ := Observe(benchReport())
	facts := benchFacts(sightings)
	for b.Loop() {
		if c, err := Plan(Stored{}, sightings, facts); err != nil || len(c.Added) != benchFindings {
			b.Fatal(err, len(c.Added))
		}
	}
}

// BenchmarkPlanSame plans a scan without changes.
func BenchmarkPlanSame(b *testing.B) {
	sightings, _ := Observe(benchReport())
	facts := benchFacts(sightings)
	stored := storedRows(b, sightings, facts)
	for b.Loop() {
		if c, err := alignedPlan(stored, sightings, facts); err != nil || c.Unchanged != benchFindings || len(c.Updated) > 0 {
			b.Fatal(err, c.Unchanged)
		}
	}
}

// BenchmarkPlanMoved plans a scan in which every file moved.
func BenchmarkPlanMoved(b *testing.B) {
	sightings, _ := Observe(benchReport())
	stored := storedRows(b, sightings, benchFacts(sightings))
	moved := benchReport()
	for i := range moved.Results {
		moved.Results[i].Path = "lib/" + moved.Results[i].Path
		moved.Results[i].MatchBasedID += "0"
	}
	sightings, _ = Observe(moved)
	facts := benchFacts(sightings)
	for b.Loop() {
		if c, err := alignedPlan(stored, sightings, facts); err != nil || len(c.Updated) != benchFindings || len(c.Added) > 0 {
			b.Fatal(err, len(c.Updated))
		}
	}
}

func storedRows(b *testing.B, sightings []Sighting, facts Facts) (stored Stored) {
	b.Helper()
	c, err := Plan(Stored{}, sightings, facts)
	if err != nil {
		b.Fatal(err)
	}
	for i := range c.Added {
		f := c.Added[i].Finding
		f.ID, f.LineageID = int64(i+1), int64(i+1)
		stored.Findings = append(stored.Findings, f)
	}
	return stored
}
