package conformance

import (
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestImportTransactionCount checks the number of transactions of an import, also
// for a report that was replaced since.
func TestImportTransactionCount(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			clock, opened := storetest.NewClock(), &storetest.Transactions{Handler: "net/http.(*conn).serve"}
			s := &site{config: storetest.Database(t, engine, clock), clock: clock}
			s.config.Clock = opened.Watch(clock.Now)
			s.open(t)
			s.deployment = storetest.Deployment(t, s.store)
			s.token = s.newToken(t, model.Token{Name: "main", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}})
			w := &world{site: s, rules: map[string]scanRule{}}
			t.Run("counted findings", func(t *testing.T) { testTransactionCounter(t, w, opened) })

			first, second := semgrepReport(w.matches(60, 0, 12)...), semgrepReport(w.matches(60, 0, 11)...)
			large := semgrepReport(w.matches(61, 0, 1200)...)
			for _, c := range []struct {
				name, query, outcome string
				body                 []byte
			}{
				{"new", "project=acme/app&ref=main", "applied", first},
				{"identical", "project=acme/app&ref=main", "repeat", first},
				{"changed", "project=acme/app&ref=main", "applied", second},
				{"replaced", "project=acme/app&ref=main", "applied", first},
				{"another ref", "project=acme/app&ref=dev", "applied", first},
				{"large", "project=acme/large&ref=main", "applied", large},
				{"large and identical", "project=acme/large&ref=main", "repeat", large},
			} {
				views, updates := opened.During(func() {
					if got := w.imported(t, c.query, c.body); got.Outcome != c.outcome {
						t.Errorf("%s: %s, want %s", c.name, got.Outcome, c.outcome)
					}
				})
				if views > 1 || updates != 1 {
					t.Errorf("%s: %d views, want at most 1; %d updates, want 1", c.name, views, updates)
				}
			}
			testFindingTransactions(t, w, opened)
		})
	}
}

// testFindingTransactions checks that a page of findings opens at most one view. A bulk triage may
// open one view and one update.
func testFindingTransactions(t *testing.T, w *world, opened *storetest.Transactions) {
	views, updates := opened.During(func() {
		if list := get[api.ListFindingsResponse](t, w.site, "findings?page_size=100"); len(list.SASTFindings.Findings) != 100 {
			t.Errorf("a page of findings: %d", len(list.SASTFindings.Findings))
		}
	})
	if views > 1 || updates != 0 {
		t.Errorf("a page of findings: %d views, want at most 1; %d updates, want 0", views, updates)
	}
	views, updates = opened.During(func() {
		decided := w.triaged(t, object{"issue_type": "sast", "repos": []string{"acme/large"}, "new_triage_state": "reviewing"})
		if len(decided) < 2 {
			t.Errorf("a bulk decision: %d findings", len(decided))
		}
	})
	if views > 1 || updates != 1 {
		t.Errorf("a bulk decision: %d views, want at most 1; %d updates, want 1", views, updates)
	}
}

// testTransactionCounter checks that the counter counts views and updates of requests.
func testTransactionCounter(t *testing.T, w *world, opened *storetest.Transactions) {
	for _, c := range []struct {
		request        request
		views, updates int
	}{
		{request{method: "GET", path: "policies"}, 1, 0},
		{request{method: "POST", path: "policies", body: object{"name": "Counted", "product": "sast"}}, 0, 1},
	} {
		views, updates := opened.During(func() { w.send(t, c.request) })
		if views != c.views || updates != c.updates {
			t.Errorf("%s %s: %d views, want %d; %d updates, want %d",
				c.request.method, c.request.path, views, c.views, updates, c.updates)
		}
	}
}
