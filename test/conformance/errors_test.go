package conformance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// testUnknownRoutes checks that unknown addresses return a problem document.
func testUnknownRoutes(t *testing.T, w *world) {
	for _, path := range []string{"/", "/nothing", "/api", "/api/v1", "/api/v1/nothing", "/api/v2/projects", w.root() + "/nothing", w.root() + "/findings/1/2", w.root() + "/policies/1/nothing"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			for _, token := range []string{"", "-"} {
				p := refused(t, w.send(t, request{method: method, path: path, token: token}), 404, api.CodeNotFound)
				if p.Instance != path {
					t.Errorf("%s: instance %q", path, p.Instance)
				}
			}
		}
	}
}

// testMethods sends every method to every address of the table. Unsupported ones return 405 with an
// Allow header that lists the supported ones.
func testMethods(t *testing.T, w *world) {
	allowed := map[string][]string{}
	for _, r := range apihttp.Routes() {
		allowed[r.Pattern] = append(allowed[r.Pattern], r.Method)
		if r.Method == http.MethodGet {
			allowed[r.Pattern] = append(allowed[r.Pattern], "HEAD")
		}
	}
	parts := map[string]string{"findingId": "1", "projectName": "acme/payments", "repositoryId": "1", "taskToken": "x", "policyId": "1"}
	for pattern, want := range allowed {
		slices.Sort(want)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			if slices.Contains(want, method) {
				continue
			}
			a := w.send(t, request{method: method, path: address(pattern, "acme", parts)})
			if a.status != 405 {
				t.Errorf("%s %s returns %d", method, pattern, a.status)
				continue
			}
			if method != "HEAD" {
				refused(t, a, 405, api.CodeMethodNotAllowed)
			}
			if got := a.header.Get("Allow"); got != strings.Join(want, ", ") {
				t.Errorf("%s %s allows %q, want %v", method, pattern, got, want)
			}
		}
	}
}

// testBodies sends invalid bodies and bodies of other media types to every operation with a JSON
// body.
func testBodies(t *testing.T, w *world) {
	eachRoute(t, w, func(t *testing.T, r apihttp.Route, p probe) {
		if r.Method != http.MethodPost && r.Method != http.MethodPatch || r.ID == "importReports" || r.ID == "importDocuments" || p.body == nil {
			return
		}
		at := address(r.Pattern, "acme", p.ours) + p.query
		for _, body := range []string{"{", `{"a":}`, `[]`, `"x"`, `7`, `{} {}`, "\xff", `{"deploymentId":{},"deploymentSlug":{}}`, strings.Repeat("[", 20000)} {
			invalid(t, w.send(t, request{method: r.Method, path: at, body: body}))
		}
		for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "nonsense"} {
			refused(t, w.send(t, request{method: r.Method, path: at, body: "{}", header: map[string]string{"Content-Type": media}}), 415, api.CodeUnsupportedMediaType)
		}
		refused(t, w.send(t, request{method: r.Method, path: at, body: "{}", header: map[string]string{"Content-Encoding": "br"}}), 415, api.CodeUnsupportedMediaType)
		invalid(t, w.send(t, request{method: r.Method, path: at, body: "{}", header: map[string]string{"Content-Encoding": "gzip"}}))
	})
}

// testRequestIDs checks that a valid request id of the client is used, and others are replaced.
func testRequestIDs(t *testing.T, w *world) {
	for sent, preserved := range map[string]bool{"mine-1.2_3": true, strings.Repeat("x", 129): false, "a b": false, "a\"b": false, "": false} {
		a := w.send(t, request{method: "GET", path: "projects", header: map[string]string{"X-Request-Id": sent}})
		if got := a.header.Get("X-Request-Id"); (got == sent) != preserved || got == "" {
			t.Errorf("id %q is returned as %q", sent, got)
		}
	}
}

// testHead checks that every read supports HEAD.
func testHead(t *testing.T, w *world) {
	for _, path := range []string{"findings", "projects", "policies", "projects/acme/payments"} {
		if a := w.send(t, request{method: "HEAD", path: path}); a.status != 200 || len(a.body) > 0 {
			t.Errorf("HEAD %s returns %d and %d bytes", path, a.status, len(a.body))
		}
	}
}

