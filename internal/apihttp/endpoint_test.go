package apihttp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TestAdmission checks access errors for missing scopes, one key per body, one spelling of numbers,
// and that responses are not cached.
func TestAdmission(t *testing.T) {
	h := newHarness(t)
	h.importFindings()
	const acme = "/api/v1/deployments/acme"
	nothing := h.newToken(model.Token{Name: "nothing", Scopes: []model.Scope{model.ScopeReadOnly}})
	for target, want := range map[string]string{
		acme + "/findings": "does not have Web API access",
		"/api/v1/deployments/" + fmt.Sprint(h.deployment.ID) + "/imports": "neither the scope ci nor web_api",
	} {
		method := http.MethodGet
		if strings.HasSuffix(target, "imports") {
			method = http.MethodPost
		}
		a := h.send(method, target, "", "Authorization", "Bearer "+nothing)
		if h.wantProblem(a, api.CodePermissionDenied); !strings.Contains(a.problem.Detail, want) {
			t.Errorf("%s: %s, want %s", target, a.problem.Detail, want)
		}
	}

	if a := h.send(http.MethodGet, acme+"/findings", ""); a.status != http.StatusOK || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the response is %d, with Cache-Control %q", a.status, a.header.Get("Cache-Control"))
	}

	made := h.send(http.MethodPost, acme+"/projects", `{"name":"acme/one"}`, "Idempotency-Key", "k")
	repeated := h.send(http.MethodPost, acme+"/projects", `{"name":"acme/two"}`, "Idempotency-Key", "k")
	if h.wantProblem(repeated, api.CodeConflict); made.status/100 != 2 || !strings.Contains(repeated.problem.Detail, "Idempotency-Key") {
		t.Errorf("a key returns %d, with another body %s", made.status, repeated.body)
	}

	const scans = "/scan/"
	byID := "/api/v1/deployments/" + fmt.Sprint(h.deployment.ID) + scans
	scan := ""
	for n := int64(1); n < 100 && scan == ""; n++ {
		if h.send(http.MethodGet, byID+fmt.Sprint(n), "").status == http.StatusOK {
			scan = fmt.Sprint(n)
		}
	}
	for _, other := range []string{"0" + scan, "+" + scan, scan + ".0", "-1", "0", "x"} {
		h.wantProblem(h.send(http.MethodGet, byID+other, ""), api.CodeNotFound)
	}
	if scan == "" {
		t.Error("no scan for other spellings")
	}

	for range 20 {
		if got := h.send(http.MethodPut, acme+"/projects/acme%2Fone", "").header.Get("Allow"); got != "DELETE, GET, HEAD, PATCH" {
			t.Fatalf("allowed: %q", got)
		}
	}
}
