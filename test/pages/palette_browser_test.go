package pages

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redoubt/redoubt/internal/model"
)

const (
	ctrlK      = `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true, cancelable: true}))`
	chosenHit  = `document.querySelector('#palette [aria-selected="true"]')`
	shutDialog = `!document.querySelector("#palette").open`
)

// hit waits until the selected hit of the palette matches a selector.
func (b *browser) hit(selector string) {
	b.t.Helper()
	b.until(chosenHit + `?.matches('` + selector + `') && document.querySelector("#palette input").getAttribute("aria-activedescendant") === ` + chosenHit + `.id`)
}

// TestPaletteByKeyboard checks that everything can be found and opened with the keyboard, and that
// closing the palette restores the focus.
func TestPaletteByKeyboard(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	b := s.browse(1440, 900)
	b.open("/projects")
	b.run(`document.querySelector("#q").focus()`)
	b.run(ctrlK)
	b.hit("*")
	if focus := read[string](b, `document.activeElement.getAttribute("role")`); focus != "combobox" {
		t.Errorf("the palette opens with the focus on %q", focus)
	}
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
	if out := read[bool](b, `document.activeElement !== document.body && !document.activeElement.closest("#palette")`); out {
		t.Error("Tab leaves the palette")
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(shutDialog + ` && document.activeElement.id === "q"`)

	b.run(ctrlK)
	b.do(chromedp.KeyEvent(s.navLabel("/policies")[:5]))
	b.hit(`[href$="/policies"]`)
	b.do(chromedp.KeyEvent(kb.ArrowUp))
	b.hit("#hit-all") // the last one
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.hit(`[href$="/policies"]`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname.endsWith("/policies")`)

	// Enter directly after typing opens a hit of the new text instead of the previous one.
	b.open("/projects")
	b.run(ctrlK)
	b.hit("*")
	b.do(chromedp.KeyEvent(strings.ToLower(s.navLabel("/settings/audit")) + kb.Enter))
	b.until(`location.pathname.endsWith("/settings/audit")`)

	project := first(s, "/projects", "/projects/")
	b.open("/projects/" + project)
	b.do(chromedp.Click(`[data-palette]`))
	b.hit("*")
	if sends := read[bool](b, `document.querySelector("#palette [aria-selected=true]").matches("button")`); sends {
		t.Error("Enter starts a scan without any input")
	}
	b.do(chromedp.KeyEvent(read[string](b, `document.querySelector("#palette button[form^=send-action] bdi").textContent`)))
	b.hit("button[form^=send-action]")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname.endsWith("/scan") && document.querySelector("main [role=alert]")`) // the server's error

	b.open("/overview")
	b.run(ctrlK)
	b.hit("*")
	b.run(`document.querySelector("#palette input").value = "a ".repeat(17); document.querySelector("#palette input").dispatchEvent(new Event("input", {bubbles: true}))`)
	b.until(`document.querySelector("#palette .say")?.textContent.includes("16")`)
	b.run(ctrlK)
	b.until(shutDialog)
}

// TestPaletteIsAccessible checks the palette on screens of each width, in both themes, with and
// without hits.
func TestPaletteIsAccessible(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	s.longNames()
	b := s.browse(1280, 900)
	for width, typedAndChosen := range map[int64]map[string]string{1280: {"acme": "[id^=hit-]", "no such name": "#hit-list-0"}, 390: {"": "*", "acme": "[id^=hit-]"}} {
		b.do(chromedp.EmulateViewport(width, 900))
		for typed, chosen := range typedAndChosen {
			b.open("/projects/" + first(s, "/projects", "/projects/"))
			b.do(chromedp.Click(`[data-palette]`), chromedp.KeyEvent(typed))
			b.hit(chosen)
			b.until(`document.querySelector("#palette-hits").textContent.includes("` + typed + `")`)
			if off := read[[]string](b, `[document.querySelector("#palette"), document.querySelector("[data-palette-box]")].filter(e => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().left < 0 || e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 80))`); len(off) > 0 {
				t.Errorf("%q at %d is truncated: %v", typed, width, off)
			}
			b.run(axe)
			for _, fault := range b.axe(allRules) {
				t.Errorf("%q at %d: %s", typed, width, fault)
			}
			b.run(`document.documentElement.dataset.theme = "dark"`)
			for _, fault := range b.axe(colourRules) {
				t.Errorf("%q at %d, dark: %s", typed, width, fault)
			}
		}
	}
}
