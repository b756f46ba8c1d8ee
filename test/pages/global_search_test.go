package pages

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

var (
	anOption = regexp.MustCompile(`(?s)<(?:a|button) id="hit-[^>]*>.*?</(?:a|button)>`)
	leadsTo  = regexp.MustCompile(`(?:href|form)="([^"]*)"`)
	hitTag   = regexp.MustCompile(`<[^>]*>`)
)

// palette returns the contents of the palette on a page: addresses and texts.
func (s *site) palette(at, typed string) (addresses, texts []string, all string) {
	s.t.Helper()
	r := pageRequest(s.t, "/orgs/acme/search?q="+url.QueryEscape(typed))
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Current-URL", "http://localhost/orgs/acme"+at)
	a := s.send(r)
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("%q: %d %s", typed, a.StatusCode, a.text)
	}
	checkInline(s.t, strings.ReplaceAll(a.text, "onerror=", "")) // escaped, as in hostile names
	for _, o := range anOption.FindAllString(a.text, -1) {
		addresses = append(addresses, html.UnescapeString(leadsTo.FindStringSubmatch(o)[1]))
		texts = append(texts, strings.Join(strings.Fields(html.UnescapeString(hitTag.ReplaceAllString(o, ""))), " "))
	}
	return addresses, texts, a.text
}

