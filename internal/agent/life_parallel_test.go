package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestConcurrentReportsOfOneRef uploads concurrent reports of scanners and another tool for one ref.
// Each must be applied completely. The result must equal that of serial uploads in the order of
// completion.
func TestConcurrentReportsOfOneRef(t *testing.T) {
	each(t, func(w *world) {
		p := &wire{world: w, t: w.T, name: "acme/busy", first: "acme/busy", number: 1}
		p.serve()
		const scans = 6
		uploads, paths, ids := make([]wireUpload, scans), make([]string, scans), make([]int64, scans)
		for i := range scans {
			w.clock.Advance(time.Second)
			tree := wireTree{pattern: "p", items: []wireItem{
				{"r1", "a.py", "x == x", 1, false}, {"r2", "b.py", "y == y", i + 1, i%2 == 0}, {wireRules[i%3], wirePaths[i%3], "x == x", 9, false},
			}}
			u := wireUpload{Ref: "main", Commit: fmt.Sprint("c", i), Full: i%3 != 1}
			u.Report = &model.Report{Tool: "semgrep", RulesRun: wireRules, Searched: wirePaths, Results: tree.results(true, true)}
			uploads[i] = u
			paths[i], ids[i] = p.start(u, fmt.Sprint("busy", i))
		}
		w.clock.Advance(time.Second)
		other := wireUpload{Ref: "main", Full: true, DeclaredFull: true, Report: &model.Report{Tool: "bandit"}}
		other.Report.Results = (&wireTree{items: []wireItem{{"r1", "a.py", "x == x", 1, false}}}).results(false, false)
		for i := range other.Report.Results {
			other.Report.Results[i].Code = "x == x"
		}

		var all sync.WaitGroup
		post := func(path string, body any) {
			if status, text := w.send(http.MethodPost, path, w.token, mustJSON(body)); status != http.StatusOK {
				w.Errorf("POST %s answers %d %s", path, status, text)
			}
		}
		for i := range scans {
			all.Go(func() {
				post(paths[i]+"results", resultsBody(uploads[i]))
				post(paths[i]+"complete", map[string]any{"exit_code": 0, "stats": map[string]any{}, "dependencies": map[string]any{}})
			})
		}
		for range 3 {
			all.Go(func() {
				post("/api/v1/deployments/acme/imports?project=acme/busy&ref=main&full=true", rawJSON(sarifBody(other)))
			})
		}
		all.Wait()
		if w.Failed() {
			return
		}
		p.serial(uploads, ids, other)
	})
}

// serial uploads the reports to another project, serially in the order of completion, and compares
// the results.
func (w *wire) serial(uploads []wireUpload, ids []int64, other wireUpload) {
	ended := make([]model.Scan, len(ids))
	w.read(func(ctx context.Context, tx *store.Tx) (err error) {
		for i, id := range ids {
			if ended[i], err = tx.Scan(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
	p := &wire{world: w.world, t: w.t, name: "acme/serial", first: "acme/serial", number: 2}
	order, paths, serialIDs := []int{}, make([]string, len(ids)), make([]int64, len(ids))
	for i := range ids {
		order = append(order, i)
		w.clock.Advance(time.Second)
		paths[i], serialIDs[i] = p.start(uploads[i], fmt.Sprint("serial", i))
	}
	slices.SortFunc(order, func(a, b int) int { return ended[a].CompletedAt.Compare(ended[b].CompletedAt) })
	for _, i := range order {
		p.complete(paths[i], uploads[i])
		if got := p.outcome(serialIDs[i]); got != ended[i].Outcome {
			w.t.Fatalf("scan %d counts as %v, as %v in the order %v", i, ended[i].Outcome, got, order)
		}
	}
	p.imported(other, sarifBody(other))
	list := func(w *wire) (out []string) {
		for _, f := range w.stored() {
			out = append(out, fmt.Sprint(f.Source, " ", f.RuleName, " ", f.Path, ":", f.Line, " ", f.State))
		}
		slices.Sort(out)
		return out
	}
	w.same("findings after reports that came at once", list(p), list(w))
}

// rawJSON is an encoded JSON body.
type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }
