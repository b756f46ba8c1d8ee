package apihttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
)

const findingsPath = "/api/v1/deployments/acme/findings"

func TestProblems(t *testing.T) {
	h := newHarness(t)
	h.importFindings()
	ci := h.newToken(model.Token{Name: "ci", Scopes: []model.Scope{model.ScopeCI}})
	readOnly := h.newToken(model.Token{Name: "ro", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}})
	const triage = "/api/v1/deployments/acme/triage"
	const export = "/api/v1/deployments/acme/sbom/export"
	for _, test := range []struct {
		name, method, target, body, code string
		headers                          []string
		locations                        []string
	}{
		{name: "no token", target: findingsPath, code: api.CodeUnauthenticated, headers: []string{"Authorization", ""}},
		{name: "bad token", target: findingsPath, code: api.CodeUnauthenticated, headers: []string{"Authorization", "Bearer rdt_1_x_y"}},
		{name: "another scheme", target: findingsPath, code: api.CodeUnauthenticated, headers: []string{"Authorization", "Basic " + h.token}},
		{name: "wrong scope", target: findingsPath, code: api.CodePermissionDenied, headers: []string{"Authorization", "Bearer " + ci}},
		{name: "read-only writes", method: "POST", target: triage, body: "{}", code: api.CodePermissionDenied, headers: []string{"Authorization", "Bearer " + readOnly}},
		{name: "unknown route", target: "/api/v1/nothing", code: api.CodeNotFound},
		{name: "unknown deployment", target: "/api/v1/deployments/other/findings", code: api.CodeNotFound},
		{name: "noisy tenant", target: "/api/v1/deployments/1/findings", code: api.CodeNotFound},
		{name: "wrong method", method: "DELETE", target: findingsPath, code: api.CodeMethodNotAllowed},
		{name: "malformed", method: "POST", target: triage, body: "{", code: api.CodeInvalidArgument, locations: []string{"body"}},
		{name: "no object", method: "POST", target: triage, body: "[]", code: api.CodeInvalidArgument},
		{name: "a form", method: "POST", target: triage, body: "a=1", code: api.CodeUnsupportedMediaType, headers: []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{name: "too large", method: "POST", target: triage, body: strings.Repeat(" ", 3<<20), code: api.CodeTooLarge},
		{name: "bad cursor", method: "POST", target: "/api/v1/deployments/acme/dependencies", body: `{"cursor":"7"}`, code: api.CodeInvalidArgument, locations: []string{"body.cursor"}},
		{name: "NUL in the path", target: "/api/v1/deployments/acme/projects/a%2F%00", code: api.CodeNotFound},
		{name: "NUL in the query", target: findingsPath + "?ref=%00", code: api.CodeInvalidArgument, locations: []string{"query.ref"}},
		{name: "path copy", method: "POST", target: triage, body: `{"deployment_slug":"other","issue_type":"sast","new_note":"x","issue_ids":["1"]}`, code: api.CodeInvalidArgument, locations: []string{"body.deploymentSlug"}},
		{name: "unsigned download", target: export + "/task_x/download?expires=1&signature=x", code: api.CodePermissionDenied},
		{name: "unknown task", target: export + "/task_x", code: api.CodeNotFound},
		{
			name: "all errors of a query at once", target: findingsPath + "?page=x&page_size=50&severities=low,huge&issue_type=sca&policies=rule-board-audit&is_malicious=maybe&since=NaN",
			code: api.CodeInvalidArgument,
			locations: []string{
				"query.is_malicious", "query.page", "query.page_size", "query.policies", "query.severities[1]", "query.since",
			},
		},
		{name: "nothing sent", method: "POST", target: triage, code: api.CodeInvalidArgument, locations: []string{"body.issue_ids", "body.issue_type", "body.new_triage_state"}},
		{name: "relative path", target: "/api/v1/../v1/deployments", code: api.CodeNotFound},
		{
			name: "all forms of a member", method: "POST", target: "/api/v1/deployments/acme/scans/search",
			body: `{"is_full_scan":2,"statuses":["X"],"repository_id":"one","limit":501}`, code: api.CodeInvalidArgument,
			locations: []string{"body.is_full_scan", "body.limit", "body.repository_id", "body.statuses"},
		},
		{
			name: "all errors of a body at once", method: "POST", target: triage,
			body: `{"issue_type":"sast","sverities":["low"],"severities":["x"],"limit":0,"dependencies":["a"],"new_triage_state":"gone","deploymentSlug":9}`,
			code: api.CodeInvalidArgument,
			locations: []string{
				"body.dependencies", "body.deploymentSlug", "body.limit", "body.new_triage_state", "body.severities[0]", "body.sverities",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.t = t
			method := test.method
			if method == "" {
				method = http.MethodGet
			}
			a := h.send(method, test.target, test.body, test.headers...)
			h.wantProblem(a, test.code)
			if test.locations != nil {
				got := a.locations()
				slices.Sort(got)
				if diff := cmp.Diff(test.locations, got); diff != "" {
					t.Errorf("locations (-want +got):\n%s\n%s", diff, a.body)
				}
			}
		})
	}
}

func TestProblemMessages(t *testing.T) {
	h := newHarness(t)
	a := h.send(http.MethodGet, findingsPath+"?page_size=50", "")
	if !contains(a.body, `expected number >= 100`) {
		t.Error(a.body)
	}
	a = h.send(http.MethodPost, "/api/v1/deployments/acme/scans/search", `{"is_full_scan":2}`)
	if !contains(a.body, `expected 0, 1; or boolean`) {
		t.Error(a.body)
	}
}

// TestProblemsContainNoSecrets checks that values that may contain a credential, and messages of the
// decoder, are not sent back.
func TestProblemsContainNoSecrets(t *testing.T) {
	h := newHarness(t)
	for target, body := range map[string]string{
		"triage":   `{"new_note":"hunter2hunter2","limit":1e999}`,
		"projects": `{"name":"a/b","url":"https://me:hunter2hunter2@example.com/a"}`,
	} {
		a := h.send(http.MethodPost, "/api/v1/deployments/acme/"+target, body)
		h.wantProblem(a, api.CodeInvalidArgument)
		if contains(a.body, "hunter2") || contains(a.body, "Go value") {
			t.Errorf("%s: %s", target, a.body)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	h := newHarness(t)
	a := h.send(http.MethodPost, "/api/v1/deployments/acme/triage", `{"issue_type":"sast","new_note":"x","issue_ids":[`+strings.Repeat("1.5,", 5000)+`1]}`)
	h.wantProblem(a, api.CodeInvalidArgument)
	if n := len(a.locations()); n != 1000+1 {
		t.Errorf("%d errors are listed", n)
	}
}

func TestProblemHeaders(t *testing.T) {
	h := newHarness(t)
	if got := h.send(http.MethodGet, findingsPath, "", "Authorization", "").header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer") {
		t.Errorf("WWW-Authenticate: %q", got)
	}
	if got := h.send(http.MethodPut, findingsPath, "").header.Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow: %q", got)
	}
	if got := h.send(http.MethodPut, "/healthz", "").header.Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow: %q", got)
	}
	if got := h.send(http.MethodGet, "/api/v1/x", "", "X-Request-Id", "my-id.1").header.Get("X-Request-Id"); got != "my-id.1" {
		t.Errorf("a valid request id became %q", got)
	}
	if got := h.send(http.MethodGet, "/api/v1/x", "", "X-Request-Id", "a b").header.Get("X-Request-Id"); strings.Contains(got, "a b") || got == "" {
		t.Errorf("an invalid request id became %q", got)
	}
}

func TestForeignAndMissingDeploymentsLookAlike(t *testing.T) {
	h := newHarness(t)
	bodies := map[string]bool{}
	for _, deployment := range []string{"1", "99999", "unknown", "00"} {
		a := h.send(http.MethodGet, "/api/v1/deployments/"+deployment+"/findings", "", "X-Request-Id", "same")
		bodies[strings.ReplaceAll(a.body, "/deployments/"+deployment+"/", "/deployments/D/")] = true
	}
	if len(bodies) != 1 {
		t.Errorf("responses differ: %v", sortedKeys(bodies))
	}
}

func TestProblemOf(t *testing.T) {
	for want, err := range map[string]error{
		api.CodeNotFound:        errors.Join(model.ErrNotFound),
		api.CodeConflict:        model.ErrConflict,
		api.CodeUnavailable:     model.ErrUnavailable,
		api.CodeTooLarge:        model.ErrTooLarge,
		api.CodeInvalidArgument: model.Invalid("body.x", "is wrong"),
		api.CodeInternal:        errors.New("dial tcp 10.0.0.1: password=hunter2"),
	} {
		p := core.ProblemOf(err)
		if p.Code != want || strings.Contains(p.Detail, "hunter2") {
			t.Errorf("%v: %s %q", err, p.Code, p.Detail)
		}
	}
	if p := core.ProblemOf(fmt.Errorf("read: %w", context.Canceled)); p.Code != api.CodeUnavailable {
		t.Errorf("a disconnected caller is an internal error: %s", p.Code)
	}
	if p := core.ProblemOf(model.ErrUnavailable); p.Wait == 0 {
		t.Error("Retry-After is missing")
	}
}

func TestRateLimit(t *testing.T) {
	h := newHarness(t, func(c *core.Config) { c.Limits.Rate, c.Limits.Burst = 0.5, 2 })
	for range 2 {
		if a := h.send(http.MethodGet, "/api/v1/deployments", ""); a.status != http.StatusOK || a.header.Get("RateLimit-Limit") != "2" {
			t.Fatalf("%d %v", a.status, a.header)
		}
	}
	h.clock.Advance(2 * time.Second)
	list := h.send(http.MethodGet, "/api/v1/deployments/acme/projects", "")
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		if list.header.Get(name) == "" {
			t.Errorf("%d lacks %s", list.status, name)
		}
	}
	h.clock.Advance(2 * time.Second)
	if a := h.send(http.MethodGet, "/api/v1/deployments/acme/projects", "", "If-None-Match", list.header.Get("ETag")); a.status != http.StatusNotModified || a.header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("%d %v", a.status, a.header)
	}
	a := h.send(http.MethodGet, "/api/v1/deployments", "")
	h.wantProblem(a, api.CodeRateLimited)
	if a.header.Get("Retry-After") != "2" || a.header.Get("RateLimit-Remaining") != "0" || a.header.Get("RateLimit-Reset") == "" {
		t.Errorf("headers: %v", a.header)
	}
}
