package agent_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// basic sends a request with Basic authentication.
func (w *world) basic(path, password string) int {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.web.URL+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	req.SetBasicAuth("anybody", password)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		w.Fatal(err)
	}
	return res.StatusCode
}

func (w *world) openRules(open bool) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error { return tx.OpenRules(ctx, open) })
}

// TestRulesRequireTokenUnlessPublic checks all routes of rules.
func TestRulesRequireTokenUnlessPublic(t *testing.T) {
	each(t, func(w *world) {
		w.rules(model.ModeMonitor)
		bare := []string{"/c/p/code", "/p/code", "/c/r/eqeq", "/r/eqeq"}
		named := []string{"/c/p/acme/code", "/p/acme/code", "/c/r/acme/eqeq", "/r/acme/eqeq"}
		check := func(when string, paths []string, want int, request func(path string) int) {
			w.Helper()
			for _, path := range paths {
				if got := request(path); got != want {
					w.Errorf("%s, %s is %d, want %d", when, path, got, want)
				}
			}
		}
		with := func(token string) func(string) int {
			return func(path string) int { status, _ := w.send("GET", path, token, nil); return status }
		}
		password := func(token string) func(string) int { return func(path string) int { return w.basic(path, token) } }
		all := append(append([]string{}, bare...), named...)
		check("with a token", all, 200, with(w.token))
		check("with a token as password", all, 200, password(w.token))
		check("without one", all, 401, with(""))
		check("with a wrong one", all, 401, with("nonsense"))
		check("with a wrong password", all, 401, password("nonsense"))
		check("of another deployment, with a token", []string{"/c/p/" + storetest.Noise + "/code", "/c/p/unknown/code"}, 404, with(w.token))
		check("of another deployment, without one", []string{"/c/p/" + storetest.Noise + "/code", "/c/p/unknown/code"}, 401, with(""))
		if got := w.basic("/api/agent/identity", w.token); got != 401 {
			w.Errorf("a password opens more than rules: %d", got)
		}
		w.openRules(true)
		check("open, without a token and with the deployment", named, 200, with(""))
		check("open, with a wrong token", named, 200, with("nonsense"))
		check("open, one deployment of two unnamed", bare, 401, with(""))
		check("open, but another's", []string{"/c/p/" + storetest.Noise + "/code"}, 401, with(""))
		check("open, what is not there", []string{"/c/p/acme/nonsense", "/c/r/acme/nonsense"}, 404, with(""))
		noise, err := w.store.Deployment(w.Context(), storetest.Noise)
		if err == nil {
			err = w.store.DeleteDeployment(w.Context(), noise.ID, storetest.Actor)
		}
		if err != nil {
			w.Fatal(err)
		}
		check("open, on a server with one deployment", all, 200, with(""))
		w.openRules(false)
		check("closed again", all, 401, with(""))
		own, stray := w.attempts()
		w.same("refused readers are failed attempts", []bool{true, true}, []bool{len(own) == 1, len(stray) > 5})
	})
}

// TestAnonymousRequestsAreCountedBeforeLookup checks that requests without a token are counted before
// any lookup, even if no rules are public. Requests with a token are not counted.
func TestAnonymousRequestsAreCountedBeforeLookup(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.rules(model.ModeMonitor)
	count := map[int]int{}
	for range 110 {
		status, _ := w.send("GET", "/c/p/acme/code", "", nil)
		count[status]++
	}
	w.same("answers by status", map[int]int{401: 100, 429: 10}, count)
	status, _ := w.send("GET", "/c/p/acme/code", w.token, nil)
	w.same("with a token", 200, status)
}
