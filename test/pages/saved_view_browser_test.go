package pages

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// outside returns the parts of an open menu that are off the screen or cut off at the side.
const outside = `[...document.querySelectorAll(".menu[open] > .sheet")].flatMap(sheet => {
	const r = sheet.getBoundingClientRect();
	return r.left < 0 || r.right > innerWidth || sheet.scrollWidth > sheet.clientWidth + 1 ? [sheet.className + " from " + r.left + " to " + r.right + " of " + innerWidth] : [];
})`

// TestSavedViewsInBrowser opens, stores and changes views with the keyboard, on screens of each
// width. It checks that menus are not cut off and pass axe.
func TestSavedViewsInBrowser(t *testing.T) {
	s := demoSite(t)
	s.saveView(url.Values{"query": {"severities=high&sort=due"}, "name": {"High, by due date"}, "shared": {"1"}})
	mine := s.saveView(url.Values{"query": {"severities=low"}, "name": {strings.Repeat("long-name", 11)}})
	b := s.browse(1440, 900)
	for _, width := range []int64{1440, 1280, 390} {
		b.do(chromedp.EmulateViewport(width, 900))
		b.open(mine + "&severities=high&sort=newest")
		for _, menu := range []string{".views", ".keep", ".menu:has([name=columns])"} {
			b.run(fmt.Sprintf(`document.querySelectorAll("details.menu").forEach(m => { m.open = m.matches(%q); m.querySelectorAll("details").forEach(d => d.open = m.open) })`, menu))
			if off := read[[]string](b, outside); len(off) > 0 {
				t.Errorf("%s at %d: %v", menu, width, off)
			}
			if wide := read[int64](b, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("%s makes the page %d wide on a screen of %d", menu, wide, width)
			}
			b.run(axe)
			for _, fault := range b.axe(allRules) {
				t.Errorf("%s at %d: %s", menu, width, fault)
			}
		}
	}

	b.do(chromedp.EmulateViewport(1280, 900))
	b.open("/findings?severities=critical")
	b.do(chromedp.KeyEvent("v"))
	if !read[bool](b, `document.activeElement === document.querySelector(".views .sheet a")`) {
		t.Errorf("v opens %q", read[string](b, `document.activeElement.outerHTML`))
	}
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`.views .name`))
	if name := read[string](b, `document.querySelector(".views .name").textContent`); name != "High, by due date" {
		t.Errorf("Enter opens %q", name)
	}
	b.open("/findings?severities=critical")
	b.do(chromedp.Click(`.keep > summary`), chromedp.SendKeys(`#new-view`, "Critical"+kb.Enter), chromedp.WaitVisible(`.views .name`))
	if name := read[string](b, `document.querySelector(".views .name").textContent`); name != "Critical" {
		t.Errorf("the saved view is named %q", name)
	}
}
