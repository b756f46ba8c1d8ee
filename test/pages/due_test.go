package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// TestDueDatesOnPages sets due days on a policy's page. It checks due dates, their filter and
// order, and the overdue counts of groups in the list.
func TestDueDatesOnPages(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	page := "/policies/" + policyOf(s, "code")
	const offered = `form[action$="/due"]`
	shows(t, s.page(page), offered)
	if strings.Contains(s.page("/findings"), "data-due") {
		t.Error("there is a due date without a policy with days")
	}
	form := url.Values{"critical": {"1"}, "high": {" 30 "}, "medium": {""}}
	if a := s.post(page+"/due", form); a.StatusCode != http.StatusSeeOther || !strings.HasSuffix(a.Header.Get("Location"), page+"?due=set#due") {
		t.Fatalf("%s %s", a.Status, a.Header.Get("Location"))
	}
	days := []string{"#due [name=critical][value='1']", "#due [name=high][value='30']", "#due [name=medium][value='']"}
	shows(t, s.page(page), days...)
	for name, value := range map[string]string{"low": "many", "high": "0", "critical": "3651"} {
		a := s.post(page+"/due", url.Values{name: {value}})
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s=%s: %s", name, value, a.Status)
		}
		containsAll(t, a.text, `role="alert"`, `value="`+value+`"`)
	}
	shows(t, s.page(page), days...)
	containsAll(t, s.page(page), ui.Capital(model.DueDays{Critical: 1, High: 30}.String()))

	list := s.page("/findings?sort=due")
	shows(t, list, "[data-due].bad")
	var before string
	for _, m := range regexp.MustCompile(`data-due>[^<]*([\d]{4}-\d\d-\d\d)`).FindAllStringSubmatch(list, -1) {
		if m[1] < before {
			t.Errorf("%s follows %s", m[1], before)
		}
		before = m[1]
	}
	late, none := facetCount(t, list, "due", "overdue"), facetCount(t, list, "due", "none")
	if late == "" || late == "0" || none == "" {
		t.Errorf("%s are overdue, %s have no date", late, none)
	}
	containsAll(t, s.page("/findings?due=overdue"), `data-total="`+late+`"`)
	containsAll(t, s.page("/findings?-due=overdue&due=none"), `data-total="`+none+`"`)
	containsAll(t, s.page("/findings?group=project"), `data-count="overdue"`)
	overview := s.page("/overview")
	shows(t, overview, "[data-targets=severity] table", "[data-targets=tag] table", "[data-count=overdue]")
	checkOverdueCounts(t, s, overview)
	if a := s.get("/findings?due=soon"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("due=soon: %s", a.Status)
	}
	s.as(model.RoleTriager)
	if a := s.post(page+"/due", form); a.StatusCode != http.StatusForbidden {
		t.Errorf("a triager sets days: %s", a.Status)
	}
	hides(t, s.page(page), offered)
}

// checkOverdueCounts checks that each overdue count equals the number of rows in its list.
func checkOverdueCounts(t *testing.T, s *site, overview string) {
	t.Helper()
	links := slices.DeleteFunc(countLinks(t, overview), func(l countLink) bool { return l.of != "late" })
	if len(links) == 0 || !strings.Contains(overview, "project_tags=") {
		t.Fatalf("%d counts of overdue findings", len(links))
	}
	for _, link := range links {
		_, path, _ := strings.Cut(link.address, "/orgs/"+s.org.Slug)
		containsAll(t, s.page(path), `data-total="`+strconv.Itoa(link.n)+`"`)
	}
}