func pageRequest(t testing.TB, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSearchLinksToExistingPages checks that each kind of object is found, is ranked first for its
// name, and has a valid address.
func TestSearchLinksToExistingPages(t *testing.T) {
	s := demoSite(t)
	s.crew()
	s.as(model.RoleTriager)
	finding := firstFinding(s)
	s.saveView(url.Values{"query": {"severities=high"}, "name": {"Weekly review"}})
	for _, c := range []struct{ typed, leads string }{
		{"#" + finding, "/findings/" + finding},
		{finding, "/findings/" + finding},
		{"acme/payments", "/projects/"},
		{"payments", "/projects/"},
		{"lodash", "/supply-chain/vulnerabilities?dependencies=lodash"},
		{"weekly", "/findings?view="},
		{"builder", "/findings?assignees=bob"},
		{s.navLabel("/policies")[:5], "/policies"},
		{"Settings " + s.navLabel("/settings/tokens")[:3], "/settings/tokens"},
		{"New token", "/settings/tokens"},
		{s.navLabel("/overview"), "/overview"},
	} {
		addresses, texts, _ := s.palette("/overview", c.typed)
		if len(addresses) == 0 || !strings.HasPrefix(addresses[0], "/orgs/acme"+c.leads) {
			t.Errorf("the first results of %q are %.200q, %.200q; want %s", c.typed, addresses, texts, c.leads)
			continue
		}
		for _, to := range addresses {
			if a := s.get(strings.TrimPrefix(to, "/orgs/acme")); a.StatusCode != http.StatusOK {
				t.Errorf("%q links to %s, which returns %d", c.typed, to, a.StatusCode)
			}
		}
		containsAll(t, s.page("/search?q="+url.QueryEscape(c.typed)), html.EscapeString(addresses[0]))
	}
	_, _, text := s.palette("/overview", "no such name")
	containsAll(t, text, `data-total="0"`, "/orgs/acme/findings?q=no&#43;such&#43;name")
	page := s.page("/search?q=no+such+name")
	shows(t, page, "[data-say=nothing-found]")
	containsAll(t, page, "/orgs/acme/advisories?q=no&#43;such&#43;name")
}

// navLabel returns the label of a page in the navigation.
func (s *site) navLabel(path string) string {
	s.t.Helper()
	return textAt(s.t, s.page("/projects"), `nav a[href="/orgs/acme`+path+`"]`)
}

// TestActionsFollowFindingStatus checks the pages and roles for which actions are offered.
func TestActionsFollowFindingStatus(t *testing.T) {
	s := demoSite(t)
	project := first(s, "/projects", "/projects/")
	for _, c := range []struct {
		role        model.Role
		at, offers  string // address of a hit, or of the form that it submits
		offered     bool
		description string
	}{
		{model.RoleTriager, "/projects/" + project, `form[id^=send-action][action$="/scan"]`, true, "a scan of the project"},
		{model.RoleViewer, "/projects/" + project, `form[id^=send-action][action$="/scan"]`, false, "a scan, which a viewer may not make"},
		{model.RoleTriager, "/projects/999999", `form[id^=send-action][action$="/scan"]`, false, "a scan of no project"},
		{model.RoleTriager, "/overview", `form[id^=send-action][action$="/scan"]`, false, "a scan of nothing"},
		{model.RoleViewer, "/findings?severities=high&finding=3", `[id^=hit-action][href*="/export?"]`, true, "an export"},
		{model.RoleViewer, "/projects", `[id^=hit-action][href*="/export?"]`, false, "an export of no list"},
		{model.RoleViewer, "/overview", `[id^=hit-action][href$="/upload"]`, false, "an upload, which a viewer may not make"},
		{model.RoleTriager, "/overview", `[id^=hit-action][href$="/upload"]`, true, "an upload"},
		{model.RoleTriager, "/overview", `[id^=hit-action][href$="/settings/users"]`, false, "an invitation by a triager"},
		{model.RoleAdmin, "/overview", `[id^=hit-action][href$="/settings/users"]`, true, "an invitation"},
		{model.RoleViewer, "/overview", `[id^=hit-page][href$="/settings/audit"]`, false, "the audit log for a viewer"},
		{model.RoleAdmin, "/overview", `[id^=hit-page][href$="/settings/audit"]`, true, "the audit log"},
	} {
		s.as(c.role)
		_, texts, all := s.palette(c.at, "")
		if (document(t, all).Find(c.offers).Length() > 0) != c.offered {
			t.Errorf("%s on %s: %s: want %t of %q", c.role, c.at, c.description, c.offered, texts)
		}
	}
	s.as(model.RoleViewer)
	_, _, all := s.palette("/findings?severities=high&finding=3", "")
	addresses, _, _ := s.palette("/findings?severities=high&finding=3", textAt(t, all, `[id^=hit-action][href*="/export?"]`))
	if len(addresses) == 0 || addresses[0] != "/orgs/acme/findings/export?format=csv&severities=high" {
		t.Fatalf("exported: %q", addresses)
	}
	if a := s.get(strings.TrimPrefix(addresses[0], "/orgs/acme")); a.StatusCode != http.StatusOK {
		t.Errorf("the export returns %d", a.StatusCode)
	}
}

// TestSearchEscapesHostileNames checks that names are escaped, including their highlighted
// parts.
func TestSearchEscapesHostileNames(t *testing.T) {
	s := demoSite(t)
	const name = `acme/<img src=x onerror=alert(1)>&"\u202e`
	err := s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateProject(ctx, model.Project{Name: name})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, typed := range []string{"<img", "src", `&"`, "acme", `"><script>`, "img src"} {
		_, texts, all := s.palette("/overview", typed)
		page := s.page("/search?q=" + url.QueryEscape(typed))
		for _, text := range []string{all, page} {
			lacks(t, text, "<img src", "<script>")
		}
		found := slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, strings.Join(strings.Fields(name), " ")) })
		if want := !strings.Contains(typed, "script"); found != want {
			t.Errorf("%q returns it: %t in %q", typed, found, texts)
		}
	}
	_, _, all := s.palette("/overview", "IMG")
	containsAll(t, all, "acme/&lt;<mark>img</mark> src=x")
}

// TestSearchIsBounded checks that searches above the limits are rejected, and others are not.
func TestSearchIsBounded(t *testing.T) {
	s := demoSite(t)
	for typed, most := range map[string]string{strings.Repeat("a ", 17): "16", strings.Repeat("a", 201): "200"} {
		a := s.get("/search?q=" + url.QueryEscape(typed))
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d", typed, a.StatusCode)
		}
		containsAll(t, textAt(t, a.text, "main [role=alert] li"), most)
	}
	for _, typed := range []string{"a", "%", "_", "'; --", strings.Repeat("א", 200), "\u202e", "#", "0", "#18446744073709551616"} {
		s.palette("/overview", typed)
		s.page("/search?q=" + url.QueryEscape(typed))
	}
}
