package pages

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/web"
)

// TestPagesAreNotCached requests all routes, with and without valid parameters, and checks that only
// static assets may be cached.
func TestPagesAreNotCached(t *testing.T) {
	s := newSite(t)
	fill := strings.NewReplacer("{deployment}", "acme", "{$}", "")
	for _, route := range web.Routes() {
		path := fill.Replace(route.Pattern)
		a := s.send(httptest.NewRequestWithContext(t.Context(), route.Method, path, nil))
		if got := a.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s %s returns %d with Cache-Control %q", route.Method, route.Pattern, a.StatusCode, got)
		}
	}
	for _, path := range []string{"/overview", "/findings", "/secrets", "/settings/users", "/settings/tokens", "/settings/audit", "/nowhere"} {
		if got := s.get(path).Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
	}
}
