package apihttp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// farAway returns a harness on PostgreSQL behind a proxy that counts round trips, without
// background work.
func farAway(t *testing.T) (*harness, *storetest.Proxy) {
	t.Helper()
	clock := storetest.NewClock()
	proxy, config := storetest.Through(t, storetest.Database(t, "postgres", clock))
	config.Timeout = 10 * time.Minute // avoids additional health checks
	h := newHarnessOn(t, config, clock)
	h.token = h.newToken(model.Token{Name: "ci", Scopes: []model.Scope{model.ScopeCI}})
	h.client.Token = h.token
	return h, proxy
}

// resultsOf returns a report with n findings of one rule, unique to the round.
func resultsOf(round string, n int) string {
	results := make([]reporttest.Result, n)
	for i := range results {
		code := fmt.Sprintf("%s == %d", round, i)
		results[i] = reporttest.Result{
			Rule: "eqeq", Path: fmt.Sprintf("src/f%d.py", i), EndColumn: 5, Code: code, Fingerprint: fmt.Sprintf("%s-%d", round, i),
		}
	}
	return string(reporttest.SemgrepOf([]string{}, results...))
}

// maxRoundTrips limits the round trips to PostgreSQL of an import of any size.
const maxRoundTrips = 40

// TestImportHasAtMost40RoundTrips imports reports of several sizes into new and known projects.
// A connection first prepares statements, so the minimum of several imports counts.
func TestImportHasAtMost40RoundTrips(t *testing.T) {
	h, proxy := farAway(t)
	trips := func(project, round string, n int) int {
		t.Helper()
		before := proxy.RoundTrips()
		out, err := h.client.ImportReport(t.Context(), "acme", api.ImportQuery{Project: project, Ref: "main"}, strings.NewReader(resultsOf(round, n)))
		if err != nil || out.Imports[0].New != n {
			t.Fatalf("%s: %+v, %v", project, out, err)
		}
		return proxy.RoundTrips() - before
	}
	for _, warm := range []string{"acme/warm-a", "acme/warm-b", "acme/warm-c"} {
		trips(warm, "first", 2)
		trips(warm, "again", 2)
	}
	for _, size := range []struct{ findings, rounds int }{{2, 3}, {2000, 3}, {60_000, 1}} {
		var first []int
		for round := range size.rounds {
			first = append(first, trips(fmt.Sprintf("acme/of-%d-%d", size.findings, round), "first", size.findings))
		}
		t.Logf("%d findings in a new project: %d round trips", size.findings, first)
		if slices.Min(first) > maxRoundTrips {
			t.Errorf("%d findings: %d round trips, at most %d are allowed", size.findings, first, maxRoundTrips)
		}
	}
	for _, findings := range []int{2, 2000} {
		var repeated []int
		for round := range 3 {
			repeated = append(repeated, trips(fmt.Sprintf("acme/of-%d-%d", findings, round), "again", findings))
		}
		t.Logf("%d other findings: %d round trips", findings, repeated)
		if slices.Min(repeated) > maxRoundTrips {
			t.Errorf("%d other findings: %d round trips, at most %d are allowed", findings, repeated, maxRoundTrips)
		}
	}
}
