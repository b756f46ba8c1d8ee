package web

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
)

// TestDueDatesOnPages sets days on a policy's page, and finds due dates, their filter, their
// order and what is overdue of groups in the list.
func TestDueDatesOnPages(t *testing.T) {
	s := demoSite(t)
	s.as(redoubt.RoleAdmin)
	page := "/policies/" + policyOf(s, "code")
	if strings.Contains(s.page("/findings"), "data-due") {
		t.Error("a due date, and no policy has days")
	}
	form := url.Values{"critical": {"1"}, "high": {" 30 "}, "medium": {""}}
	if a := s.post(page+"/due", form); a.StatusCode != http.StatusSeeOther || !strings.HasSuffix(a.Header.Get("Location"), page+"?due=set#due") {
		t.Fatalf("%s %s", a.Status, a.Header.Get("Location"))
	}
	says(t, s.page(page), "Critical 1 day, high 30 days", `name="high" value="30"`)
	for name, value := range map[string]string{"low": "many", "high": "0", "critical": "3651"} {
		a := s.post(page+"/due", url.Values{name: {value}})
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s=%s: %s", name, value, a.Status)
		}
		says(t, a.text, `role="alert"`, `value="`+value+`"`)
	}
	says(t, s.page(page), "Critical 1 day, high 30 days")

	list := s.page("/findings?sort=due")
	says(t, list, "data-due", "Was due")
	var before string
	for _, m := range regexp.MustCompile(`data-due>(?:Was due|Due) ([\d-]+)`).FindAllStringSubmatch(list, -1) {
		if m[1] < before {
			t.Errorf("%s comes after %s", m[1], before)
		}
		before = m[1]
	}
	late, none := facetCount(t, list, "Overdue"), facetCount(t, list, "No date")
	if late == "" || late == "0" || none == "" {
		t.Errorf("%s are overdue, %s have no date", late, none)
	}
	says(t, s.page("/findings?due=overdue"), `data-total="`+late+`"`)
	says(t, s.page("/findings?-due=overdue&due=none"), `data-total="`+none+`"`)
	says(t, s.page("/findings?group=project"), `data-count="overdue"`)
	overview := s.page("/overview")
	says(t, overview, "Fixed in time, by severity", "Fixed in time, by project tag", `data-count="overdue"`)
	seesWhatIsLate(t, s, overview)
	if a := s.get("/findings?due=soon"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("due=soon: %s", a.Status)
	}
	s.as(redoubt.RoleTriager)
	if a := s.post(page+"/due", form); a.StatusCode != http.StatusForbidden {
		t.Errorf("a triager sets days: %s", a.Status)
	}
	if strings.Contains(s.page(page), "Set the days") {
		t.Error("a triager is offered days")
	}
}

// seesWhatIsLate follows each figure of what is overdue to its list, which has as many.
func seesWhatIsLate(t *testing.T, s *site, overview string) {
	t.Helper()
	links := regexp.MustCompile(`href="([^"]+)" data-count="late">[A-Za-z ]+ (\d+)<`).FindAllStringSubmatch(overview, -1)
	if len(links) == 0 || !strings.Contains(overview, "project_tags=") {
		t.Fatalf("%d figures of what is overdue", len(links))
	}
	for _, link := range links {
		_, path, _ := strings.Cut(html.UnescapeString(link[1]), "/orgs/"+s.org.Slug)
		says(t, s.page(path), `data-total="`+link[2]+`"`)
	}
}
