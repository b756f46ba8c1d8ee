package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/ingest/lifetest"
	"github.com/redoubt/redoubt/internal/store"
)

// Scanners and another tool report of one ref at the same time. Whatever order
// they end in, each is taken whole, and what stands is what the model says of
// that order.
func TestReportsOfOneRefAtOnce(t *testing.T) {
	each(t, func(w *world) {
		p := &wire{world: w, t: w.T, name: "acme/busy", first: "acme/busy", number: 1}
		p.serve()
		const scans = 6
		uploads, paths, ids := make([]lifetest.Upload, scans), make([]string, scans), make([]int64, scans)
		for i := range scans {
			w.clock.Advance(time.Second)
			tree := wireTree{pattern: "p", items: []wireItem{
				{"r1", "a.py", "x == x", 1, false}, {"r2", "b.py", "y == y", i + 1, i%2 == 0}, {wireRules[i%3], wirePaths[i%3], "x == x", 9, false},
			}}
			u := lifetest.Upload{Ref: "main", Commit: fmt.Sprint("c", i), Full: i%3 != 1, Begun: w.clock.Now()}
			u.Report = &redoubt.Report{Tool: "semgrep", RulesRun: wireRules, Searched: wirePaths, Results: tree.results(true, true)}
			uploads[i] = u
			paths[i], ids[i] = p.start(u, fmt.Sprint("busy", i))
		}
		w.clock.Advance(time.Second)
		other := lifetest.Upload{Ref: "main", Full: true, DeclaredFull: true, Report: &redoubt.Report{Tool: "bandit"}}
		other.Report.Results = (&wireTree{items: []wireItem{{"r1", "a.py", "x == x", 1, false}}}).results(false, false)
		for i := range other.Report.Results {
			other.Report.Results[i].Code = "x == x"
		}

		var all sync.WaitGroup
		ask := func(path string, body any) {
			if status, text := w.send(http.MethodPost, path, w.token, mustJSON(body)); status != http.StatusOK {
				w.Errorf("POST %s answers %d %s", path, status, text)
			}
		}
		for i := range scans {
			all.Go(func() {
				ask(paths[i]+"results", resultsBody(uploads[i]))
				ask(paths[i]+"complete", map[string]any{"exit_code": 0, "stats": map[string]any{}, "dependencies": map[string]any{}})
			})
		}
		for range 3 {
			all.Go(func() {
				ask("/api/v1/deployments/acme/imports?project=acme/busy&ref=main&full=true", rawJSON(sarifBody(other)))
			})
		}
		all.Wait()
		if w.Failed() {
			return
		}
		p.serial(uploads, ids, other)
	})
}

// serial applies the uploads by the model in the order in which they ended, and
// compares.
func (w *wire) serial(uploads []lifetest.Upload, ids []int64, other lifetest.Upload) {
	model := lifetest.New()
	ended := make([]redoubt.Scan, len(ids))
	w.read(func(ctx context.Context, tx *store.Tx) (err error) {
		for i, id := range ids {
			if ended[i], err = tx.Scan(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
	order := []int{}
	for i := range ids {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return ended[a].CompletedAt.Compare(ended[b].CompletedAt) })
	for _, i := range order {
		if got, want := ended[i].Outcome, model.Apply(uploads[i], ended[i].CompletedAt).Outcome; got != want {
			w.t.Fatalf("scan %d counts as %v, want %v in the order %v", i, got, want, order)
		}
	}
	model.Apply(other, w.clock.Now())
	var want, got []string
	for _, s := range model.Streams {
		for _, f := range s.Findings {
			want = append(want, fmt.Sprint(s.Source, " ", f.Rule, " ", f.Path, ":", f.Line, " ", f.State))
		}
	}
	for _, f := range w.stored(model) {
		got = append(got, fmt.Sprint(f.Source, " ", f.RuleName, " ", f.Path, ":", f.Line, " ", f.State))
	}
	slices.Sort(want)
	slices.Sort(got)
	w.same("findings after reports that came at once", want, got)
}

// rawJSON is a body that is JSON already.
type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }
