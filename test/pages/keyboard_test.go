package pages

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// press sends keys to the page.
func (b *browser) press(keys string) {
	b.t.Helper()
	b.waitUntilReady()
	b.do(chromedp.KeyEvent(keys))
}

// waitUntilReady waits until the page accepts decisions after loading a finding.
func (b *browser) waitUntilReady() {
	b.t.Helper()
	b.until(`!("settling" in document.documentElement.dataset)`)
}

// until waits until an expression is true on the current, completely parsed page. The page may
// change while it waits.
func (b *browser) until(expression string) {
	b.t.Helper()
	poll := chromedp.Evaluate[bool](`new Promise(done => setTimeout(() => done(document.readyState !== "loading" && Boolean(`+expression+`)), 20))`, chromedp.EvalAwaitPromise)
	for {
		ctx, cancel := context.WithTimeout(b.ctx, 3*time.Second) // a page that is unloaded never responds
		ok, err := chromedp.Run(ctx, poll)
		cancel()
		if ok {
			return
		}
		if b.ctx.Err() != nil {
			b.t.Fatalf("%s never holds: %v", expression, err)
		}
	}
}

const (
	panelID   = `document.querySelector("#panel [data-finding]")?.dataset.finding`
	currentID = `document.querySelector("[data-row].current")?.dataset.id`
)

// decided returns an expression that matches the notice of a decision about n findings.
func decided(n int, what string) string { return "document.querySelector(`" + did(n, what) + "`)" }

// TestTriageByKeyboard checks that a finding can be opened, ignored and undone with the keyboard.
func TestTriageByKeyboard(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1440, 900)
	b.open("/findings")
	rows := read[[]string](b, `[...document.querySelectorAll("[data-row]")].map(r => r.dataset.id)`)
	b.press("j")
	b.until(panelID + ` === "` + rows[0] + `"`)
	b.press("j")
	b.until(panelID + ` === "` + rows[1] + `"`)
	b.press("j")
	b.until(panelID + ` === "` + rows[2] + `"`)
	b.press("k")
	b.until(panelID + ` === "` + rows[1] + `" && ` + currentID + ` === "` + rows[1] + `"`)
	if address := read[string](b, `location.search`); address != "?finding="+rows[1] {
		t.Errorf("the address is %q", address)
	}
	b.press("i")
	b.until(`document.activeElement.value === "ignored:false_positive"`)
	b.press("2")
	b.until(decided(1, "ignored") + ` && ` + scripted)
	if n := read[int](b, `document.querySelectorAll('[data-row][data-id="`+rows[1]+`"]').length`); n != 0 {
		t.Error("an ignored finding is still among the open ones")
	}
	if open, current := read[string](b, panelID), read[string](b, currentID); open != rows[2] || current != rows[2] {
		t.Errorf("after the decision %s is open and %s current, want %s", open, current, rows[2])
	}
	shows(t, s.page("/findings/"+rows[1]), `.tags [data-status=ignored][data-reason=acceptable_risk]`)
	b.press("u")
	b.until(decided(1, "undone") + ` && ` + scripted)
	if n := read[int](b, `document.querySelectorAll('[data-row][data-id="`+rows[1]+`"]').length`); n != 1 {
		t.Error("the undo did not restore it")
	}
	for key, word := range map[string]string{"f": "fixing", "r": "reviewing"} {
		b.open("/findings?finding=" + rows[3])
		b.press(key)
		b.until(decided(1, word) + ` && ` + scripted)
	}
	b.open("/findings/" + rows[3])
	b.press("m")
	b.until(`document.activeElement.name === "note"`)
	b.press("for the next one")
	b.waitUntilReady()
	b.do(chromedp.Click(`.more button[value="note"]`))
	b.until(decided(1, "note") + ` && ` + scripted)
	b.press("o")
	b.until(decided(1, "reopened"))
}

