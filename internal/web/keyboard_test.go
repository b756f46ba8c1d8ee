package web

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/exemption"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// press sends keys to the page.
func (b *browser) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// until waits for an expression to hold, on whatever page is there by then and has been read
// whole: what stands further down may not be there yet on one that is still coming in.
func (b *browser) until(expression string) {
	b.t.Helper()
	look := chromedp.Evaluate[bool](`new Promise(done => setTimeout(() => done(document.readyState !== "loading" && Boolean(`+expression+`)), 20))`, chromedp.EvalAwaitPromise)
	for {
		ctx, cancel := context.WithTimeout(b.ctx, 3*time.Second) // a page that is left never answers
		holds, err := chromedp.Run(ctx, look)
		cancel()
		if holds {
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

// A finding is judged and decided about without the mouse: j, k, i, and undo.
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
	b.until(`document.activeElement.name === "state"`)
	b.press(" ")
	b.do(chromedp.Click(`.panel .decide button`))
	b.until(`document.querySelector(".done")?.textContent.includes("1 finding set to ignored") && !document.querySelector("[data-theme-toggle][hidden]")`)
	if n := read[int](b, `document.querySelectorAll('[data-row][data-id="`+rows[1]+`"]').length`); n != 0 {
		t.Error("what was ignored is still among what is open")
	}
	b.press("j")
	b.until(currentID + ` === "` + rows[2] + `"`)
	b.do(chromedp.Click(`.done button`))
	b.until(`document.querySelector(".done")?.textContent.includes("Undone for 1 finding")`)
	if n := read[int](b, `document.querySelectorAll('[data-row][data-id="`+rows[1]+`"]').length`); n != 1 {
		t.Error("the undo did not bring it back")
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
	b.until(`document.querySelector("[data-picked]").textContent === "2 selected"`)
	b.press("?")
	b.until(`document.querySelector("#help").open`)
	b.press(kb.Escape)
	b.until(`!document.querySelector("#help").open`)
	b.press(kb.Escape)
	b.until(`!document.querySelector("#panel").firstElementChild && !location.search.includes("finding=")`)
	b.press("i")
	b.until(`document.querySelector("h1")?.textContent.includes("Triage 2 code findings")`)
	b.open("/findings")
	b.press("/")
	b.until(`document.activeElement.id === "find"`)
	b.do(chromedp.SetValue("#find", "shell")) // the driver types the slash too, which a person's browser does not
	b.press(kb.Enter)
	b.until(`location.search.includes("q=shell") && document.querySelectorAll("[data-row]").length > 0`)
	for _, row := range read[[]string](b, `[...document.querySelectorAll("[data-row]")].map(e => e.textContent.toLowerCase())`) {
		if !strings.Contains(row, "shell") {
			t.Errorf("the search for shell shows %q", row)
		}
	}
}

// Back restores filter, row and scroll.
func TestBackRestoresThePlace(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1440, 700)
	b.open("/findings?severities=high")
	b.run(`document.querySelectorAll("[data-row] [data-open]")[20].click()`)
	b.until(panelID)
	id := read[string](b, panelID)
	b.run(`window.scrollTo(0, 900)`)
	b.do(chromedp.Click(`#panel .crumbs a[href*="/projects/"]`))
	b.until(`location.pathname.includes("/projects/") && document.readyState === "complete"`)
	b.run(`setTimeout(() => history.back(), 0)`) // the page may come back as it was, without loading
	b.until(`location.search.includes("severities=high") && ` + panelID + ` === "` + id + `" && ` + currentID + ` === "` + id + `"`)
	b.until(`window.scrollY > 300`)
}

// hostile is text as a scanner that wants to do harm would write it.
const hostile = `"><script>window.harmed = 1</script><img src=x onerror="window.harmed = 2">' onmouseover='window.harmed = 3`

// Nothing that a scanner writes becomes code: not in a list, not in the panel,
// not in a title, a path, a rule, a branch or a link.
func TestHostileFindingText(t *testing.T) {
	s := newSite(t)
	rule := &redoubt.Rule{
		Name: "evil." + hostile, Message: hostile, IssueType: redoubt.SAST, Severity: redoubt.SeverityCritical, Confidence: redoubt.ConfidenceHigh, Category: hostile,
		CWE: []string{hostile}, References: []string{"javascript:window.harmed=4", "https://example.com/" + hostile, "data:text/html,<script>1</script>"}, URL: "javascript:window.harmed=5",
	}
	err := s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := ingest.Apply(ctx, tx, exemption.ForImport{Store: tx}, ingest.Upload{
			Project: redoubt.Project{Name: "acme/" + strings.ReplaceAll(hostile, "/", "|"), URL: "https://git.example/acme/x", Tags: []string{`<b onclick=x>`}},
			Ref:     "refs/heads/" + hostile, Commit: "abc", Full: true, DeclaredFull: true, At: s.clock.Now(),
			Report: &redoubt.Report{
				Tool: "semgrep", Products: redoubt.Products(0).With(redoubt.SAST), StartedAt: s.clock.Now(), Rules: []*redoubt.Rule{rule},
				Results: []redoubt.Result{{
					Item: "results[0]", Rule: rule, Path: "src/" + hostile, Location: redoubt.Location{Line: 3}, Code: "x = 1\n</pre>" + hostile, Severity: redoubt.SeverityCritical, Confidence: redoubt.ConfidenceHigh,
					Message:  hostile + "\n\n[click](javascript:window.harmed=6) [ok](https://example.com/\"onclick=window.harmed=7)\n\n```\n</pre>" + hostile + "\n```",
					DataFlow: []redoubt.FlowStep{{Path: hostile, Line: 1, Content: hostile}},
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
			t.Errorf("%s ran what a scanner wrote", page)
		}
		for _, bad := range read[[]string](b, `[...document.querySelectorAll("a[href], form[action], img, script, iframe")].filter(e =>
			e.tagName === "IMG" || e.tagName === "IFRAME" || e.tagName === "SCRIPT" && !e.src.startsWith(location.origin + "/assets/") || e.href && !/^https?:/.test(e.href) ||
			e.action && !e.action.startsWith(location.origin)).map(e => e.outerHTML.slice(0, 200))`) {
			t.Errorf("%s holds %s", page, bad)
		}
		if n := read[int](b, `[...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => /^on/i.test(a.name))).length`); n != 0 {
			t.Errorf("%s has %d handlers inline", page, n)
		}
	}
	says(t, s.page("/findings/"+id), "&lt;script&gt;")
}

// Without JavaScript everything can be read, and decided about.
func TestWithoutScripts(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1440, 900, chromedp.Flag("blink-settings", "scriptEnabled=false"))
	b.do(chromedp.Navigate(b.url+"/orgs/acme/findings"), chromedp.Click(`.rows .title`), chromedp.WaitVisible(`#panel .finding`),
		chromedp.Click(`.panel input[value="reviewing"]`), chromedp.Click(`.panel .decide button`), chromedp.WaitVisible(`.done`))
	text, err := chromedp.Run(b.ctx, chromedp.Text(`.done`))
	if err != nil || !strings.Contains(text, "1 finding set to reviewing") {
		t.Errorf("%q, %v", text, err)
	}
	if a := s.get("/findings?status=reviewing"); a.StatusCode != http.StatusOK || total(t, a.text) != "1" {
		t.Errorf("%s are being reviewed", total(t, a.text))
	}
}
