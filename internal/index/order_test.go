package index

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// undated contains the orders without due dates. Other tests cover the rest.
var undated = slices.DeleteFunc(Orders(model.SCA), func(o Order) bool { return o == Soonest || o == LatestDue })

// rank returns the sort key of a finding in an order, lowest first.
func (w *world) rank(o Order, f model.IndexedFinding) float64 {
	a := w.lineages[f.LineageID].Annotations
	first := func(values []model.Reachability) float64 {
		if i := slices.Index(values, reachability(f, a)); i >= 0 {
			return float64(i)
		}
		return float64(len(values))
	}
	reachable := []model.Reachability{model.AlwaysReachable, model.Reachable, model.ConditionallyReachable, model.ReachabilityUnknown, model.Unreachable}
	switch o {
	case MostSevere:
		return -float64(f.Severity)
	case LeastSevere:
		if f.Severity == 0 {
			return 100
		}
		return float64(f.Severity)
	case MostLikely, LeastLikely:
		switch {
		case a.EPSS == nil:
			return 100
		case o == MostLikely:
			return -a.EPSS.Score
		}
		return a.EPSS.Score
	case ExploitedFirst:
		if a.Exploited {
			return 0
		}
		return 1
	case MostReachable:
		return first(reachable)
	case LeastReachable:
		slices.Reverse(reachable)
		return first(reachable)
	}
	return 0
}

// ordered returns the requested page of a list that is sorted newest first.
func (w *world) ordered(list []model.IndexedFinding, q ListQuery) (ids []int64) {
	list = slices.Clone(list)
	if q.Order == Oldest {
		slices.Reverse(list)
	}
	slices.SortStableFunc(list, func(a, b model.IndexedFinding) int { return cmp.Compare(w.rank(q.Order, a), w.rank(q.Order, b)) })
	for i, f := range list {
		if i >= q.Skip && i < q.Skip+q.Size {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// pagesOf reads all pages of a list.
func pagesOf(t *rapid.T, v *View, f model.FindingFilter, o Order, size int) (ids []int64) {
	for skip := 0; ; skip += size {
		answer, err := v.List(context.Background(), ListQuery{Filter: f, Order: o, Skip: skip, Size: size})
		if err != nil {
			t.Fatal(err)
		}
		page := answer.Page.IDs()
		if len(page) == 0 {
			return ids
		}
		ids = append(ids, page...)
	}
}

// TestPagesOfEveryOrder checks that the pages of each order contain each finding once, for any page
// size and with many equal sort keys.
func TestPagesOfEveryOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		x := New(w, Options{BodyCache: 1 << 20, Clock: clockOfDue})
		for _, product := range []model.IssueType{model.SAST, model.SCA} {
			w.putPolicy(model.Policy{ID: int64(product), Product: product, Default: true, Due: model.DueDays{Critical: 3, High: 7, Medium: 7}})
		}
		for range rapid.IntRange(5, 25).Draw(t, "commits") {
			w.step(t)
			w.skipped += time.Duration(rapid.IntRange(0, 40).Draw(t, "hours")) * time.Hour
		}
		v := view(t, x)
		size := rapid.IntRange(1, 5).Draw(t, "size")
		for _, f := range []model.FindingFilter{{IssueType: model.SAST}, {IssueType: model.SCA}, {IssueType: model.SCA, Dedup: true}} {
			list := w.list(f)
			for _, o := range undated {
				want := w.ordered(list, ListQuery{Order: o, Size: len(list)})
				if diff := gocmp.Diff(want, pagesOf(t, v, f, o, size)); diff != "" {
					t.Errorf("%s in pages of %d (-naive +got):\n%s", o, size, diff)
				}
			}
			soonest := pagesOf(t, v, f, Soonest, size)
			dated := len(slices.DeleteFunc(slices.Clone(soonest), func(id int64) bool { _, ok := w.naiveDue(w.findings[id]); return !ok }))
			slices.Reverse(soonest[:dated])
			if diff := gocmp.Diff(soonest, pagesOf(t, v, f, LatestDue, size)); diff != "" {
				t.Errorf("latest due in pages of %d, beside the reverse of the soonest:\n%s", size, diff)
			}
		}
	})
}

func TestParseOrder(t *testing.T) {
	for _, o := range Orders(model.SCA) {
		if got, ok := ParseOrder(o.String()); !ok || got != o {
			t.Errorf("%q is read as %d, %v", o, got, ok)
		}
	}
	for _, word := range []string{"", "Risk", "epss_desc"} {
		if o, ok := ParseOrder(word); ok {
			t.Errorf("%q is read as %s", word, o)
		}
	}
	if MostLikely.AppliesTo(model.SAST) || !MostLikely.AppliesTo(model.SCA) || !LatestDue.AppliesTo(model.Secrets) {
		t.Error("scores are of the supply chain alone, due dates of all")
	}
}
