package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// addExceptionRequest requests an exception and returns the request's id.
func (s *site) addExceptionRequest(reason string, findings ...string) string {
	s.t.Helper()
	a := s.post("/exceptions/requests", url.Values{"id": findings, "reason": {reason}, "until": {"2999-01-31"}, "triage_reason": {"no_time"}})
	id, requested := strings.CutPrefix(strings.TrimSuffix(a.Header.Get("Location"), "?done=asked"), "/orgs/acme/exceptions/")
	if a.StatusCode != http.StatusSeeOther || !requested {
		s.t.Fatalf("asking: %s %s", a.Status, a.text)
	}
	return id
}

// waits returns the number of pending requests in the navigation.
func (s *site) waits() string {
	s.t.Helper()
	m := regexp.MustCompile(`(?s)href="/orgs/acme/exceptions\?show=requested"[^>]*>(.*?)</a>`).FindStringSubmatch(s.page("/overview"))
	if m == nil {
		s.t.Fatal("the navigation has no requests")
	}
	return regexp.MustCompile(`\d*$`).FindString(strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], " ")))
}

// TestExceptionRequestsOnPages checks without JavaScript that a viewer requests an exception
// from the panel. A triager finds it in the queue and decides, and the finding's history shows all
// steps.
func TestExceptionRequestsOnPages(t *testing.T) {
	s := demoSite(t)
	finding := firstFinding(s)
	if strings.Contains(s.page("/findings/"+finding), "data-ask>") {
		t.Error("the request form is shown to a triager")
	}
	s.as(model.RoleViewer)
	shows(t, s.page("/findings/"+finding), `[data-ask] form[action$="/exceptions/requests"] [name=id][value="`+finding+`"]`)
	id := s.addExceptionRequest("<b>only</b> our tests", finding)
	one := s.page("/exceptions/" + id + "?done=asked")
	shows(t, one, "[data-say=asked]", "[data-reason=no_time]", `form[action$="/withdraw"]`)
	containsAll(t, one, "&lt;b&gt;only&lt;/b&gt; our tests", "2999-01-31", "/orgs/acme/findings/"+finding)
	checkInline(t, one)
	if strings.Contains(one, `value="approve"`) || s.waits() != "" {
		t.Error("the decision form is shown to a viewer")
	}
	panel := s.page("/findings/" + finding)
	shows(t, panel, `[data-asked] a[href$="/exceptions/`+id+`"]`, `.history [data-did=asked] a[href$="/exceptions/`+id+`"]`)
	containsAll(t, textAt(t, panel, ".history [data-did=asked]"), "2999-01-31")
	if strings.Contains(panel, "data-ask>") {
		t.Error("a requested exception can be requested again")
	}
	repeated := s.post("/exceptions/requests", url.Values{"id": {finding}, "reason": {"kept <typed>"}})
	if repeated.StatusCode != http.StatusConflict {
		t.Errorf("requested twice: %s", repeated.Status)
	}
	containsAll(t, textAt(t, repeated.text, "[role=alert]"), id, finding)
	containsAll(t, repeated.text, "kept &lt;typed&gt;")
	for _, form := range []url.Values{{"id": {finding}, "reason": {" "}}, {"id": {finding}, "reason": {"x"}, "until": {"soon"}}, {"id": {"x"}, "reason": {"x"}}, {"reason": {"x"}}} {
		if a := s.post("/exceptions/requests", form); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %s", form, a.Status)
		}
	}

	s.as(model.RoleTriager)
	if got := s.waits(); got != "1" {
		t.Errorf("the navigation shows %q pending", got)
	}
	containsAll(t, s.page("/exceptions?show=requested"), "&lt;b&gt;only&lt;/b&gt; our tests", "/orgs/acme/exceptions/"+id)
	containsAll(t, s.page("/exceptions/"+id), `name="until" value="2999-01-31"`, `value="approve"`, `value="refuse"`)
	messages := map[string]bool{}
	for what, form := range map[string]url.Values{
		"no reason":           {"do": {"refuse"}, "refusal": {" "}},
		"an expired day":      {"do": {"approve"}, "until": {"2001-01-31"}},
		"a day and no expiry": {"do": {"approve"}, "until": {"2999-01-31"}, "forever": {"1"}},
		"neither":             {},
	} {
		a := s.post("/exceptions/"+id, form)
		if messages[textAt(t, a.text, "[role=alert]")] = true; a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s %s", what, a.Status, a.text)
		}
	}
	if len(messages) != 4 {
		t.Errorf("for four errors got %v", messages)
	}
	a := s.post("/exceptions/"+id, url.Values{"do": {"approve"}, "until": {"2999-06-30"}, "answer": {"until the upgrade"}})
	if a.Header.Get("Location") != "/orgs/acme/exceptions/"+id+"?done=approved" {
		t.Fatalf("approving: %s %s", a.Status, a.text)
	}
	if a := s.post("/exceptions/"+id, url.Values{"do": {"approve"}, "until": {"2999-06-30"}}); a.StatusCode != http.StatusConflict {
		t.Errorf("approved twice: %s", a.Status)
	}
	shows(t, s.page("/exceptions/"+id+"?done=approved"), "[data-say=approved]")
	containsAll(t, s.page("/exceptions/"+id+"?done=approved"), "2999-06-30", "until the upgrade")
	panel = s.page("/findings/" + finding)
	shows(t, panel, ".history [data-did^=ignored]")
	containsAll(t, textAt(t, panel, ".history [data-did=exception-active]"), "2999-06-30", "until the upgrade")
	if got := s.waits(); got != "" {
		t.Errorf("the navigation shows %q pending", got)
	}
	shows(t, s.page("/exceptions?show=requested"), "[data-say=no-requests]")
	shows(t, s.page("/exceptions?show=all"), `td a[href="/orgs/acme/exceptions/`+id+`"]`, "[data-state=active]")
	hides(t, s.page("/exceptions?show=all"), "[data-say=no-requests]")
	if got := s.audited("exception."); strings.Join(got, " ") != "exception.create by user:ada exception.approve by user:ada" {
		t.Errorf("in the audit log: %q", got)
	}
}

// TestUndoOfApproval checks that an approval can be undone by its approver only, and that the
// request is pending again.
func TestUndoOfApproval(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleViewer)
	id := s.addExceptionRequest("only tests", firstFinding(s))
	s.as(model.RoleTriager)
	a := s.post("/exceptions/"+id, url.Values{"do": {"approve"}, "until": {"2999-06-30"}, "answer": {"oh"}})
	page := strings.TrimPrefix(a.Header.Get("Location"), "/orgs/acme")
	undo := "/exceptions/" + id + "/undo"
	shows(t, s.page(page), "[data-say=approved]", `form[action="/orgs/acme`+undo+`"]`)
	containsAll(t, s.page(page), "2999-06-30", ">oh<")
	ada := s.viewer
	s.viewer = &ui.Viewer{UserID: bobID, User: "bob", Role: model.RoleTriager, Deployment: s.org}
	lacks(t, s.page(page), undo)
	if a := s.post(undo, nil); a.StatusCode != http.StatusBadRequest {
		t.Errorf("undone by another: %s", a.Status)
	}
	s.viewer = ada
	if a := s.post(undo, nil); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("undoing: %s %s", a.Status, a.text)
	}
	containsAll(t, s.page("/exceptions/"+id), `value="approve"`, `value="refuse"`)
	lacks(t, s.page("/exceptions/"+id), "2999-06-30", ">oh<")
	if got := s.waits(); got != "1" {
		t.Errorf("the navigation shows %q pending", got)
	}
	if got := s.audited("exception."); strings.Join(got, " ") != "exception.create by user:ada exception.approve by user:ada exception.reopen by user:ada" {
		t.Errorf("in the audit log: %q", got)
	}
}

// TestExceptionRequestFromBlockingPage checks that a viewer can request an exception for all blocking
// findings, and that errors state their reason.
func TestExceptionRequestFromBlockingPage(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "old"))
	s.build(branchReport(s, "topic", false, "one", "two")) // the rules are known after this scan
	s.setMode("one", model.ModeBlock)
	s.setMode("two", model.ModeBlock)
	page := "/scans/" + ui.Decimal(s.build(branchReport(s, "topic", false, "one", "two")).ScanID) + "/blocking"
	if strings.Contains(s.page(page), "data-ask>") {
		t.Error("the request form is shown to a triager")
	}
	s.as(model.RoleViewer)
	text := s.page(page)
	shows(t, text, "[data-ask] summary[data-count='2']")
	_, form, _ := strings.Cut(text, "data-ask>")
	form, _, _ = strings.Cut(form, "</details>")
	var ids []string
	for _, m := range regexp.MustCompile(`name="id" value="(\d+)"`).FindAllStringSubmatch(form, -1) {
		ids = append(ids, m[1])
	}
	if len(ids) != 2 {
		t.Fatalf("the question is about %q", ids)
	}
	id := s.addExceptionRequest("a spike", ids...)
	if strings.Contains(s.page(page), "data-ask>") {
		t.Error("a requested exception can be requested again")
	}
	shows(t, s.page("/exceptions?show=mine"), "[data-more='1']")
	s.as(model.RoleTriager)
	if a := s.post("/exceptions/"+id, url.Values{"do": {"approve"}, "until": {"2999-01-31"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("approving: %s %s", a.Status, a.text)
	}
	shows(t, s.page(page), "[data-say=rerun-passes]")
}
