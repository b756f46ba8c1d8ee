package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

var (
	formField  = regexp.MustCompile(`<(?:input|button)\b[^>]*\bname="([^"]+)"[^>]*>`)
	fieldValue = regexp.MustCompile(`\bvalue="([^"]*)"`)
	codeBlock  = regexp.MustCompile(`(?s)<pre class="code"[^>]*>(.*?)</pre>`)
)

// approval returns what a browser sends when "Approve" is clicked in an untouched form.
func approval(t *testing.T, page string) url.Values {
	t.Helper()
	form := url.Values{}
	for _, part := range strings.Split(page, "<form ")[1:] {
		part, _, _ = strings.Cut(part, "</form>")
		if !strings.Contains(part, `value="approve"`) {
			continue
		}
		for _, m := range formField.FindAllStringSubmatch(part, -1) {
			if strings.Contains(m[0], `type="checkbox"`) && !strings.Contains(m[0], " checked") {
				continue
			}
			if value := fieldValue.FindStringSubmatch(m[0]); value != nil {
				form.Add(m[1], value[1])
			}
		}
		return form
	}
	t.Fatal("the page has no approval form")
	return nil
}

// requestException requests an exception until a day; an empty day means no end.
func (s *site) requestException(until string, findings ...string) string {
	s.t.Helper()
	s.as(model.RoleViewer)
	a := s.post("/exceptions/requests", url.Values{"id": findings, "reason": {"only tests"}, "until": {until}})
	if a.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("asking: %s %s", a.Status, a.text)
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Location"), "/orgs/acme/exceptions/"), "?")
	s.as(model.RoleTriager)
	return id
}

// TestApprovalFormIsPrefilled checks that the untouched approval form is valid for all requests. It
// grants the requested day, no end if none was requested, and 90 days if the requested day has
// passed.
func TestApprovalFormIsPrefilled(t *testing.T) {
	day := func(s *site, days int) string { return s.clock.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	for name, test := range map[string]struct {
		requested int // days from now; 0: no end
		later     int // days until the approval
		want      int // days from the approval; 0: no end
	}{
		"a day": {requested: 30, want: 30}, "no end": {}, "a day that has passed": {requested: 3, later: 10, want: 90},
	} {
		t.Run(name, func(t *testing.T) {
			s := demoSite(t)
			until := ""
			if test.requested > 0 {
				until = day(s, test.requested)
			}
			id := s.requestException(until, firstFinding(s))
			s.clock.Advance(time.Duration(test.later) * 24 * time.Hour)
			form := approval(t, s.page("/exceptions/"+id))
			if a := s.post("/exceptions/"+id, form); a.StatusCode != http.StatusSeeOther {
				t.Fatalf("approving with %v: %s", form, a.Status)
			}
			want := ""
			if test.want > 0 {
				want = day(s, test.want)
			}
			if got := form.Get("until"); got != want || form.Has("forever") != (want == "") {
				t.Errorf("the form has %v, want until %q", form, want)
			}
		})
	}
}

// TestRejectedApprovalPreservesInput checks that a rejected form shows the entered values instead of
// the proposal.
func TestRejectedApprovalPreservesInput(t *testing.T) {
	s := demoSite(t)
	id := s.requestException("", firstFinding(s))
	a := s.post("/exceptions/"+id, url.Values{"do": {"approve"}, "until": {"2001-01-31"}})
	if form := approval(t, a.text); a.StatusCode != http.StatusBadRequest || form.Get("until") != "2001-01-31" || form.Has("forever") {
		t.Errorf("%s, the form has %v", a.Status, form)
	}
}

// TestExpiryDayExcludesNeverExpires checks that setting a day clears "never expires" and vice
// versa, so that a prefilled form is changed in one step.
func TestExpiryDayExcludesNeverExpires(t *testing.T) {
	s := demoSite(t)
	id := s.requestException("", firstFinding(s))
	b := s.browse(1280, 900)
	b.open("/exceptions/" + id)
	const until, forever = `document.querySelector("#until")`, `document.querySelector("[name=forever]")`
	b.run(until + `.value = "2999-01-31"; ` + until + `.dispatchEvent(new Event("input", { bubbles: true }))`)
	b.until(`!` + forever + `.checked`)
	b.do(chromedp.Click("[name=forever]"))
	b.until(forever + `.checked && ` + until + `.value === ""`)
}

// TestExceptionRequestShowsCode checks that the queue shows the escaped code of the first
// finding, and the page of a request the code of the first few.
func TestExceptionRequestShowsCode(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "one", "two", "three", "four", "five", "six", "seven"))
	ids := rowIDs(s, "/findings", 7)
	for i, id := range ids {
		s.storeCode(id, func(snippet *model.Snippet) { snippet.Lines[0] = "before_" + strconv.Itoa(i) + "()" })
	}
	request := s.requestException("", ids...)
	page := s.page("/exceptions/" + request)
	blocks := codeBlock.FindAllString(page, -1)
	if len(blocks) != 5 {
		t.Errorf("the request shows the code of %d of 7 findings, want %d", len(blocks), 5)
	}
	shown := map[string]bool{}
	for _, block := range blocks {
		shown[highlights.ReplaceAllString(block, "$1")] = true
		if strings.Count(block, `class="line hit"`) != 2 || strings.Contains(block, "<script>") || strings.Contains(block, "<img") {
			t.Errorf("it differs from the finding's page:\n%s", block)
		}
	}
	if len(shown) != len(blocks) {
		t.Error("two findings have the same code")
	}
	of := map[bool]string{}
	for i, id := range ids {
		own := codeBlock.FindString(s.page("/findings/" + id))
		of[own != "" && strings.Contains(page, own)] += strconv.Itoa(i)
	}
	if len(of[true]) != 5 {
		t.Errorf("the code of the findings %q is as on their pages, of %q not", of[true], of[false])
	}
	queue := codeBlock.FindAllString(s.page("/exceptions?show=requested"), -1)
	if len(queue) != 1 || !strings.Contains(page, queue[0]) {
		t.Errorf("the queue shows %q", queue)
	}
	checkInline(t, page)
}

