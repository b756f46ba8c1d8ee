package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// crew creates the users Ada and Bob as possible assignees.
func (s *site) crew() {
	s.t.Helper()
	s.member("ada", "Ada Lovelace", model.RoleTriager)
	s.member("bob", "Bob <Builder>", model.RoleTriager)
}

func (s *site) member(name, title string, role model.Role) (u model.User) {
	s.t.Helper()
	err := s.store.Update(s.t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, model.User{Name: name, DisplayName: title}, role)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

func of(names ...string) model.FindingFilter {
	return model.FindingFilter{IssueType: model.SAST, Dedup: true, Assignees: names}
}

// facetCount returns the count of a value in a facet of a page.
func facetCount(t *testing.T, page, facet, value string) string {
	t.Helper()
	return textAt(t, page, fmt.Sprintf("#facet-%s [data-value=%q] .n", facet, value))
}

// didTo selects the message about a decision that changed n findings.
func didTo(did string, n int) string {
	return fmt.Sprintf("[data-say=decided][data-did=%s][data-count='%d']", did, n)
}

// TestAssignInBulk checks that all findings of a filter can be assigned, reassigned and unassigned,
// with correct counts.
func TestAssignInBulk(t *testing.T) {
	s := demoSite(t)
	s.crew()
	all, chosen := s.View().Count(open()), s.View().Count(open("acme/payments"))
	form := formOf(s.previewOf("repos=acme%2Fpayments"))
	form.Set("state", "note")
	form.Set("assignee", "bob")
	page := s.follow("/triage", form)
	shows(t, page, didTo("assigned", chosen)+` form[action$="/triage/undo"]`)
	containsAll(t, textAt(t, page, ".done"), "bob")
	containsAll(t, page, "Bob &lt;Builder&gt;")
	for name, want := range map[string]int{"ada": 0, model.AssigneeNone: all - chosen, "bob": chosen} {
		if got := facetCount(t, s.page("/findings"), "assignees", name); got != strconv.Itoa(want) {
			t.Errorf("%s has %s open findings, want %d", name, got, want)
		}
	}
	if got := total(t, s.page("/findings?assignees=bob&-repos=acme%2Fgateway")); got != strconv.Itoa(chosen) {
		t.Errorf("Bob's list has %s, want %d", got, chosen)
	}
	// Ada takes over two findings, which Bob's undo must not change.
	targets, err := s.View().Newest(t.Context(), open("acme/payments"), 2)
	if err != nil {
		t.Fatal(err)
	}
	undo := formOf(page)
	for _, target := range targets {
		assignForm := formOf(s.page("/findings/" + ui.Decimal(target.FindingID)))
		assignForm.Set("state", "note")
		assignForm.Set("assignee", model.AssigneeMe)
		took := s.follow("/triage", assignForm)
		shows(t, took, didTo("assigned", 1), `button[data-take]:not([value="@me"])`)
		containsAll(t, textAt(t, took, ".done"), "ada")
		containsAll(t, document(t, took).Find(".history [data-did=assigned]").First().Text(), "Ada Lovelace")
	}
	mine := s.page("/mine")
	for _, at := range []string{"h1 .total", `nav a[href$="/mine"] .n`} {
		if got := textAt(t, mine, at); got != "2" {
			t.Errorf("%s shows %s", at, got)
		}
	}
	containsAll(t, mine, "/findings?assignees=ada&amp;", "acme/payments")
	if got := total(t, s.page("/findings?assignees=@me")); got != "2" {
		t.Errorf("mine are %s", got)
	}
	shows(t, s.follow("/triage/undo", undo), didTo("unassigned", chosen-2)+"[data-left='2']")
	for name, want := range map[string]int{"ada": 2, "bob": 0, model.AssigneeNone: s.View().Count(of()) - 2} {
		if got := s.View().Count(of(name)); got != want {
			t.Errorf("after the undo %s has %d, want %d", name, got, want)
		}
	}
}

// TestAssigneesWithoutAccess checks that findings of disabled and removed users keep their assignee, are
// shown as such, and can be reassigned at once.
func TestAssigneesWithoutAccess(t *testing.T) {
	s := demoSite(t)
	s.crew()
	bob := s.member("eve", "Eve", model.RoleViewer)
	id := firstFinding(s)
	form := formOf(s.page("/findings/" + id))
	form.Set("state", "note")
	form.Set("assignee", "eve")
	enabled := textAt(t, s.follow("/triage", form), ".finding > header .tags")
	if err := s.store.DisableUser(t.Context(), bob.ID, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	own := "/findings/" + id
	const tag = ".finding > header .tags"
	page := s.page(own)
	if now := textAt(t, page, tag); !strings.Contains(now, "Eve") || now == enabled {
		t.Errorf("the page does not show that a user is disabled: %s", now)
	}
	if strings.Contains(page, `<option value="eve">`) {
		t.Error("a disabled user is in the list")
	}
	for _, name := range []string{"eve", "mallory"} {
		form = formOf(page)
		form.Set("state", "note")
		form.Set("assignee", name)
		if a := s.post("/triage", form); a.StatusCode != http.StatusBadRequest {
			t.Errorf("assigned to %s: %d", name, a.StatusCode)
		}
	}
	err := s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		return tx.SetRole(ctx, bob.ID, model.RoleNone)
	})
	if err != nil {
		t.Fatal(err)
	}
	if left := textAt(t, s.page("/findings?assignees=eve&status=any"), "#facet-assignees [data-value=eve] .take"); !strings.Contains(left, "eve") || left == "eve" {
		t.Errorf("a former user is named %q", left)
	}
	form = formOf(s.previewOf("assignees=eve&status=any"))
	form.Set("state", "note")
	form.Set("assignee", model.AssigneeNone)
	shows(t, s.follow("/triage", form), didTo("unassigned", 1))
}

