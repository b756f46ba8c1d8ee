package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/report"
)

// No two results may be one finding by any server's rule, or what is measured is not
// what the table says.
func TestResultsAreAllDifferentFindings(t *testing.T) {
	var m maker
	results := append(m.results(10_000), m.results(500)...)
	places := map[string]bool{}
	for _, text := range results {
		var r struct {
			Rule  string `json:"check_id"`
			Path  string `json:"path"`
			Start struct {
				Line int `json:"line"`
			} `json:"start"`
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		places[fmt.Sprint(r.Rule, r.Path, r.Start.Line)] = true
	}
	if len(places) != len(results) {
		t.Errorf("%d places of %d results", len(places), len(results))
	}
}

func TestAReportIsReadWhole(t *testing.T) {
	var m maker
	text := semgrep(m.results(decided))
	reading := &report.Reading{}
	if err := reading.Add(bytes.NewReader(text), report.Options{Name: "semgrep.json", Key: []byte("a key for secrets")}); err != nil {
		t.Fatal(err)
	}
	reports := reading.Clean(nil).Reports(nil)
	if len(reports) != 1 || len(reports[0].Results) != decided {
		t.Errorf("%d findings are not read from it: %d reports", decided, len(reports))
	}
	if size := len(text) / decided; size < 1500 || size > 2000 {
		t.Errorf("a finding has %d bytes", size)
	}
}