// TestExceptionRequestWithoutCode checks that a request states why its code is missing, and that
// the list shows no code for closed requests.
func TestExceptionRequestWithoutCode(t *testing.T) {
	s := demoSite(t)
	finding := firstFinding(s)
	s.storeCode(finding, nil)
	id := s.requestException("", finding)
	s.post("/exceptions/"+id, url.Values{"do": {"refuse"}, "refusal": {"no"}})
	if codeBlock.MatchString(s.page("/exceptions?show=all")) {
		t.Error("the list shows the code of a refused request")
	}
	if !codeBlock.MatchString(s.page("/exceptions/" + id)) {
		t.Error("the page of a refused request shows no code")
	}
}

// TestBlockingPageShowsPendingRequests checks that the page of a blocked build shows pending
// requests to the requester and to triagers. The request form only includes the other findings.
func TestBlockingPageShowsPendingRequests(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "old"))
	s.build(branchReport(s, "topic", false, "one", "two")) // the rules are known after this scan
	s.setMode("one", model.ModeBlock)
	s.setMode("two", model.ModeBlock)
	page := "/scans/" + ui.Decimal(s.build(branchReport(s, "topic", false, "one", "two")).ScanID) + "/blocking"
	var ids []string
	for _, m := range regexp.MustCompile(`data-blocked="(\d+)"`).FindAllStringSubmatch(s.page(page), -1) {
		ids = append(ids, m[1])
	}
	if len(ids) != 2 || strings.Contains(s.page(page), "data-asked") {
		t.Fatalf("before a request: %q block", ids)
	}
	first := s.requestException("", ids[0])
	link := func(id string) string { return `href="/orgs/acme/exceptions/` + id + `"` }
	for role, offered := range map[model.Role]bool{model.RoleViewer: true, model.RoleTriager: false} {
		s.as(role)
		text := s.page(page)
		if strings.Count(text, "data-asked") != 1 || !strings.Contains(text, link(first)) || strings.Contains(text, "data-ask>") != offered {
			t.Errorf("%v: the page does not show request %s:\n%s", role, first, text)
		}
	}
	second := s.requestException("", ids[1])
	s.as(model.RoleViewer)
	text := s.page(page)
	containsAll(t, text, link(first), link(second))
	lacks(t, text, "data-ask>")
	hides(t, text, "[data-say=fix-or-ask]", "[data-say=may-look-and-ask]")
	shows(t, text, "[data-say=fix-or-wait]", "[data-say=may-look]")
	s.as(model.RoleTriager)
	s.post("/exceptions/"+first, url.Values{"do": {"refuse"}, "refusal": {"no"}})
	if text := s.page(page); strings.Contains(text, link(first)) || !strings.Contains(text, link(second)) {
		t.Error("a refused request counts as pending")
	}
}

// rowIDs returns the ids of the first n findings on a page.
func rowIDs(s *site, page string, n int) (ids []string) {
	s.t.Helper()
	for _, m := range regexp.MustCompile(`data-id="(\d+)"`).FindAllStringSubmatch(s.page(page), -1) {
		if len(ids) < n {
			ids = append(ids, m[1])
		}
	}
	if len(ids) < n {
		s.t.Fatalf("%s lists %d findings", page, len(ids))
	}
	return ids
}

// TestLongRequestCodeScrolls checks that long code scrolls in its own box instead of widening
// the table or the page. axe must find no faults.
func TestLongRequestCodeScrolls(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "one"))
	finding := firstFinding(s)
	s.storeCode(finding, func(snippet *model.Snippet) { snippet.Lines[1] = strings.Repeat("long(code) ", 60) })
	id := s.requestException("", finding)
	b := s.browse(1280, 900)
	for _, page := range []string{"/exceptions?show=requested", "/exceptions/" + id} {
		b.open(page)
		if width := read[float64](b, `document.querySelector("pre.code").getBoundingClientRect().width`); width < 600 {
			t.Errorf("%s: the code is %v wide", page, width)
		}
		for _, fault := range append(read[[]string](b, touching), read[[]string](b, cutOff)...) {
			t.Errorf("%s: %s", page, fault)
		}
		b.run(axe)
		for _, fault := range b.axe(allRules) {
			t.Errorf("%s: %s", page, fault)
		}
	}
}
