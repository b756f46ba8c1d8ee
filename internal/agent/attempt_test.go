package agent_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// attempts returns the failed attempts of the deployment, and those without one.
func (w *world) attempts() (own, stray []model.FailedAttempt) {
	w.Helper()
	w.stop()
	w.run()
	w.update(func(ctx context.Context, tx *store.Tx) (err error) {
		own, err = tx.FailedAttempts(ctx, 1000)
		return err
	})
	stray, err := w.store.UnattributedAttempts(w.Context(), 1000)
	if err != nil {
		w.Fatal(err)
	}
	return own, stray
}

// sendAs sends a request with the user agent and the run name of a scanner.
func (w *world) sendAs(run, method, path, token string, body []byte) int {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.web.URL+path, strings.NewReader(string(body)))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("User-Agent", "Semgrep/1.180.0 (command/ci)")
	req.Header.Set("X-Semgrep-Scan-ID", run)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
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

// TestRejectedRunsAreStored checks that rejected runs are stored with the owner of the token, if
// known, and never with the token.
func TestRejectedRunsAreStored(t *testing.T) {
	each(t, func(w *world) {
		body := w.recorded("full/1-scans.json")
		revoked := w.newToken(model.Token{Name: "revoked", Scopes: []model.Scope{model.ScopeCI}})
		expired := w.newToken(model.Token{Name: "expired", Scopes: []model.Scope{model.ScopeCI}, ExpiresAt: w.clock.Now().Add(time.Hour)})
		reader := w.newToken(model.Token{Name: "reader", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}})
		unknown := auth.NewSecret(w.deployment.ID).Text
		w.update(func(ctx context.Context, tx *store.Tx) error {
			token, err := tx.Token(ctx, "revoked")
			if err != nil {
				return err
			}
			return tx.RevokeToken(ctx, token.ID)
		})
		w.clock.Advance(2 * time.Hour)
		for run, token := range map[string]string{
			"run-none": "", "run-mistyped": w.token[:len(w.token)-1] + "x", "run-unknown": unknown, "run-revoked": revoked, "run-expired": expired, "run-reader": reader,
		} {
			want := http.StatusUnauthorized
			if run == "run-reader" {
				want = http.StatusForbidden
			}
			if status := w.sendAs(run, "POST", "/api/cli/v2/scans", token, body); status != want {
				w.Errorf("%s: %d, want %d", run, status, want)
			}
			failure := fmt.Appendf(nil, `{"request_id":%q,"exit_code":13,"error":"Traceback\n Unauthorized %s"}`, run, token)
			if status := w.sendAs("", "POST", "/failure", token, failure); status != http.StatusOK {
				w.Errorf("%s: its failure is answered %d", run, status)
			}
		}
		own, stray := w.attempts()
		reported := map[string]string{}
		for _, a := range append(own, stray...) {
			reported[a.Name] = fmt.Sprintf("%v %s %d %s %s", a.DeploymentID == w.deployment.ID, a.Step, a.ExitCode, a.Repository, a.Ref)
			if a.Agent != "Semgrep/1.180.0 (command/ci)" || a.Address != "127.0.0.1" || !strings.Contains(a.Cause, "Unauthorized") {
				w.Errorf("%+v", a)
			}
			if known := a.Name == "run-revoked" || a.Name == "run-expired" || a.Name == "run-reader"; known != strings.HasPrefix(a.TokenID, "tok_") {
				w.Errorf("%s names the token %q", a.Name, a.TokenID)
			}
			if word := strings.TrimPrefix(a.Name, "run-"); word != "reader" && word != "none" && !strings.Contains(a.Cause, map[string]string{
				"mistyped": "not a token of this server", "unknown": "unknown token", "revoked": "was revoked on 20", "expired": "expired on 20",
			}[word]) {
				w.Errorf("%s: %s", a.Name, a.Cause)
			}
		}
		const where = "acme/demo refs/heads/main"
		w.same("attempts", map[string]string{
			"run-none": "false unauthenticated 13 " + where, "run-mistyped": "false unauthenticated 13 " + where, "run-unknown": "false unauthenticated 13 " + where,
			"run-revoked": "true unauthenticated 13 " + where, "run-expired": "true unauthenticated 13 " + where, "run-reader": "true forbidden 13 " + where,
		}, reported)
		for _, secret := range []string{revoked, expired, reader, unknown, w.token[:len(w.token)-1]} {
			w.assertNotStored("token", secret)
			if strings.Contains(w.log.String(), secret) {
				w.Error("the log holds a token")
			}
		}
	})
}