// TestKeyboardTriageAppliesOnce checks that a key that is held or pressed twice decides about one finding, and
// that keys can be disabled.
func TestKeyboardTriageAppliesOnce(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1440, 900)
	b.open("/findings")
	b.press("j")
	b.until(panelID)
	b.waitUntilReady()
	keydown := `dispatchEvent(new KeyboardEvent("keydown", {key: "f", bubbles: true, repeat: REPEAT}))`
	send := func(repeat string) {
		b.run(`document.body.` + strings.Replace(keydown, "REPEAT", repeat, 1))
	}
	send("true")
	if read[bool](b, `!!document.querySelector("[data-sent]")`) {
		t.Error("a repeated key press changes a finding")
	}
	b.run(`document.documentElement.dataset.settling = ""`)
	send("false")
	b.run(`document.querySelector('.footer [data-key="r"]').click()`)
	if read[bool](b, `!!document.querySelector("[data-sent]")`) {
		t.Error("a new finding has a triage state")
	}
	b.run(`delete document.documentElement.dataset.settling`)
	b.press("?")
	b.do(chromedp.Click(`[data-keys-toggle]`))
	b.press(kb.Escape)
	send("false")
	if read[bool](b, `!!document.querySelector("[data-sent]")`) {
		t.Error("disabled keys change findings")
	}
	b.run(`document.querySelector("[data-keys-toggle]").click()`)
	send("false")
	b.until(decided(1, "fixing"))
	if n := s.View().Count(model.FindingFilter{IssueType: model.SAST, Dedup: true, Statuses: []model.Status{model.StatusFixing}}); n != 1 {
		t.Errorf("%d are being fixed", n)
	}
}

// scripted is true after the page's script ran.
const scripted = `!document.querySelector("[data-theme-toggle][hidden]")`

// TestPagination checks that the keys continue on the next page, and back.
func TestPagination(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1440, 900)
	b.open("/findings")
	b.run(`[...document.querySelectorAll("[data-row] [data-open]")].at(-1).click()`)
	b.until(panelID)
	last := read[string](b, panelID)
	b.press("j")
	b.until(`location.search.includes("page=2") && ` + scripted + ` && ` + currentID + ` === document.querySelector("[data-row]").dataset.id && ` + panelID + ` === ` + currentID)
	b.press("k")
	b.until(`!location.search.includes("page=2") && ` + scripted + ` && ` + panelID + ` === "` + last + `"`)
	b.press("k")
	b.until(panelID + ` && ` + panelID + ` !== "` + last + `"`)
}

// TestTriageOfSelectedFindings checks that a decision about selected rows is made in place and can be
// undone.
func TestTriageOfSelectedFindings(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1280, 800)
	b.open("/findings?severities=critical")
	visible := `document.querySelector(".picked")?.checkVisibility()`
	if read[bool](b, visible) {
		t.Error("the selection bar is shown without a selection")
	}
	rows := read[[]string](b, `[...document.querySelectorAll("[data-row]")].map(r => r.dataset.id)`)
	b.run(`document.querySelectorAll('input[name="id"]')[0].click(); document.querySelectorAll('input[name="id"]')[2].click()`)
	b.until(visible + ` && parseInt(document.querySelector("[data-picked]").textContent) === 2`)
	b.press("i")
	b.press("1")
	b.until(decided(2, "ignored") + ` && ` + scripted)
	if left := read[[]string](b, `[...document.querySelectorAll("[data-row]")].map(r => r.dataset.id)`); strings.Join(left, " ") != rows[1]+" "+rows[3] {
		t.Errorf("remaining are %v of %v", left, rows)
	}
	if search := read[string](b, `location.search`); !strings.Contains(search, "severities=critical") {
		t.Errorf("it redirects to %q", search)
	}
	b.press("u")
	b.until(decided(2, "undone") + ` && document.querySelectorAll("[data-row]").length === 4 && ` + scripted)
}

// TestFiltersCollapse checks that filters collapse when a finding opens, and that a key shows them.
func TestFiltersCollapse(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1280, 800)
	b.open("/findings")
	visible := `document.querySelector("#filters").checkVisibility()`
	if !read[bool](b, visible) {
		t.Fatal("there are no filters")
	}
	b.press("j")
	b.until(panelID)
	if read[bool](b, visible) {
		t.Error("the filters cover the finding")
	}
	b.press("F")
	b.until(visible)
	b.do(chromedp.Click(`[data-filters]`))
	b.until("!" + visible)
	box := read[[]float64](b, `(() => { const f = document.querySelector(".footer").getBoundingClientRect(); return [f.top, f.bottom, innerHeight] })()`)
	if box[0] < 0 || box[1] > box[2] {
		t.Errorf("the triage controls are outside of the screen: %v", box)
	}
}

func TestSelectSearchAndHelpByKeyboard(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1440, 900)
	b.open("/findings?severities=critical")
	b.press("j")
	b.until(panelID)
	b.press("x")
	b.press("j")
	b.press("x")
	b.until(`parseInt(document.querySelector("[data-picked]").textContent) === 2`)
	b.press("?")
	b.until(`document.querySelector("#help").open`)
	b.press(kb.Escape)
	b.until(`!document.querySelector("#help").open`)
	b.press(kb.Escape)
	b.until(`!document.querySelector("#panel").firstElementChild && !location.search.includes("finding=")`)
	b.do(chromedp.Click(`[data-decide]`))
	b.until(`document.querySelector("[data-selected]")?.textContent === "2" && document.querySelector('form[action$="/triage"]')`)
	b.open("/findings")
	b.press("/")
	b.until(`document.activeElement.id === "find"`)
	b.do(chromedp.SetValue("#find", "shell")) // unlike a real browser, the driver also types the slash
	b.press(kb.Enter)
	b.until(`location.search.includes("q=shell") && document.querySelectorAll("[data-row]").length > 0`)
	for _, row := range read[[]string](b, `[...document.querySelectorAll("[data-row]")].map(e => e.textContent.toLowerCase())`) {
		if !strings.Contains(row, "shell") {
			t.Errorf("the search for shell shows %q", row)
		}
	}
}

// TestPhoneRowsDoNotOverlap checks that the parts of a row do not overlap on a phone, even with long texts.
func TestPhoneRowsDoNotOverlap(t *testing.T) {
	s := demoSite(t)
	b := s.browse(390, 844)
	b.open("/findings")
	b.run(`for (const when of document.querySelectorAll(".rows .when")) when.insertAdjacentHTML("afterbegin", '<span class="tag plain">Reviewing until 2099-01-31</span><span class="tag plain">Ada Lovelace</span><span class="tag bad">Was due 2026-09-06</span>')`)
	over := read[[]string](b, `[...document.querySelectorAll(".rows > li")].slice(0, 10).flatMap(row => {
		const parts = [...row.querySelectorAll(":scope > input, :scope > .tag, .line, .meta, .when > *")].map(e => [e.className || e.tagName, e.getBoundingClientRect()]), list = row.getBoundingClientRect();
		return parts.flatMap(([name, a], i) => [...(a.right > list.right + 1 ? [name + " leaves its row"] : []),
			...parts.slice(i + 1).filter(([, o]) => a.left < o.right - 1 && o.left < a.right - 1 && a.top < o.bottom - 1 && o.top < a.bottom - 1).map(([other]) => name + " lies over " + other)]);
	})`)
	for _, fault := range over {
		t.Error(fault)
	}
}

// TestBackRestoresScrollPosition checks that the back button restores filter, row and scroll position.
func TestBackRestoresScrollPosition(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1440, 700)
	b.open("/findings?severities=high")
	b.run(`document.querySelectorAll("[data-row] [data-open]")[20].click()`)
	b.until(panelID)
	id := read[string](b, panelID)
	b.run(`window.scrollTo(0, 900)`)
	b.do(chromedp.Click(`#panel .crumbs a[href*="/projects/"]`))
	b.until(`location.pathname.includes("/projects/") && document.readyState === "complete"`)
	b.run(`setTimeout(() => history.back(), 0)`) // the page may be restored without loading
	b.until(`location.search.includes("severities=high") && ` + panelID + ` === "` + id + `" && ` + currentID + ` === "` + id + `"`)
	b.until(`window.scrollY > 300`)
}

// hostile is a malicious text of a scanner.
const hostile = `"><script>window.harmed = 1</script><img src=x onerror="window.harmed = 2">' onmouseover='window.harmed = 3`

