package apihttp

import (
	"net/http"
	"testing"
)

// TestInvalidTokensAreRateLimited checks that invalid tokens are rate limited, and valid ones from the
// same address are not.
func TestInvalidTokensAreRateLimited(t *testing.T) {
	h := newHarness(t)
	var a answer
	for range 301 {
		a = h.send(http.MethodGet, findingsPath, "", "Authorization", "Bearer rdt_1_x_y")
	}
	h.wantProblem(a, "rate_limited")
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
	}
	if a := h.send(http.MethodGet, findingsPath, ""); a.status != http.StatusOK {
		t.Errorf("a valid token: %d %s", a.status, a.body)
	}
	h.wantProblem(h.send(http.MethodGet, findingsPath, "", "Authorization", ""), "unauthenticated")
}