// TestTemporaryIgnore checks that a temporary decision shows its end, is counted by its remaining
// time, and expires.
func TestTemporaryIgnore(t *testing.T) {
	s := demoSite(t)
	chosen := s.View().Count(open("acme/gateway"))
	day := s.clock.Now().UTC().AddDate(0, 0, 5).Format(time.DateOnly)
	form := formOf(s.previewOf("repos=acme%2Fgateway"))
	form.Set("state", "ignored")
	form.Set("reason", "no_time")
	for _, bad := range []string{"2001-01-01", "tomorrow"} {
		form.Set("until", bad)
		if a := s.post("/triage", form); a.StatusCode != http.StatusBadRequest {
			t.Errorf("until %s: %d", bad, a.StatusCode)
		}
	}
	form.Set("until", day)
	page := s.follow("/triage", form)
	shows(t, page, didTo("ignored", chosen))
	containsAll(t, textAt(t, page, ".done"), day)
	list := s.page("/findings?status=ignored&repos=acme%2Fgateway")
	containsAll(t, document(t, list).Find("[data-row] [data-status=ignored][data-reason=no_time]").First().Text(), day)
	if got := facetCount(t, list, "ends", "7"); got != strconv.Itoa(chosen) {
		t.Errorf("%s end within a week, want %d", got, chosen)
	}
	if got := total(t, s.page("/findings?status=ignored&ends=7")); got != strconv.Itoa(chosen) {
		t.Errorf("the filter selects %s, want %d", got, chosen)
	}
	ids, err := s.View().Newest(t.Context(), model.FindingFilter{IssueType: model.SAST, EndsBy: s.clock.Now().AddDate(0, 0, 30), Dedup: true}, 1)
	if err != nil || len(ids) != 1 {
		t.Fatal(err, ids)
	}
	own := "/findings/" + ui.Decimal(ids[0].FindingID)
	containsAll(t, textAt(t, s.page(own), ".history [data-did='ignored:no_time']"), day)
	end, _ := model.EndOfDay(day)
	s.clock.Advance(end.Sub(s.clock.Now()))
	err = s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ExpireDecisions(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := s.View().Count(open("acme/gateway")); n != chosen {
		t.Errorf("%d are open again, want %d", n, chosen)
	}
	containsAll(t, textAt(t, s.page(own), ".history [data-did=reopened]"), day)
	shows(t, s.page(own), ".history [data-did=reopened][data-by=system]")
}

// browserOf opens a browser with a signed-in user of a role.
func (s *site) browserOf(name string, role model.Role) *browser {
	if s.others == nil {
		s.others = map[string]ui.Viewer{}
	}
	s.others[name] = ui.Viewer{User: name, DisplayName: ui.Capital(name), Role: role, Deployment: s.org}
	return s.browse(1440, 900, chromedp.Flag("user-agent", name))
}

// elementExists returns a script that reports whether a page has an element.
func elementExists(selector string) string {
	return fmt.Sprintf("!!document.querySelector(%q)", selector)
}

// titled returns a script that reports whether the preview of a decision about n findings is shown.
func titled(n int) string {
	return fmt.Sprintf(`document.querySelector("[data-selected]")?.textContent === "%d"`, n)
}

// TestConcurrentTriageAndUndo checks concurrent decisions. Ada previews a whole filter. Bob decides
// about three of its findings before she applies, and about two of hers before she undoes it. His
// decisions stay unchanged, and Ada's notices list all of them.
func TestConcurrentTriageAndUndo(t *testing.T) {
	s := demoSite(t)
	s.crew()
	ada, bob := s.browserOf("ada", model.RoleTriager), s.browserOf("bob", model.RoleTriager)
	chosen := s.View().Count(open("acme/payments"))
	ignored := open("acme/payments")
	ignored.Statuses = []model.Status{model.StatusIgnored}
	before := s.View().Count(ignored)
	filter := "/findings?repos=acme%2Fpayments&sort=newest"
	ada.open(filter)
	ada.do(chromedp.Click(`button[name="all"]`))
	ada.until(titled(chosen))

	bob.open(filter)
	ids := read[[]string](bob, `[...document.querySelectorAll("[data-row]")].slice(0, 5).map(r => r.dataset.id)`)
	his, reassigned := ids[:3], ids[3:]
	bob.run(`for (const box of [...document.querySelectorAll('[data-row] input[name="id"]')].slice(0, 3)) box.click()`)
	bob.do(chromedp.Click(`[data-decide]`))
	bob.until(titled(3))
	bob.do(chromedp.Click(`.decide input[value="reviewing"]`), chromedp.SetValue(`.decide [data-assignee]`, model.AssigneeMe), chromedp.Click(`.decide button`))
	bob.until(decided(3, "reviewing"))

	ada.do(chromedp.Click(`.decide input[value="ignored"]`), chromedp.Click(`.decide button`))
	ada.until(elementExists(didTo("ignored", chosen-3) + "[data-left='3']"))
	for _, id := range his {
		if read[int](ada, `document.querySelectorAll('.done a[href$="/findings/`+id+`"]').length`) != 1 {
			t.Errorf("%s was skipped and is not listed", id)
		}
	}
	reviewing := model.FindingFilter{IssueType: model.SAST, Dedup: true, Assignees: []string{"bob"}, Statuses: []model.Status{model.StatusReviewing}}
	if n := s.View().Count(reviewing); n != 3 {
		t.Errorf("%d of Bob's are unchanged", n)
	}
	if n := s.View().Count(ignored); n != before+chosen-3 {
		t.Errorf("%d are ignored, want %d", n, before+chosen-3)
	}
	for _, id := range reassigned {
		bob.open("/findings/" + id)
		bob.waitUntilReady()
		bob.do(chromedp.Click(`.decide button[value="fixing"]`))
		bob.until(decided(1, "fixing"))
	}

	ada.do(chromedp.Click(`.done button`))
	ada.until(elementExists("[data-did=undone]"))
	if notice := read[string](ada, `document.querySelector(".done").outerHTML`); document(t, notice).Find(didTo("undone", chosen-5)+"[data-left='2']").Length() != 1 {
		t.Errorf("the undo shows %q", notice)
	}
	fixing := model.FindingFilter{IssueType: model.SAST, Dedup: true, Projects: []string{"acme/payments"}, Statuses: []model.Status{model.StatusFixing}}
	if n := s.View().Count(fixing); n != 2 {
		t.Errorf("%d of Bob's two are still being fixed", n)
	}
	if n := s.View().Count(reviewing); n != 3 {
		t.Errorf("%d of Bob's three are still being reviewed", n)
	}
	if n := s.View().Count(ignored); n != before {
		t.Errorf("%d are ignored after the undo, %d were before", n, before)
	}
}

// TestAssignByKeyboard checks that one key assigns and unassigns a finding, and that the count in the
// navigation is updated.
func TestAssignByKeyboard(t *testing.T) {
	s := demoSite(t)
	s.crew()
	b := s.browserOf("ada", model.RoleTriager)
	b.open("/findings")
	b.press("j")
	b.until(panelID)
	b.press("a")
	b.until(decided(1, "assigned") + ` && document.querySelector(".done").textContent.includes("ada") && document.querySelector('nav a[href$="/mine"] .n')?.textContent === "1"`)
	b.press("j")
	b.until(panelID)
	b.do(chromedp.Click(`nav a[href$="/mine"]`))
	b.until(`document.querySelectorAll(".mine .rows li").length === 1`)
	b.do(chromedp.Click(`.mine .title`))
	b.until(panelID + ` && document.querySelector('[data-take]:not([value="@me"])')`)
	b.press("a")
	b.until(decided(1, "unassigned") + ` && !document.querySelector('nav a[href$="/mine"] .n')`)
	b.open("/findings")
	b.run(`for (const box of [...document.querySelectorAll('input[name="id"]')].slice(0, 3)) box.click()`)
	b.press("a")
	b.until(decided(3, "assigned") + ` && document.querySelector(".done").textContent.includes("ada")`)
}

// TestViewersCannotTriage checks that viewers can read everything, see no decisions, and that a
// forged decision is rejected.
func TestViewersCannotTriage(t *testing.T) {
	s := demoSite(t)
	s.crew()
	b := s.browserOf("bob", model.RoleViewer)
	b.open("/findings")
	b.press("j")
	b.until(panelID)
	b.press("i")
	b.press("a")
	b.press("x")
	if n := read[int](b, `document.querySelectorAll('.decide, [data-take], [data-decide], input[type="checkbox"][name="id"], button[name="all"], .done').length`); n != 0 {
		t.Errorf("a viewer sees %d triage controls", n)
	}
	form := formOf(s.page("/findings/" + firstFinding(s)))
	form.Set("state", "ignored")
	query := url.Values{"type": {"sast"}, "query": {""}, "all": {"1"}}
	before := s.View().Version()
	for path, forged := range map[string]url.Values{"/triage": form, "/triage/preview": query, "/triage/undo": {"decision": {"0-1"}}} {
		b.run(`window.answered = 0; fetch("/orgs/acme` + path + `", {method: "POST", headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: "` + forged.Encode() + `"}).then(r => { window.answered = r.status })`)
		b.until(`window.answered`)
		if status := read[int](b, `window.answered`); status != http.StatusForbidden {
			t.Errorf("a viewer's forged POST to %s returns %v", path, status)
		}
	}
	if now := s.View().Version(); now != before {
		t.Errorf("a viewer changed the deployment from version %d to %d", before, now)
	}
}