// TestHostileFindingText checks that no text of a scanner becomes code: in lists, panels, titles,
// paths, rules, branches and links.
func TestHostileFindingText(t *testing.T) {
	s := newSite(t)
	rule := &model.Rule{
		Name: "evil." + hostile, Message: hostile, IssueType: model.SAST, Severity: model.SeverityCritical, Confidence: model.ConfidenceHigh, Category: hostile,
		CWE: []string{hostile}, References: []string{"javascript:window.harmed=4", "https://example.com/" + hostile, "data:text/html,<script>1</script>"}, URL: "javascript:window.harmed=5",
	}
	err := s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, ingest.Upload{
			Project: model.Project{Name: "acme/" + strings.ReplaceAll(hostile, "/", "|"), URL: "https://git.example/acme/x", Tags: []string{`<b onclick=x>`}},
			Ref:     "refs/heads/" + hostile, Commit: "abc", Full: true, DeclaredFull: true, At: s.clock.Now(),
			Report: &model.Report{
				Tool: "semgrep", Products: model.Products(0).With(model.SAST), StartedAt: s.clock.Now(), Rules: []*model.Rule{rule},
				Results: []model.Result{{
					Item: "results[0]", Rule: rule, Path: "src/" + hostile, Location: model.Location{Line: 3}, Code: "x = 1\n</pre>" + hostile, Severity: model.SeverityCritical, Confidence: model.ConfidenceHigh,
					Message:  hostile + "\n\n[click](javascript:window.harmed=6) [ok](https://example.com/\"onclick=window.harmed=7)\n\n```\n</pre>" + hostile + "\n```",
					DataFlow: []model.FlowStep{{Path: hostile, Line: 1, Content: hostile}},
				}},
			},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	id := firstFinding(s)
	b := s.browse(1440, 900)
	for _, page := range []string{
		"/findings", "/findings?finding=" + id, "/findings/" + id, "/findings?group=rule", "/findings?group=project", "/overview", "/projects", "/scans", "/policies",
		"/projects/" + first(s, "/projects", "/projects/"), "/scans/" + first(s, "/scans", "/scans/"), "/policies/" + first(s, "/policies", "/policies/"),
	} {
		b.open(page)
		if harmed := read[bool](b, `"harmed" in window`); harmed {
			t.Errorf("%s ran code from a scanner's report", page)
		}
		for _, bad := range read[[]string](b, `[...document.querySelectorAll("a[href], form[action], img, script, iframe")].filter(e =>
			e.tagName === "IMG" || e.tagName === "IFRAME" || e.tagName === "SCRIPT" && !e.src.startsWith(location.origin + "/assets/") || e.href && !/^https?:/.test(e.href) ||
			e.action && !e.action.startsWith(location.origin)).map(e => e.outerHTML.slice(0, 200))`) {
			t.Errorf("%s contains %s", page, bad)
		}
		if n := read[int](b, `[...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => /^on/i.test(a.name))).length`); n != 0 {
			t.Errorf("%s has %d handlers inline", page, n)
		}
	}
	containsAll(t, s.page("/findings/"+id), "&lt;script&gt;")
}

// TestPagesWithoutJavaScript checks that all pages are readable, and decisions possible, without
// JavaScript.
func TestPagesWithoutJavaScript(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1440, 900, chromedp.Flag("blink-settings", "scriptEnabled=false"))
	b.do(chromedp.Navigate(b.url+"/orgs/acme/findings"), chromedp.Click(`.rows .title`), chromedp.WaitVisible(`#panel .finding`),
		chromedp.Click(`.panel button[value="reviewing"]`), chromedp.WaitVisible(`.done`))
	b.do(chromedp.WaitVisible(`.done[data-say=decided][data-count="1"][data-did=reviewing]`))
	b.do(chromedp.WaitVisible(`#filters`), chromedp.Click(`#panel [data-shut]`), chromedp.WaitNotPresent(`#panel .finding`))
	if a := s.get("/findings?status=reviewing"); a.StatusCode != http.StatusOK || total(t, a.text) != "1" {
		t.Errorf("%s are being reviewed", total(t, a.text))
	}
}
