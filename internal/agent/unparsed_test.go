package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// parsedScan reports calls of a file of 39 bytes, of which parsed bytes were parsed. An empty call
// is a line that is not reported.
func (w *wire) parsedScan(ref, unique string, full bool, parsed int, calls ...string) (blocked bool) {
	w.clock.Advance(1e9)
	var seen []model.Result
	for _, r := range evalCalls(calls...) {
		if r.CodeHash != hexOf("") {
			r.MatchBasedID = r.CodeHash + "_0"
			seen = append(seen, r)
		}
	}
	u := wireUpload{Ref: ref, Full: full, Commit: unique, Report: &model.Report{RulesRun: []string{"eval"}, Searched: []string{"a.js"}, Results: seen}}
	path, _ := w.start(u, unique)
	w.post(path+"results", resultsBody(u))
	rate := map[string]any{"js": map[string]any{"targets_parsed": 1, "num_targets": 1, "bytes_parsed": parsed, "num_bytes": 39}}
	answer := w.post(path+"complete", map[string]any{"exit_code": 0, "stats": map[string]any{"total_time": 1, "parse_rate": rate}})
	return strings.Contains(answer, `"app_block_override":true`)
}

// TestFindingBehindSyntaxErrorIsNotNew checks that a finding hidden by a syntax error is not new when
// it returns at the same place. The scanner only reports that parsing was incomplete.
func TestFindingBehindSyntaxErrorIsNotNew(t *testing.T) {
	type scan struct {
		ref    string
		parsed int
		calls  []string
		blocks bool
	}
	all, hidden := []string{"one", "two", "three"}, []string{"one", "two", ""}
	for name, scans := range map[string][]scan{
		"back in its place":              {{"main", 22, hidden, false}, {"main", 39, all, false}},
		"after two such scans":           {{"main", 22, hidden, false}, {"main", 22, hidden, false}, {"main", 39, all, false}},
		"on a branch that mends it":      {{"main", 22, hidden, false}, {"dev", 39, all, false}, {"main", 39, all, false}},
		"still not parsed in full":       {{"main", 22, hidden, false}, {"main", 30, all, false}},
		"all was parsed":                 {{"main", 39, hidden, false}, {"main", 39, all, true}},
		"all was parsed since":           {{"main", 22, hidden, false}, {"main", 39, hidden, false}, {"main", 39, all, true}},
		"fixed where all was parsed":     {{"main", 39, hidden, false}, {"main", 22, hidden, false}, {"main", 39, all, true}},
		"in another place":               {{"main", 22, hidden, false}, {"main", 39, []string{"one", "two", "", "three"}, true}},
		"other code in its place":        {{"main", 22, hidden, false}, {"main", 39, []string{"one", "two", "four"}, true}},
		"with a second one besides":      {{"main", 22, hidden, false}, {"main", 39, []string{"one", "two", "three", "four"}, true}},
		"new where not all is parsed":    {{"main", 22, []string{"one", "two", "", "four"}, true}},
		"in a branch only, in its place": {{"dev", 22, hidden, false}, {"dev", 39, all, false}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "sqlite")
			h := &wire{world: w, t: t, name: "acme/syntax", first: "acme/syntax", number: 31}
			h.blockEval()
			h.parsedScan("main", "first", true, 39, all...)
			for i, s := range scans {
				w.same(fmt.Sprint("blocks in scan ", i), s.blocks, h.parsedScan(s.ref, fmt.Sprint("c", i), s.ref == "main", s.parsed, s.calls...))
			}
			if status, _ := h.listed("main"); name == "back in its place" && status["a.js:14"] != "open" {
				t.Errorf("the finding is not open: %v", status)
			}
		})
	}
}