// TestFailedScanIsOneAttempt checks that several reports of one failure are joined.
func TestFailedScanIsOneAttempt(t *testing.T) {
	each(t, func(w *world) {
		w.rules(model.ModeMonitor)
		path := w.begin("error")
		for range 2 {
			w.ok("POST", path+"error", w.recorded("error/3-error.json"))
			w.ok("POST", "/failure", w.recorded("error/4-failure.json"))
		}
		own, _ := w.attempts()
		if len(own) != 1 {
			w.Fatalf("%d attempts: %+v", len(own), own)
		}
		a, scan := own[0], w.scans()[0]
		w.same("the attempt", []any{model.FailedScan, 7, fmt.Sprint(a.ScanID), "refs/heads/main", true},
			[]any{a.Step, a.ExitCode, scan.ID, a.Ref, strings.HasPrefix(a.TokenID, "tok_")})
		for _, want := range []string{"exit code 7", "Rule parse error in rule bad"} {
			if strings.Count(a.Cause, want) != 1 {
				w.Errorf("its cause is %q, want %q once", a.Cause, want)
			}
		}
	})
}

// TestFailureCausesOfScanAreLimited checks that only the first causes of a scan are stored.
func TestFailureCausesOfScanAreLimited(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.begin("error")
	for i := range 20 {
		body := fmt.Sprintf(`{"exit_code":2,"error":"cause %d: %s"}`, i, strings.Repeat("x", 1500))
		w.sendAs("8c0019b7-2a37-4477-b289-ca93cdf3ffb4", "POST", "/failure", w.token, []byte(body))
	}
	scan := w.scans()[0]
	if !strings.Contains(scan.Error, "cause 0") || len(scan.Error) > 4200 {
		t.Errorf("%d bytes of causes, beginning %.40q", len(scan.Error), scan.Error)
	}
}

// TestFloodOfFailures checks that some attempts of an address are stored and the others counted.
func TestFloodOfFailures(t *testing.T) {
	w := newWorld(t, "sqlite")
	for i := range 100 {
		w.sendAs(fmt.Sprint("run-", i), "POST", "/failure", "", []byte(`{"exit_code":2,"error":"x"}`))
		w.sendAs(fmt.Sprint("run-", i), "GET", "/api/agent/identity", "nonsense", nil)
	}
	_, stray := w.attempts()
	w.same("kept", 15, len(stray)) // 30 steps of 15 runs
	w.same("nonsense of others", http.StatusOK, w.sendAs("later", "POST", "/failure", w.token, []byte(`{"exit_code":2,"error":"x"}`)))
	own, _ := w.attempts()
	w.same("of a known caller, all the same", 1, len(own))
	page := httptest.NewRecorder()
	w.metrics.ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	metrics := page.Body.String()
	for _, want := range []string{
		`redoubt_scanner_failures_total{step="failure"} 101`, `redoubt_scanner_failures_total{step="unauthenticated"} 100`, `redoubt_scanner_failures_dropped_total 170`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics do not tell %s", want)
		}
	}
}

// TestClientAddressComesFromTrustedProxies checks that the client's address is taken from trusted proxies only.
func TestClientAddressComesFromTrustedProxies(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		w := newWorld(t, "sqlite", func(c *apihttp.Config) {
			if trusted {
				c.TrustedProxies = loopback
			}
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.web.URL+"/api/agent/identity", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", "203.0.113.9, 198.51.100.4, 127.0.0.1")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		_, stray := w.attempts()
		want := "127.0.0.1"
		if trusted {
			want = "198.51.100.4"
		}
		if len(stray) != 1 || stray[0].Address != want || !strings.HasPrefix(stray[0].Name, "run_") {
			t.Errorf("trusted %v: %+v, want %s", trusted, stray, want)
		}
	}
}
