package pages

import (
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// countLink is a number on a page that links to its rows.
type countLink struct {
	address, of string
	n           int
}

var (
	countAnchor = regexp.MustCompile(`(?s)<a ([^>]*data-count="(\w+)"[^>]*)>(.*?)</a>`)
	href        = regexp.MustCompile(`href="([^"]+)"`)
	markup      = regexp.MustCompile(`<[^>]*>`)
	digits      = regexp.MustCompile(`\d[\d\x{202f}]*`)
)

// countLinks returns all numbers of a page that link to their rows.
func countLinks(t *testing.T, page string) (links []countLink) {
	t.Helper()
	for _, m := range countAnchor.FindAllStringSubmatch(page, -1) {
		text := strings.ReplaceAll(digits.FindString(markup.ReplaceAllString(m[3], " ")), "\u202f", "")
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s shows no number", m[0])
		}
		links = append(links, countLink{html.UnescapeString(href.FindStringSubmatch(m[1])[1]), m[2], n})
	}
	return links
}

// total returns the number of rows on a page. For a project it is the sum over its products.
func (s *site) total(t *testing.T, l countLink) int {
	t.Helper()
	address, _, _ := strings.Cut(l.address, "#")
	a := s.send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
	if a.StatusCode != http.StatusOK {
		t.Errorf("%s answers %s", address, a.Status)
		return -1
	}
	if !regexp.MustCompile(`/projects/\d+$`).MatchString(address) {
		return scanTotal(t, a.text)
	}
	sum := 0
	for _, part := range countLinks(t, a.text) {
		if part.of == l.of {
			sum += part.n
		}
	}
	return sum
}

// TestCountsLinkToTheirRows checks that each count on a page is the number of rows that it links
// to.
func TestCountsLinkToTheirRows(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	least := map[string]int{"/overview": 20, "/projects": 4, "/policies": 0, "/findings?group=rule": 20, "/findings?group=project": 8}
	for page, n := range map[string]int{"/projects": 4, "/scans": 8, "/policies": 0} {
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(`href="/orgs/acme(`+page+`/\d+)"`).FindAllStringSubmatch(s.page(page), -1) {
			if len(seen) < 6 && !seen[m[1]] {
				seen[m[1]] = true
				least[m[1]] = n
			}
		}
		if len(seen) == 0 {
			t.Errorf("%s has no link", page)
		}
	}
	followed, policies := 0, 0
	for page, atLeast := range least {
		links := countLinks(t, s.page(page))
		if len(links) < atLeast {
			t.Errorf("%s has %d counts with links, want %d", page, len(links), atLeast)
		}
		for _, l := range links {
			if got := s.total(t, l); got != l.n {
				t.Errorf("%s shows %d %s, and %s has %d", page, l.n, l.of, l.address, got)
			}
		}
		followed += len(links)
		if strings.HasPrefix(page, "/policies/") {
			policies += len(links)
		}
	}
	if followed < 100 || policies == 0 {
		t.Errorf("only %d numbers were followed, %d of policies", followed, policies)
	}
}

// TestErrorPagesKeepLayout checks that errors about missing or inaccessible objects are shown within
// a page of the user's own deployment, with its navigation.
func TestErrorPagesKeepLayout(t *testing.T) {
	hasLayout := func(a answer) bool { return document(t, a.text).Find("header.side nav a").Length() > 0 }
	s := demoSite(t)
	s.as(model.RoleViewer)
	for address, want := range map[string]int{
		"/orgs/acme/nothing/here": http.StatusNotFound, "/orgs/acme/scans/999999": http.StatusNotFound, "/orgs/acme/settings/users": http.StatusForbidden,
		"/orgs/strangers/overview": http.StatusNotFound, "/orgs/strangers": http.StatusNotFound, "/orgs/acme/findings?severities=odd": http.StatusBadRequest,
	} {
		a := s.send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
		if a.StatusCode != want || !hasLayout(a) || !strings.Contains(a.text, `href="/orgs/acme/overview"`) {
			t.Errorf("%s: %s, with the layout: %v", address, a.Status, hasLayout(a))
		}
	}
	for _, address := range []string{"/nothing", "/orgs"} {
		a := s.send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
		if a.StatusCode != http.StatusNotFound || hasLayout(a) {
			t.Errorf("%s: %s", address, a.Status)
		}
	}
	s.viewer = nil
	a := s.send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/orgs/acme/nothing/here", nil))
	if a.StatusCode != http.StatusNotFound || strings.Contains(a.text, "acme") && hasLayout(a) {
		t.Errorf("a stranger sees %s %s", a.Status, a.text)
	}
}

// TestFiltersOnNarrowScreen checks that filters are collapsed above the list on a narrow screen
// and open with one click. On a wide screen they are always visible next to the list.
func TestFiltersOnNarrowScreen(t *testing.T) {
	s := demoSite(t)
	shown := `document.querySelector(".facet .take").checkVisibility({contentVisibilityAuto: true, visibilityProperty: true}) && document.querySelector(".facet .take").getBoundingClientRect().height > 0`
	narrow := s.browse(390, 844)
	narrow.open("/findings")
	if read[bool](narrow, shown) {
		t.Error("the filters are open on a narrow screen")
	}
	if top := read[int](narrow, `Math.round(document.querySelector(".filters summary").getBoundingClientRect().top)`); top > 500 || read[int](narrow, `Math.round(document.querySelector("[data-row]").getBoundingClientRect().top)`) < top {
		t.Errorf("the filters are at %d, below the list", top)
	}
	narrow.run(`document.querySelector(".filters summary").click()`)
	narrow.until(shown)
	narrow.run(`document.querySelector(".facet li:not(.in) .take").click()`)
	narrow.until(`location.search !== "" && document.querySelector(".filters summary .n")?.textContent === "2" && document.readyState === "complete"`)
	narrow.press("/")
	narrow.until(`document.activeElement.id === "find"`)

	wide := s.browse(1440, 900)
	wide.open("/findings")
	if !read[bool](wide, shown) || read[bool](wide, `document.querySelector(".filters summary").checkVisibility()`) {
		t.Error("the filters are collapsed on a wide screen")
	}
}
