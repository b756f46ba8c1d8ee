package pages

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// saveView saves a view and returns the address that it redirects to.
func (s *site) saveView(form url.Values) string {
	s.t.Helper()
	if !form.Has("type") {
		form.Set("type", "sast")
	}
	a := s.post("/saved-views", form)
	if a.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("%v: %s %s", form, a.Status, a.text)
	}
	return strings.TrimPrefix(a.Header.Get("Location"), "/orgs/"+s.org.Slug)
}

var totals = regexp.MustCompile(`data-total="(\d+)"`)

func totalOf(t testing.TB, page string) string {
	t.Helper()
	m := totals.FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page shows no total")
	}
	return m[1]
}

// Controls that change and delete a view.
const saveChanges, deleteView = "button[name=do][value=query]", ".views form[action$='/remove']"

// TestSavedViewsOnPages stores a list as a view, opens it by its short address, changes it and
// deletes it.
func TestSavedViewsOnPages(t *testing.T) {
	s := demoSite(t)
	list := "/findings?severities=high&sort=oldest&columns=project&columns=age"
	before := s.page(list)
	shows(t, before, ".views .sheet > ul:first-child a[aria-current=true]", ".keep #new-view")
	containsAll(t, before, `value="columns=project&amp;columns=age&amp;severities=high&amp;sort=oldest"`)
	if strings.Contains(before, `class="says"`) || strings.Contains(before, `class="ref"`) {
		t.Error("a row has a column that was not chosen")
	}
	query := html.UnescapeString(regexp.MustCompile(`name="query" value="([^"]*)"`).FindStringSubmatch(before[strings.Index(before, `action="/orgs/acme/saved-views"`):])[1])
	view := s.saveView(url.Values{"query": {query}, "name": {"High <b>ones</b>"}})
	page := s.page(view)
	containsAll(t, page, "High &lt;b&gt;ones&lt;/b&gt;")
	shows(t, page, "button[name=do][value=settings]", deleteView, "input[name=shared]")
	hides(t, page, saveChanges)
	if totalOf(t, page) != totalOf(t, before) || strings.Contains(page, `class="ref"`) {
		t.Error("the view differs from the saved list")
	}
	if !strings.Contains(page, view+"&amp;finding=") && !strings.Contains(page, "?finding=") {
		t.Error("rows link out of the view")
	}

	id := view[strings.LastIndex(view, "=")+1:]
	other := "/findings?severities=low&view=" + id
	shows(t, s.page(other), ".views summary [data-changed]", saveChanges, `.shows > a.button[href="/orgs/acme`+view+`"]`, ".keep #new-view")
	if a := s.post("/saved-views/"+id, url.Values{"type": {"sast"}, "do": {"query"}, "query": {"severities=low&page=4&view=" + id}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a query with a view: %s", a.Status)
	}
	if a := s.post("/saved-views/"+id, url.Values{"type": {"sast"}, "do": {"query"}, "query": {"severities=low&page=4"}}); a.StatusCode != http.StatusSeeOther {
		t.Errorf("to save changes: %s", a.Status)
	}
	if totalOf(t, s.page(view)) != totalOf(t, s.page("/findings?severities=low")) {
		t.Error("the changes are not in the view")
	}
	if a := s.post("/saved-views/"+id, url.Values{"type": {"sast"}, "do": {"settings"}, "name": {"Low ones"}}); a.StatusCode != http.StatusSeeOther {
		t.Errorf("to rename: %s", a.Status)
	}
	containsAll(t, s.page(view), "Low ones")
	a := s.post("/saved-views/"+id, url.Values{"type": {"sast"}, "do": {"settings"}, "name": {strings.Repeat("x", 101)}})
	if a.StatusCode != http.StatusBadRequest {
		t.Errorf("a name too long: %s", a.Status)
	}
	containsAll(t, a.text, `role="alert"`, strings.Repeat("x", 101))
	a = s.post("/saved-views", url.Values{"type": {"sast"}, "name": {"low ONES"}, "query": {"severities=critical"}})
	if a.StatusCode != http.StatusConflict {
		t.Errorf("a name twice: %s", a.Status)
	}
	containsAll(t, textAt(t, a.text, ".keep [role=alert]"), "Low ones")
	shows(t, a.text, `#new-view[value="low ONES"]`, `.keep input[name=query][value="severities=critical"]`)
	shows(t, s.page("/findings?advisory=CVE-1&type=sast"), "details.keep")

	if a := s.post("/saved-views/"+id+"/remove", nil); a.StatusCode != http.StatusSeeOther {
		t.Errorf("to delete: %s", a.Status)
	}
	shows(t, s.page(view), "[data-say=view-gone]", `[data-total="`+totalOf(t, s.page("/findings"))+`"]`)
}

// TestDefaultView checks that a page without a query opens the viewer's default view. Links with
// a query and "All findings" are not affected.
func TestDefaultView(t *testing.T) {
	s := demoSite(t)
	all, high := totalOf(t, s.page("/findings")), totalOf(t, s.page("/findings?severities=high"))
	view := s.saveView(url.Values{"query": {"severities=high"}, "name": {"High"}, "default": {"1"}})
	id := view[strings.LastIndex(view, "=")+1:]
	page := s.page("/findings")
	if totalOf(t, page) != high {
		t.Errorf("the bare page lists %s, want %s", totalOf(t, page), high)
	}
	shows(t, page, `a[href="/orgs/acme/findings?view=all"]`, ".views [data-default]")
	for _, address := range []string{"/findings?view=all", "/findings?status=open", "/findings?page=1"} {
		if got := totalOf(t, s.page(address)); got != all {
			t.Errorf("%s lists %s, want %s", address, got, all)
		}
	}
	containsAll(t, s.page("/findings?view=all&severities=low"), `href="/orgs/acme/findings?view=all"`) // without its filter
	if got := totalOf(t, s.page("/supply-chain/vulnerabilities")); got == "0" {
		t.Error("another page opens with it too")
	}
	s.viewer.UserID, s.viewer.User = bobID, "bob"
	if got := totalOf(t, s.page("/findings")); got != all {
		t.Errorf("another user's page lists %s, want %s", got, all)
	}
	s.as(model.RoleTriager)
	if a := s.post("/saved-views/"+id, url.Values{"type": {"sast"}, "do": {"default"}}); a.StatusCode != http.StatusSeeOther {
		t.Errorf("no longer: %s", a.Status)
	}
	if got := totalOf(t, s.page("/findings")); got != all {
		t.Errorf("without a default the page lists %s, want %s", got, all)
	}
}

// TestLinksPreserveListsWithoutView follows links and forms from lists without a view, while the bare address
// opens a default view that selects nothing.
func TestLinksPreserveListsWithoutView(t *testing.T) {
	s := demoSite(t)
	all := totalOf(t, s.page("/findings"))
	s.saveView(url.Values{"query": {"severities=low&severities=critical&q=matches+nothing"}, "name": {"Nothing"}, "default": {"1"}})
	if got := totalOf(t, s.page("/findings")); got != "0" {
		t.Fatalf("the default view lists %s", got)
	}
	linked := func(from, selector string) string {
		t.Helper()
		found := document(t, s.page(from)).Find(selector).First()
		if found.Length() == 0 {
			t.Fatalf("%s has no %s", from, selector)
		}
		return strings.TrimPrefix(found.AttrOr("href", found.AttrOr("value", "")), "/orgs/acme")
	}
	const facet, chip = `a.take[href*="severities=high"]`, `.chips a:not(.reset):not([href*="status=any"])`
	for name, steps := range map[string][]string{
		"all, a facet, and its chip":    {"/findings?view=all", facet, chip},
		"a facet, and Reset":            {"/findings?status=open", facet, ".reset"},
		"nothing, and back to the open": {"/findings?q=matches+nothing&severities=high", ".empty a[data-clear]"},
		"a facet of a link, its chip":   {"/findings?severities=high", chip},
		"grouped, and no longer":        {"/findings?status=open", `a[href$="group=rule"]`, `.menu:has(a[href*="group=project"]) li:first-child a`},
		"four facets, and none":         {"/findings?status=open&severities=high&severities=medium&severities=low&severities=critical", chip, chip, chip, chip},
		"a finding, and its list":       {"/findings?status=open", "a.title", "a.shut"},
		"the list of the update notice": {"/findings?page=1", "input[name=back]"},
		"all findings of the menu":      {"/findings", `a[href$="view=all"]`},
		"the product of the overview":   {"/overview", `h2 a[href*="/findings"]`},
	} {
		at := steps[0]
		for _, pattern := range steps[1:] {
			at = linked(at, pattern)
		}
		if got := totalOf(t, s.page(at)); got != all {
			t.Errorf("%s: %s lists %s, want %s", name, at, got, all)
		}
	}
	for _, from := range []string{"/findings?status=open", "/findings?columns=age", "/findings?columns=age&view=all"} {
		form := document(t, s.page(from)).Find("form:has(input[name=columns])")
		sent := url.Values{} // nothing is selected
		for _, field := range form.Find("input[type=hidden]").EachIter() {
			sent.Add(field.AttrOr("name", ""), field.AttrOr("value", ""))
		}
		if got := totalOf(t, s.page("/findings?"+sent.Encode())); form.Length() == 0 || got != all {
			t.Errorf("no columns of %s: ?%s lists %s, want %s", from, sent.Encode(), got, all)
		}
	}
}

// TestUnknownQueryParametersAreIgnored checks that unknown parameters do not affect the view and the
// default view.
func TestUnknownQueryParametersAreIgnored(t *testing.T) {
	s := demoSite(t)
	high := totalOf(t, s.page("/findings?severities=high"))
	view := s.saveView(url.Values{"query": {"severities=high"}, "name": {"High"}, "default": {"1"}})
	for _, address := range []string{view + "&utm_source=chat", "/findings?utm_source=chat"} {
		page := s.page(address)
		if got := totalOf(t, page); got != high {
			t.Errorf("%s lists %s, want %s of the view", address, got, high)
		}
		hides(t, page, saveChanges)
	}
}

// TestExportOfMissingViewIsRejected checks that the export of a deleted view, or of one of another page,
// is rejected. A file could not state that it contains something else.
func TestExportOfMissingViewIsRejected(t *testing.T) {
	s := demoSite(t)
	view := s.saveView(url.Values{"query": {"severities=high"}, "name": {"High"}})
	id := view[strings.LastIndex(view, "=")+1:]
	for address, want := range map[string]int{
		"/findings/export?format=jsonl&view=" + id: http.StatusOK, "/findings/export?format=jsonl&view=all": http.StatusOK,
		"/findings/export?format=jsonl&view=999999": http.StatusNotFound, "/secrets/export?format=jsonl&view=" + id: http.StatusNotFound,
	} {
		if a := s.get(address); a.StatusCode != want {
			t.Errorf("%s: %s, want %d", address, a.Status, want)
		}
	}
}

// TestViewPermissions checks that all users have views of their own, and that triagers share
// views and change all shared ones.
func TestViewPermissions(t *testing.T) {
	s := demoSite(t)
	mine := s.saveView(url.Values{"query": {"assignees=ada"}, "name": {"Ada's"}})
	shared := s.saveView(url.Values{"query": {"severities=high"}, "name": {"Shared"}, "shared": {"1"}})
	id := func(address string) string { return address[strings.LastIndex(address, "=")+1:] }

	s.as(model.RoleViewer)
	s.viewer.UserID, s.viewer.User = bobID, "bob"
	shows(t, s.page(mine), "[data-say=view-gone]")
	page := s.page(shared)
	if name := textAt(t, page, ".views summary .name"); name != "Shared" {
		t.Errorf("the view has the name %q", name)
	}
	shows(t, page, "button[name=do][value=default]")
	hides(t, page, deleteView, "input[name=shared]")
	lacks(t, page, "Ada&#39;s")
	if a := s.post("/saved-views/"+id(shared), url.Values{"type": {"sast"}, "do": {"default"}, "default": {"1"}}); a.StatusCode != http.StatusSeeOther {
		t.Errorf("to open pages with it: %s", a.Status)
	}
	own := s.saveView(url.Values{"query": {"severities=low"}, "name": {"Bob's"}})
	for path, form := range map[string]url.Values{
		"/saved-views":                           {"name": {"x"}, "shared": {"1"}},
		"/saved-views/" + id(shared):             {"do": {"query"}, "query": {"severities=low"}},
		"/saved-views/" + id(own):                {"do": {"settings"}, "name": {"x"}, "shared": {"1"}},
		"/saved-views/" + id(shared) + "/remove": {},
	} {
		form.Set("type", "sast")
		if a := s.post(path, form); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s of a viewer: %s", path, a.Status)
		}
	}
	for _, path := range []string{"/saved-views/" + id(mine), "/saved-views/" + id(mine) + "/remove"} {
		if a := s.post(path, url.Values{"type": {"sast"}, "do": {"settings"}, "name": {"x"}}); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s for another user's view: %s", path, a.Status)
		}
	}
	s.viewer.Role = model.RoleTriager
	if a := s.post("/saved-views/"+id(shared)+"/remove", nil); a.StatusCode != http.StatusSeeOther {
		t.Errorf("a triager of what is shared: %s", a.Status)
	}
}

// TestConcurrentChangesOfView checks that the second of two concurrent changes is rejected with the input
// and the name of the first user. Sending it again overwrites the first change.
func TestConcurrentChangesOfView(t *testing.T) {
	s := demoSite(t)
	view := s.saveView(url.Values{"query": {"severities=high"}, "name": {"High"}, "shared": {"1"}})
	at := "/saved-views/" + view[strings.LastIndex(view, "=")+1:]
	state := func(page string) string {
		m := regexp.MustCompile(`name="state" value="([^"]+)"`).FindStringSubmatch(page)
		if m == nil {
			t.Fatal("no form has the state of the view")
		}
		return m[1]
	}
	form := func(with ...string) url.Values {
		out := url.Values{"type": {"sast"}, "shared": {"1"}}
		for i := 0; i < len(with); i += 2 {
			out.Set(with[i], with[i+1])
		}
		return out
	}
	post := func(path string, f url.Values, want int) answer {
		t.Helper()
		a := s.post(path, f)
		if a.StatusCode != want {
			t.Errorf("%s %v: %s, want %d", path, f, a.Status, want)
		}
		return a
	}
	seen := state(s.page(view))
	s.viewer.UserID, s.viewer.User, s.viewer.DisplayName = bobID, "bob", ""
	post(at, form("do", "settings", "name", "Bob’s", "state", seen), http.StatusSeeOther)
	s.as(model.RoleAdmin)
	for _, c := range []struct {
		path string
		form url.Values
		want string
	}{
		{at, form("do", "settings", "name", "Ada’s", "state", seen), "Ada’s"},
		{at, form("do", "query", "query", "severities=low", "state", seen), `value="severities=low"`},
		{at + "/remove", form("query", "severities=low", "state", seen), `value="severities=low"`},
	} {
		a := post(c.path, c.form, http.StatusConflict)
		containsAll(t, textAt(t, a.text, ".views [role=alert]"), "bob", "Bob’s")
		containsAll(t, a.text, c.want)
		if state(a.text) == seen {
			t.Errorf("%v cannot be redone", c.form)
		}
	}
	if page := s.page(view); !strings.Contains(page, "Bob’s") || totalOf(t, page) != totalOf(t, s.page("/findings?severities=high")) {
		t.Error("a rejected change was stored")
	}
	post(at, form("do", "query", "query", "severities=low", "state", state(s.page(view))), http.StatusSeeOther)
	own := textAt(t, post(at, form("do", "query", "query", "severities=critical", "state", state(s.page(view))+"0"), http.StatusConflict).text, ".views [role=alert]")
	containsAll(t, own, "Bob’s")
	lacks(t, own, "bob", "ada")

	current := state(s.page(view))
	post(at+"/remove", form("state", current), http.StatusSeeOther)
	shows(t, post(at, form("do", "settings", "name", "Mine again", "query", "severities=low", "state", current), http.StatusConflict).text,
		".keep [role=alert]", `#new-view[value="Mine again"]`, `.keep input[name=query][value="severities=low"]`)
}

// TestInvalidSavedViews checks that a message replaces the form if a query cannot be stored.
func TestInvalidSavedViews(t *testing.T) {
	s := demoSite(t)
	refused := s.page("/supply-chain/vulnerabilities?advisory=CVE-2021-44228")
	shows(t, refused, ".keep [data-say=cannot-keep]")
	hides(t, refused, "#new-view")
	for name, form := range map[string]url.Values{
		"a type": {"type": {"dast"}, "name": {"x"}}, "no name": {"type": {"sast"}, "name": {" "}}, "another type's": {"type": {"sast"}, "name": {"x"}, "query": {"sort=epss"}},
		"no query": {"type": {"sast"}, "name": {"x"}, "query": {"%zz"}},
	} {
		if a := s.post("/saved-views", form); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, a.Status)
		}
	}
}

// TestAssignedToCurrentUser checks that "Me" in a view means the user who opens it.
func TestAssignedToCurrentUser(t *testing.T) {
	s := demoSite(t)
	containsAll(t, s.page("/findings?assignees=ada"), `value="assignees=%40me"`)
	view := s.saveView(url.Values{"query": {"assignees=%40me"}, "name": {"Mine"}, "shared": {"1"}})
	hides(t, s.page(view), saveChanges)
	s.viewer.UserID, s.viewer.User = bobID, "bob"
	containsAll(t, s.page(view), "assignees=bob")
}

// TestSortOrdersOnPages checks the available orders of each product.
func TestSortOrdersOnPages(t *testing.T) {
	s := demoSite(t)
	code, chain := s.page("/findings"), s.page("/supply-chain/vulnerabilities")
	by := func(o index.Order) string { return fmt.Sprintf(".menu a[href$='sort=%s']", o) }
	shows(t, code, by(index.LatestDue), by(index.LeastSevere))
	shows(t, chain, by(index.MostLikely), by(index.ExploitedFirst), by(index.MostReachable))
	hides(t, code, by(index.MostLikely)) // code findings have no such scores
	for _, address := range []string{"/findings?sort=epss", "/findings?sort=size", "/findings?columns=epss", "/findings?view=x"} {
		if a := s.get(address); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", address, a.Status)
		}
	}
}

// TestSavedViewOfRemovedValues checks that a view applies its valid parts and lists the invalid ones.
func TestSavedViewOfRemovedValues(t *testing.T) {
	s := demoSite(t)
	view := s.saveView(url.Values{"query": {"-repos=acme%2Fgone&severities=high"}, "name": {"Gone"}})
	page := s.page(view)
	containsAll(t, textAt(t, page, "[data-say=view-lost]"), "acme/gone")
	if totalOf(t, page) != totalOf(t, s.page("/findings?severities=high")) {
		t.Error("the rest of the view is not applied")
	}
}