// TestBodySizeLimits checks the limits of bodies, compressed and decompressed.
func TestBodySizeLimits(t *testing.T) {
	s := newSite(t, "sqlite", apihttp.Limits{Body: 1000, Upload: 4000})
	big := []byte(`{"name":"` + strings.Repeat("x", 1000) + `"}`)
	for name, r := range map[string]request{
		"json":        {method: "POST", path: "dependencies", body: big},
		"zipped json": {method: "POST", path: "dependencies", body: reporttest.Gzip(t, bytes.Repeat(big, 100)), header: map[string]string{"Content-Encoding": "gzip"}},
		"report":      {method: "POST", path: "imports?project=a/b", body: append([]byte(`{"results":[],"paths":{"scanned":[]},"x":"`), bytes.Repeat([]byte("x"), 5000)...)},
		"zipped":      {method: "POST", path: "imports?project=a/b", body: reporttest.Gzip(t, semgrepReport((&world{site: s, rules: map[string]scanRule{}}).matches(1, 0, 50)...)), header: map[string]string{"Content-Encoding": "gzip"}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, s.send(t, r), 413, api.CodeTooLarge) })
	}
	post[api.ListDependenciesResponse](t, s, "dependencies", big[:0])
}

// TestRateLimit checks the rate limit of each token.
func TestRateLimit(t *testing.T) {
	s := newSite(t, "sqlite", apihttp.Limits{Rate: 1, Burst: 3})
	other := s.newToken(t, model.Token{Name: "other", Scopes: []model.Scope{model.ScopeWebAPI}})
	sendWith := func(token string) answer { return s.send(t, request{method: "GET", path: "projects", token: token}) }
	for left := 2; left >= 0; left-- {
		a := sendWith("")
		if a.status != 200 || a.header.Get("RateLimit-Remaining") != string(rune('0'+left)) || a.header.Get("RateLimit-Limit") == "" || a.header.Get("RateLimit-Reset") == "" {
			t.Errorf("with %d left: %d, %v", left, a.status, a.header)
		}
	}
	a := sendWith("")
	refused(t, a, 429, api.CodeRateLimited)
	if a.header.Get("Retry-After") != "1" || a.header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("over the rate: %v", a.header)
	}
	if a := sendWith(other); a.status != 200 {
		t.Errorf("another token is refused: %s", a.body)
	}
	s.clock.Advance(time.Second)
	if a := sendWith(""); a.status != 200 {
		t.Errorf("a second later: %s", a.body)
	}
}

// TestInternalErrorHidesDetails breaks the store and checks that the response contains no details, while the log
// contains them under the same request id.
func TestInternalErrorHidesDetails(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		smallSite(t, s)
		for table, r := range map[string]request{
			"policy_rule": {method: "GET", path: "secrets"},
			"dependency":  {method: "POST", path: "dependencies", body: object{}},
			"scan":        {method: "POST", path: "scans/search", body: object{}},
			"project_tag": {method: "PATCH", path: payments, body: object{"tags": "a"}},
		} {
			s.without(t, table, func() {
				a := s.send(t, r)
				p := refused(t, a, 500, api.CodeInternal)
				if body := strings.ToLower(strings.NewReplacer(p.Instance, "", p.RequestID, "").Replace(string(a.body))); strings.Contains(body, table) || strings.Contains(body, "sql") || strings.Contains(body, ".go") {
					t.Errorf("shows %s", a.body)
				}
				if line := s.log.lines(p.RequestID); !strings.Contains(line, table) || !strings.Contains(line, `"cause"`) {
					t.Errorf("without %s the log shows %s", table, line)
				}
			})
		}
	})
}

// TestUnavailable checks that a server with a closed store returns a retry delay.
func TestUnavailable(t *testing.T) {
	s := newSite(t, "sqlite")
	if a := s.send(t, request{method: "GET", path: "/readyz"}); a.status != 200 {
		t.Errorf("readyz returns %d", a.status)
	}
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	a := s.send(t, request{method: "GET", path: "projects"})
	refused(t, a, 503, api.CodeUnavailable)
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// TestRequestLog checks that every request is logged as one line with the required members, without its
// query or token.
func TestRequestLog(t *testing.T) {
	s := newSite(t, storetest.Engines[0])
	a := s.send(t, request{method: "GET", path: "findings?rules=private-word"})
	var line map[string]any
	text := s.log.lines(a.header.Get("X-Request-Id"))
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	for _, member := range []string{"request_id", "route", "status", "duration", "deployment", "token"} {
		if line[member] == nil {
			t.Errorf("the line has no %s: %s", member, text)
		}
	}
	if line["status"] != float64(http.StatusOK) || line["route"] != "/api/v1/deployments/{deploymentSlug}/findings" {
		t.Errorf("the line shows %s", text)
	}
	if all := s.log.String(); strings.Contains(all, "private-word") || strings.Contains(all, s.token) {
		t.Errorf("the log contains a query or a token: %s", all)
	}
}
