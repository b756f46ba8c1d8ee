package pages

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// network simulates a bad network between a browser and the pages.
type network struct {
	pages http.Handler
	down  atomic.Bool              // requests fail
	slow  atomic.Pointer[chan any] // findings wait for it
	posts atomic.Int64
}

func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		n.posts.Add(1)
	}
	if r.Header.Get("HX-Request") != "" && strings.Contains(r.URL.Path, "/findings/") {
		if wait := n.slow.Load(); wait != nil {
			select {
			case <-*wait:
			case <-r.Context().Done():
			}
		}
		if n.down.Load() {
			panic(http.ErrAbortHandler)
		}
	}
	n.pages.ServeHTTP(w, r)
}

// TestPanelOnSlowNetwork checks the panel on a slow network: it shows that it is loading and
// accepts no decision about the previous finding. Without a network it shows an error and allows a
// retry.
func TestPanelOnSlowNetwork(t *testing.T) {
	s := demoSite(t)
	n := &network{pages: s.pages}
	s.pages = n
	b := s.browse(1280, 900)
	b.open("/findings")
	b.run(`window.faults = []; addEventListener("unhandledrejection", e => faults.push(String(e.reason))); addEventListener("error", e => faults.push(e.message))`)
	rows := read[[]string](b, `[...document.querySelectorAll("[data-row]")].map(r => r.dataset.id)`)
	b.press("j")
	b.until(panelID + ` === "` + rows[0] + `"`)

	wait := make(chan any)
	n.slow.Store(&wait)
	b.press("j")
	b.until(`!["", "none", "normal"].includes(getComputedStyle(document.querySelector("#panel"), "::before").content) && document.querySelector("#panel.slow[aria-busy]")`)
	if got := read[string](b, currentID); got != rows[1] {
		t.Errorf("the current row is %s", got)
	}
	b.press("a")
	b.press("i")
	if n.posts.Load() != 0 || read[string](b, `document.activeElement.tagName`) != "BODY" {
		t.Error("the finding was triaged before")
	}
	b.press("j") // cancels the pending request
	n.slow.Store(nil)
	close(wait)
	b.until(panelID + ` === "` + rows[1] + `" || ` + panelID + ` === "` + rows[2] + `"`)
	b.until(panelID + ` === "` + rows[2] + `" && !document.querySelector("#panel").hasAttribute("aria-busy")`)

	n.down.Store(true)
	b.press("j")
	b.until(`document.querySelector("#panel [role=alert] button")`)
	n.down.Store(false)
	b.run(`document.querySelector("#panel [role=alert] button").click()`)
	b.until(panelID + ` === "` + rows[3] + `"`)
	if faults := read[[]string](b, `window.faults`); len(faults) > 0 {
		t.Errorf("the page's scripts failed: %v", faults)
	}
}

// TestFormsInBrowser checks that a second click sends nothing twice, and that a rule stays at its
// position on the screen when its mode changes.
func TestFormsInBrowser(t *testing.T) {
	s := demoSite(t)
	n := &network{pages: s.pages}
	s.pages = n
	s.as(model.RoleAdmin)
	b := s.browse(1280, 700)
	page := "/policies/" + policyOf(s, "code")
	b.open(page)
	const position = `Math.round(document.querySelectorAll(".modes")[40].closest("tr").getBoundingClientRect().top)`
	b.run(`document.querySelectorAll(".modes")[40].scrollIntoView({block: "center"})`)
	before := read[int](b, position)
	b.run(`{ const button = document.querySelectorAll(".modes")[40].querySelector("button:not([disabled])"); button.click(); button.click(); }`)
	b.until(`location.search.includes("changed=") && document.readyState === "complete" && document.querySelector("tr:target [role=status]")`)
	if sent := n.posts.Load(); sent != 1 {
		t.Errorf("two key presses sent %d forms", sent)
	}
	b.until(position + ` !== 0`)
	if after := read[int](b, position); after < before-3 || after > before+3 {
		t.Errorf("the rule was at %d and is at %d", before, after)
	}
}
