package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/storetest"
)

// farAway is a harness on a PostgreSQL behind a proxy that counts round trips.
// Nothing works in the background.
func farAway(t *testing.T) (*harness, *storetest.Proxy) {
	t.Helper()
	clock := storetest.NewClock()
	proxy, config := storetest.Through(t, storetest.Database(t, "postgres", clock))
	h := newHarnessOn(t, config, clock)
	h.token = h.newToken(redoubt.Token{Name: "ci", Scopes: []redoubt.Scope{redoubt.ScopeCI}})
	h.client.Token = h.token
	return h, proxy
}

// resultsOf is a report with n findings of one rule, told apart by the round.
func resultsOf(round string, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"check_id":"eqeq","path":"src/f%d.py","start":{"line":1,"col":1,"offset":0},"end":{"line":1,"col":5,"offset":4},`+
			`"extra":{"message":"no","severity":"ERROR","metadata":{},"lines":"%s == %d","fingerprint":"%s-%d","engine_kind":"OSS"}}`, i, round, i, round, i)
	}
	return `{"version":"1.180.0","results":[` + b.String() + `],"errors":[],"paths":{"scanned":[]}}`
}

// TestAnImportTakesAHandfulOfRoundTrips bounds how often an import waits for the
// database, which at 100 ms for each is what it takes: no more for 2,000 findings
// than for two. The first ones prepare statements.
func TestAnImportTakesAHandfulOfRoundTrips(t *testing.T) {
	h, proxy := farAway(t)
	take := func(project, round string, n int, key ...string) int {
		t.Helper()
		var with []api.Option
		for _, k := range key {
			with = append(with, api.WithKey(k))
		}
		before := proxy.RoundTrips()
		out, err := h.client.ImportReport(t.Context(), "acme", api.ImportQuery{Project: project, Ref: "main"}, strings.NewReader(resultsOf(round, n)), with...)
		if err != nil || out.Imports[0].New != n {
			t.Fatalf("%s: %+v, %v", project, out, err)
		}
		return proxy.RoundTrips() - before
	}
	first := take("acme/first", "a", 2)
	again := take("acme/first", "b", 2)
	t.Logf("the first import took %d round trips, the next %d", first, again)
	for _, project := range []string{"acme/second", "acme/third"} { // on whichever connection is free
		take(project, "a", 2)
		take(project, "b", 2)
		take(project, "c", 2, project)
		take(project, "d", 2, project+"/again")
	}
	// A connection that is used for the first time adds trips, so the least of three counts.
	least := func(what string, n int, trips func(round string) int) {
		t.Helper()
		var counts []int
		for _, round := range []string{"a", "b", "c"} {
			counts = append(counts, trips(round))
		}
		t.Logf("%s of %d findings took %d round trips", what, n, counts)
		if slices.Min(counts) > 8 {
			t.Errorf("%s of %d findings took %d round trips, at most 8 were to be", what, n, counts)
		}
	}
	for _, n := range []int{2, 2000} {
		project := fmt.Sprint("acme/new-", n)
		least("a first import", n, func(round string) int { return take(project+round, round, n) })
		least("another import", n, func(round string) int { return take(project+"a", "again-"+round, n) })
	}
	least("an import with a key", 2, func(round string) int { return take("acme/second", "keyed-"+round, 2, "key-"+round) })
}
