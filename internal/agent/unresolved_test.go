package agent_test

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestUnresolvedManifest removes a line from setup.py. The scanner searches the
// file as code, and reports nothing about it as a manifest.
func TestUnresolvedManifest(t *testing.T) {
	each(t, func(w *world) {
		h := &wire{world: w, t: w, name: "acme/setup", first: "acme/setup", number: 9}
		h.serve()
		scan := func(unique string, results ...model.Result) {
			w.clock.Advance(1e9)
			u := wireUpload{Ref: "main", Full: true, Commit: unique, Report: &model.Report{
				RulesRun: []string{"r1"}, Searched: []string{"setup.py", "other.py"}, Results: results,
			}}
			path, _ := h.start(u, unique)
			h.post(path+"results", resultsBody(u))
			h.post(path+"complete", map[string]any{
				"exit_code": 0, "dependencies": map[string]any{},
				"stats": map[string]any{"total_time": 1, "supply_chain_stats": map[string]any{"subprojects_stats": []any{map[string]any{
					"dependency_sources": []any{map[string]any{"kind": []string{"Manifest", "SetupPy"}, "path": "setup.py"}}, "unresolved_reason": "disabled",
				}}}},
			})
		}
		tree := &wireTree{items: []wireItem{{"r1", "setup.py", "x == x", 3, false}, {"r1", "other.py", "x == x", 3, false}}}
		scan("before", tree.results(true, true)...)
		scan("after")
		got, _ := w.code("main")
		w.same("both are fixed", map[string]string{"r1 setup.py:3": "fixed", "r1 other.py:3": "fixed"}, got)
	})
}
