package pages

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// touching returns pairs of adjacent boxes without a gap.
const touching = `(() => {
	const boxes = [...document.querySelectorAll("main .card, main .say, main .grid, main .bar, main .fault")];
	const out = [];
	for (const box of boxes) {
		const next = box.nextElementSibling;
		if (!next || !boxes.includes(next)) continue;
		const a = box.getBoundingClientRect(), b = next.getBoundingClientRect();
		if (a.height && b.height && b.top >= a.bottom - 1 && b.top - a.bottom < 8) out.push(box.className + " | " + next.className);
	}
	return out;
})()`

// cutOff returns tables and drawings that are wider than their container, labels outside of
// drawings, and stretched one-line fields.
const cutOff = `[...document.querySelectorAll("main .table")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => "table " + e.scrollWidth + " in " + e.clientWidth)
	.concat([...document.querySelectorAll("svg.chart text")].filter(e => e.getBoundingClientRect().left < e.ownerSVGElement.getBoundingClientRect().left).map(e => e.textContent))
	.concat([...document.querySelectorAll("main table")].filter(e => !e.closest(".table") && e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 1).map(e => "table of " + e.textContent.trim().slice(0, 20)))
	.concat([...document.querySelectorAll(".field input, .field select:not([multiple])")].filter(e => e.getBoundingClientRect().height > 40).map(e => "field " + e.name))`

const longName = "org.company.security.rules.python.flask.injection.of.commands.with.user.input.subprocess-shell-true"

// longNames adds a rule and a path of maximum length, and a similar one.
func (s *site) longNames() {
	s.t.Helper()
	u := branchReport(s, "main", true, longName, strings.Replace(longName, "-true", "-false", 1))
	for i := range u.Report.Results {
		u.Report.Results[i].Path = "services/" + strings.Repeat("component/", 12) + "handler.go"
	}
	s.build(u)
}

// TestPageLayout checks the layout. On a laptop no elements touch, wrap or are cut off. On a
// phone the navigation is collapsed and the state of a scan is visible. In print no form is split.
func TestPageLayout(t *testing.T) {
	s := demoSite(t)
	s.longNames()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddException(ctx, model.Exception{State: model.ExceptionActive, Target: "CVE-2021-23337", Reason: "build tools only", TriageReason: model.AcceptableRisk})
		return err
	})
	s.as(model.RoleAdmin)
	b := s.browse(1280, 900)
	scan := first(s, "/scans?project=acme/app", "/scans/")
	for _, page := range []string{
		"/exceptions", "/exceptions/" + first(s, "/exceptions", "/exceptions/"), "/scans/" + scan, "/findings?group=rule&repos=acme%2Fapp", "/nothing/here", "/settings/tokens?done=token-revoked", "/policies/" + policyOf(s, "code"),
	} {
		b.open(page)
		for _, pair := range read[[]string](b, touching) {
			t.Errorf("%s: these overlap: %s", page, pair)
		}
		for _, what := range read[[]string](b, cutOff) {
			t.Errorf("%s is cut off: %s", page, what)
		}
	}
	b.open("/findings?repos=acme%2Fapp")
	if ends := read[[]string](b, `[...document.querySelectorAll("#facet-rules .take")].map(e => { const tail = e.querySelector(".mid > span:last-child"), box = tail.getBoundingClientRect(), room = e.getBoundingClientRect(); return (box.right <= room.right + 1 && box.left >= room.left ? "" : "cut ") + tail.textContent; })`); len(ends) != 2 || ends[0] == ends[1] || strings.Contains(ends[0]+ends[1], "cut") {
		t.Errorf("the rules end in %q", ends)
	}
	s.onAPhone(t, b)
	s.onPaper(t, b)
}

func (s *site) onAPhone(t *testing.T, b *browser) {
	b.do(chromedp.EmulateViewport(390, 844))
	b.open("/settings/audit")
	if high := read[int](b, `Math.round(document.querySelector(".side").getBoundingClientRect().height)`); high > 170 {
		t.Errorf("the navigation is %d high on a phone", high)
	}
	const current = `document.querySelector('.places a[aria-current=page][href$="/settings/audit"]')`
	if here, label := read[string](b, `document.querySelector(".places summary").textContent`), read[string](b, current+`?.textContent ?? "no page"`); here != label {
		t.Errorf("the navigation marks %q as current, want %q", here, label)
	}
	if !read[bool](b, `document.querySelector(".who a").checkVisibility()`) {
		t.Error("the account link is missing")
	}
	b.run(`document.querySelector(".places summary").click()`)
	b.until(`document.querySelector(".places a").checkVisibility({contentVisibilityAuto: true, visibilityProperty: true}) && document.querySelector(".places a").getBoundingClientRect().height > 0`)
	if out := read[[]string](b, `[...document.querySelectorAll(".places a")].filter(a => a.getBoundingClientRect().right > 390 || a.getBoundingClientRect().height < 24).map(a => a.textContent)`); len(out) > 0 {
		t.Errorf("out of reach: %v", out)
	}
	b.open("/scans")
	if right := read[int](b, `Math.round(Math.max(...[...document.querySelectorAll("#scanlist td:nth-child(2) .tag")].map(e => e.getBoundingClientRect().right)))`); right > 390 || right <= 0 {
		t.Errorf("the state of a scan ends at %d", right)
	}
	if wide := read[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the scans are %d wide", wide)
	}
}

func (s *site) onPaper(t *testing.T, b *browser) {
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return err
	}))
	for _, page := range []string{"/findings/" + firstFinding(s), "/findings?finding=" + firstFinding(s), "/exceptions", "/overview"} {
		b.open(page)
		if left := read[[]string](b, `[...document.querySelectorAll("main :is(input, select, textarea, button)")].filter(e => e.checkVisibility() && e.getBoundingClientRect().height > 0 && e.type !== "hidden").map(e => e.outerHTML.slice(0, 80))`); len(left) > 0 {
			t.Errorf("%s prints %v", page, left)
		}
		if read[int](b, `document.querySelector("main").innerText.length`) < 200 {
			t.Errorf("%s prints nothing", page)
		}
	}
}
