package conformance

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/storetest"
)

// transactions counts the transactions that requests open with sqldb.DB.View and
// sqldb.DB.Update. Each of them reads the store's clock once when it begins, and the stack
// of that reading shows who opened it. So these are not counted:
//   - what the authentication of a request opens,
//   - what the index and the queue open in the background, and the test itself,
//   - transactions of the index, which have connections of their own.
type transactions struct {
	mu             sync.Mutex
	views, updates int
}

// watch returns a clock that counts.
func (c *transactions) watch(now func() time.Time) func() time.Time {
	return func() time.Time {
		c.note()
		return now()
	}
}

// note counts the transaction that reads the clock. The functions on its stack are, from the
// innermost: now, what begins the transaction, the method of the store, the request.
func (c *transactions) note() {
	const store = "/internal/store/sqldb.(*DB)."
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var begins, method, inner string
	request := false
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		_, name, _ := strings.Cut(frame.Function, store)
		switch {
		case strings.Contains(frame.Function, "/internal/auth.(*Authenticator)."):
			return
		case frame.Function == "net/http.(*conn).serve":
			request = true
		case inner == "Now":
			begins = name
		case name == "View" || name == "Update":
			method = name
		}
		inner = name
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !request:
	case method == "View" && strings.Contains(begins, "viewBy"):
		c.views++
	case method == "Update" && begins == "Writer": // and not its later readings
		c.updates++
	}
}

// during returns the transactions that requests open while do runs.
func (c *transactions) during(do func()) (views, updates int) {
	c.mu.Lock()
	views, updates = c.views, c.updates
	c.mu.Unlock()
	do()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.views - views, c.updates - updates
}

// An import opens one update and at most one view, also of a report that was replaced since.
func TestAnImportOpensOneUpdateAndAtMostOneView(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			clock, opened := storetest.NewClock(), &transactions{}
			s := &site{config: storetest.Database(t, engine, clock), clock: clock}
			s.config.Clock = opened.watch(clock.Now)
			s.open(t)
			s.deployment = storetest.Deployment(t, s.store)
			s.token = s.newToken(t, model.Token{Name: "main", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}})
			w := &world{site: s, rules: map[string]scanRule{}}
			t.Run("what is counted", func(t *testing.T) { testCountedTransactions(t, w, opened) })

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
				views, updates := opened.during(func() {
					if got := w.imported(t, c.query, c.body); got.Outcome != c.outcome {
						t.Errorf("%s: %s, want %s", c.name, got.Outcome, c.outcome)
					}
				})
				if views > 1 || updates != 1 {
					t.Errorf("%s: %d views, want at most 1; %d updates, want 1", c.name, views, updates)
				}
			}
		})
	}
}

// testCountedTransactions shows that the count finds views and updates of requests.
func testCountedTransactions(t *testing.T, w *world, opened *transactions) {
	for _, c := range []struct {
		request        request
		views, updates int
	}{
		{request{method: "GET", path: "policies"}, 1, 0},
		{request{method: "POST", path: "policies", body: object{"name": "Counted", "product": "sast"}}, 0, 1},
	} {
		views, updates := opened.during(func() { w.send(t, c.request) })
		if views != c.views || updates != c.updates {
			t.Errorf("%s %s: %d views, want %d; %d updates, want %d",
				c.request.method, c.request.path, views, c.views, updates, c.updates)
		}
	}
}
