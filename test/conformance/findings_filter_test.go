package conformance

import (
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// listing is the list of findings of one issue type, with all its rows.
type listing[R any] struct {
	issueType string
	rows      []R
	core      func(R) *api.FindingCore
	filters   []filter[R]
	of        func(api.ListFindingsResponse) []R
}

func codeListing(w *world) listing[codeRow] {
	return listing[codeRow]{"sast", w.code, codeCore, codeFilters(w), func(r api.ListFindingsResponse) []codeRow { return r.SASTFindings.Findings }}
}

func supplyListing(w *world) listing[supplyRow] {
	return listing[supplyRow]{"sca", w.supply, supplyCore, supplyFilters(w), func(r api.ListFindingsResponse) []supplyRow { return r.SCAFindings.Findings }}
}

func testCodeFilters(t *testing.T, w *world)   { codeListing(w).testFilters(t, w) }
func testSupplyFilters(t *testing.T, w *world) { supplyListing(w).testFilters(t, w) }

// testFilters checks each value of each filter, two values of one filter, and values of two
// filters.
func (l listing[R]) testFilters(t *testing.T, w *world) {
	for _, f := range l.filters {
		for _, value := range f.values {
			if n := l.check(t, w, f.choose(value)); n == 0 || n == len(l.rows) {
				t.Errorf("%s=%s selects %d of %d, which proves nothing", f.param, value, n, len(l.rows))
			}
		}
		if f.param != "ref" && f.param != "since" && f.param != "is_malicious" && f.param != "autotriage_verdict" && len(f.values) > 1 {
			l.check(t, w, f.choose(f.values[0], f.values[1]))
		}
	}
	some := 0
	for i, f := range l.filters {
		for j, g := range l.filters[:i] {
			some += l.check(t, w, append(f.choose(pick(f.values, j)), g.choose(pick(g.values, i))...))
		}
	}
	if some == 0 {
		t.Error("every pair of filters selects nothing")
	}
}

// check compares a response with a loop over all rows, with and without dedup, and returns the
// number of expected rows.
func (l listing[R]) check(t *testing.T, w *world, c choice[R]) int {
	t.Helper()
	q := c.query(l.issueType)
	want := filterSlice(l.rows, func(r R) bool { return c.matches(w, r) })
	l.same(t, w, q, want)
	q.Dedup = true
	one := l.representatives(w, q.Ref)
	l.same(t, w, q, filterSlice(want, func(r R) bool { return one[l.core(r).ID] }))
	return len(want)
}

// same checks that the response contains exactly the rows, in order.
func (l listing[R]) same(t *testing.T, w *world, q api.FindingsQuery, want []R) {
	t.Helper()
	got, err := w.api().ListFindings(t.Context(), w.deployment.Slug, q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.ids(want), l.ids(l.of(*got))); diff != "" {
		t.Errorf("%+v (-want +got):\n%s", q, diff)
	}
}

func (l listing[R]) ids(rows []R) []int64 {
	return mapped(rows, func(r R) int64 { return l.core(r).ID })
}

// representatives returns the findings that dedup selects. For each lineage this is the newest one
// on the primary branch among the rows of ref, or else the newest.
func (l listing[R]) representatives(w *world, ref string) map[int64]bool {
	chosen := map[string]*api.FindingCore{}
	for _, row := range l.rows { // newest first
		f := l.core(row)
		if ref != "" && !(filter[R]{matches: refFilter(l)}).matches(w, row, ref) {
			continue
		}
		primary := w.project(f.Repository.Name).PrimaryBranch
		if at := chosen[lineage(f)]; at == nil || at.Ref != primary && f.Ref == primary {
			chosen[lineage(f)] = f
		}
	}
	out := map[int64]bool{}
	for _, f := range chosen {
		out[f.ID] = true
	}
	return out
}

func refFilter[R any](l listing[R]) func(*world, R, string) bool {
	return l.filters[slices.IndexFunc(l.filters, func(f filter[R]) bool { return f.param == "ref" })].matches
}

// lineage returns the identity of a finding. No finding of the world moves, so its project and
// fingerprint identify it.
func lineage(f *api.FindingCore) string { return f.Repository.Name + " " + f.MatchBasedID }

func testCodeOrder(t *testing.T, w *world)   { codeListing(w).testOrder(t, w) }
func testSupplyOrder(t *testing.T, w *world) { supplyListing(w).testOrder(t, w) }

// testOrder checks that lists are ordered by relevant_since and id, both descending, and that ties
// occur.
func (l listing[R]) testOrder(t *testing.T, w *world) {
	ties := 0
	for i := 1; i < len(l.rows); i++ {
		a, b := l.core(l.rows[i-1]), l.core(l.rows[i])
		switch a.RelevantSince.Compare(b.RelevantSince.Time) {
		case -1:
			t.Fatalf("%d of %s precedes %d of %s", a.ID, a.RelevantSince, b.ID, b.RelevantSince)
		case 0:
			ties++
			if a.ID <= b.ID {
				t.Fatalf("%d precedes %d, of the same time", a.ID, b.ID)
			}
		}
	}
	if ties == 0 {
		t.Error("no two findings have the same time, so the order by id is not tested")
	}
}

// testSince checks that since is inclusive, to the microsecond.
func testSince(t *testing.T, w *world) {
	at := w.code[len(w.code)/2].RelevantSince
	count := func(micros int64) int {
		q := url.Values{"since": {seconds(micros)}, "page_size": {"3000"}}
		return len(w.findings(t, q).SASTFindings.Findings)
	}
	from := len(filterSlice(w.code, func(r codeRow) bool { return !r.RelevantSince.Before(at.Time) }))
	after := len(filterSlice(w.code, func(r codeRow) bool { return r.RelevantSince.After(at.Time) }))
	if from == after {
		t.Fatal("no row has the time")
	}
	if got := count(at.UnixMicro()); got != from {
		t.Errorf("since the time itself: %d findings, want %d", got, from)
	}
	if got := count(at.UnixMicro() + 1); got != after {
		t.Errorf("since a microsecond later: %d findings, want %d", got, after)
	}
}
