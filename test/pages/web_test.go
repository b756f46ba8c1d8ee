package pages

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web"
	"github.com/redoubt/redoubt/internal/web/ui"
)

func TestUnauthenticatedRequestsRedirectToSignIn(t *testing.T) {
	s := newSite(t)
	s.viewer = nil
	for path, want := range map[string]string{
		"/overview":         "/login?next=%2Forgs%2Facme%2Foverview",
		"/overview?a=b&c=d": "/login?next=%2Forgs%2Facme%2Foverview%3Fa%3Db%26c%3Dd",
		"":                  "/login?next=%2Forgs%2Facme",
	} {
		if a := s.get(path); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != want {
			t.Errorf("GET %s: %d to %q, want %q", path, a.StatusCode, a.Header.Get("Location"), want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/orgs/acme/overview?part=1", nil)
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Current-URL", "http://localhost/orgs/acme/findings?repo=a")
	if a := s.send(r); a.Header.Get("HX-Redirect") != "/login?next=%2Forgs%2Facme%2Ffindings%3Frepo%3Da" {
		t.Errorf("a fragment redirects to %q", a.Header.Get("HX-Redirect"))
	}
}

func TestAddressesAreCanonical(t *testing.T) {
	s := newSite(t)
	for address, want := range map[string]string{
		"/":                    "/orgs/acme/overview",
		"/orgs/-/overview?x=1": "/orgs/acme/overview?x=1",
		"/orgs/acme":           "/orgs/acme/overview",

		"/orgs/%2d/overview?x=%2F1": "/orgs/acme/overview?x=%2F1",
		"/orgs/-/findings/%31":      "/orgs/acme/findings/%31",
		"/orgs/%2D":                 "/orgs/acme",
	} {
		a := s.send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
		if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != want {
			t.Errorf("GET %s: %d to %q, want %q", address, a.StatusCode, a.Header.Get("Location"), want)
		}
	}
}

func TestNotFoundPage(t *testing.T) {
	s := newSite(t)
	for _, address := range []string{"/nothing", "/orgs/acme/nothing", "/orgs/other/overview", "/orgs/noise/overview"} {
		a := s.send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
		if a.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: %d", address, a.StatusCode)
		}
		containsAll(t, a.text, "<!doctype html>")
		if status := textAt(t, a.text, ".fault[role=alert] .status"); status != "404" {
			t.Errorf("GET %s: the page is about %s", address, status)
		}
	}
}

func TestEveryRouteChecksViewer(t *testing.T) {
	s := newSite(t)
	// The last four redirect to the sign-in page themselves, as they are below no deployment.
	open := regexp.MustCompile(`^/(login|logout|setup|oidc|sign-in|join|choose|invitations|second-factor|device$)`)
	wildcard := regexp.MustCompile(`\{[^}]*\}`)
	for _, route := range web.Routes() {
		if route.Role == ui.Anyone {
			if !open.MatchString(route.Pattern) {
				t.Errorf("%s %s requires no authentication", route.Method, route.Pattern)
			}
			continue
		}
		address := wildcard.ReplaceAllString(strings.ReplaceAll(strings.ReplaceAll(route.Pattern, "{$}", ""), "{deployment}", "acme"), "1")
		s.viewer = nil
		if a := s.send(httptest.NewRequestWithContext(t.Context(), route.Method, address, nil)); !strings.HasPrefix(a.Header.Get("Location"), "/login") {
			t.Errorf("%s %s returns %d without a session", route.Method, address, a.StatusCode)
		}
		if route.Role == model.RoleViewer {
			continue
		}
		s.as(route.Role - 1)
		if a := s.send(httptest.NewRequestWithContext(t.Context(), route.Method, address, nil)); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s returns %d to a %s", route.Method, address, a.StatusCode, s.viewer.Role)
		}
	}
}

func TestCrossSiteRequestsAreRejected(t *testing.T) {
	s := newSite(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orgs/acme/overview", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	s.pages.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d", w.Code)
	}
	containsAll(t, textAt(t, w.Body.String(), ".fault[role=alert]"), "--public-url")
}

func TestNoInlineScriptsOrStyles(t *testing.T) {
	s := newSite(t)
	a := s.get("/overview")
	policy := a.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy allows inline code: %s", policy)
	}
	checkInline(t, a.text)
}

// checkInline fails the test if a page contains inline code that the content security policy
// forbids.
func checkInline(t testing.TB, page string) {
	t.Helper()
	if bad := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script>|javascript:`).FindString(page); bad != "" {
		t.Errorf("the page has %q inline", bad)
	}
}

func TestAssetsAreCached(t *testing.T) {
	s := newSite(t)
	page := s.page("/overview")
	found := regexp.MustCompile(`/assets/[a-z.]+\.[0-9a-f]{12}\.(css|js|svg)`).FindAllString(page, -1)
	if len(found) < 5 {
		t.Fatalf("the page loads %v", found)
	}
	for _, address := range found {
		a := s.send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
		if a.StatusCode != http.StatusOK || !strings.Contains(a.Header.Get("Cache-Control"), "immutable") || a.text == "" {
			t.Errorf("%s: %d, %q", address, a.StatusCode, a.Header.Get("Cache-Control"))
		}
	}
	if a := s.send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/assets/app.css", nil)); a.StatusCode != http.StatusNotFound {
		t.Errorf("an asset without its hash returns %d", a.StatusCode)
	}
}
