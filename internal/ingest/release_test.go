package ingest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// TestReleaseDoesNotChangeStoredData applies uploads that add, move, change and close findings to two stores.
// One of them releases the results while planning.
func TestReleaseDoesNotChangeStoredData(t *testing.T) {
	uploads := func() [][]model.Result {
		scored := with(vulnerable("a", "1"), func(r *model.Result) { r.Dependency.EPSS = &model.EPSS{Score: 0.5, Percentile: 0.9} })
		shown := with(matched("a.py", 1, "x"), func(r *model.Result) {
			r.Code, r.DataFlow = "x == x", []model.FlowStep{{Path: "b.py", Content: "x"}}
		})
		return [][]model.Result{
			{shown, matched("a.py", 5, "y"), scored, secret("c.py", 1, 1)},
			{with(shown, func(r *model.Result) { r.Path, r.Message = "moved.py", "another" }), matched("a.py", 6, "y"), matched("a.py", 9, "z"), scored, vulnerable("b", "1")},
		}
	}
	keeping, releasing := newMemory(), newMemory()
	for i := range uploads() {
		retained, released := full(uploads()[i]...), full(uploads()[i]...)
		released.Release = true
		a, b := apply(t, keeping, retained), apply(t, releasing, released)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("upload %d is summed up otherwise:\n%s", i, diff)
		}
		if released.Report.Results != nil {
			t.Errorf("upload %d still holds its results", i)
		}
	}
	if diff := cmp.Diff(keeping.rows, releasing.rows); diff != "" {
		t.Errorf("other findings:\n%s", diff)
	}
	if diff := cmp.Diff(keeping.lineages, releasing.lineages); diff != "" {
		t.Errorf("other lineages:\n%s", diff)
	}
}
