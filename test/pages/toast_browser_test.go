package pages

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redoubt/redoubt/internal/model"
)

// undoButton selects the button that undoes the last decision.
const undoButton = `.done form button`

// reach returns why an element cannot be clicked: it is absent, outside of the viewport or covered.
// It returns "" if it can be clicked.
func (b *browser) reach(selector string) string {
	b.t.Helper()
	return read[string](b, `(() => {
		const e = document.querySelector(`+strconv.Quote(selector)+`);
		if (!e) return "absent";
		const r = e.getBoundingClientRect();
		if (!r.width || r.left < 0 || r.top < 0 || r.right > innerWidth || r.bottom > innerHeight) return "outside: " + JSON.stringify(r);
		const at = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
		return at === e || e.contains(at) ? "" : "covered by " + (at?.outerHTML.slice(0, 120) ?? "nothing");
	})()`)
}

// fixing counts the findings with the status fixing.
func (s *site) fixing(t model.IssueType) int {
	s.t.Helper()
	return s.View().Count(model.FindingFilter{IssueType: t, Dedup: true, Statuses: []model.Status{model.StatusFixing}})
}

// undone clicks the undo button of the confirmation and waits for the result.
func (b *browser) undone() {
	b.t.Helper()
	b.until(`document.querySelector(".done") && ` + scripted)
	b.until(`document.querySelector(` + strconv.Quote(undoButton) + `)`)
	if why := b.reach(undoButton); why != "" {
		b.t.Fatalf("Undo: %s", why)
	}
	b.run(`document.documentElement.dataset.before = "1"`)
	point := read[[]float64](b, `(() => { const r = document.querySelector(`+strconv.Quote(undoButton)+`).getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`)
	b.do(chromedp.MouseClickXY(point[0], point[1]))
	b.until(`!document.documentElement.dataset.before && document.querySelector(".done") && ` + scripted)
}

// TestUndoButtonIsVisible checks that the confirmation of a decision and its undo button are visible on
// all pages with decisions.
func TestUndoButtonIsVisible(t *testing.T) {
	s := demoSite(t)
	for name, c := range map[string]struct {
		width, height int
		path          string
		steps         int // number of j keys before the decision
		product       model.IssueType
	}{
		"deep in the list": {1440, 900, "/findings", 25, model.SAST},
		"beside a panel":   {1024, 700, "/findings", 12, model.SAST},
		"on a phone":       {390, 844, "/findings", 1, model.SAST},
		"supply chain":     {390, 844, "/supply-chain/vulnerabilities", 4, model.SCA},
		"secrets":          {1280, 500, "/secrets", 3, model.Secrets},
	} {
		t.Run(name, func(t *testing.T) {
			b := s.browse(c.width, c.height)
			b.t = t
			b.open(c.path)
			rows := read[int](b, `document.querySelectorAll("[data-row]").length`)
			for range min(c.steps, rows-1) {
				was := read[string](b, panelID+` ?? ""`)
				b.press("j")
				b.until(panelID + ` && ` + panelID + ` !== "` + was + `"`)
			}
			b.press("f")
			b.until(`document.querySelector(".done") && ` + scripted)
			if n := s.fixing(c.product); n != 1 {
				t.Fatalf("%d are being fixed", n)
			}
			for _, control := range []string{`.footer [data-ignore] summary`, `.footer [data-key="f"]`, `.footer [data-key="r"]`, `.footer [data-take]`} {
				if why := b.reach(control); why != "" {
					t.Errorf("%s: %s", control, why)
				}
			}
			b.undone()
			if n := s.fixing(c.product); n != 0 {
				t.Errorf("%d are being fixed after Undo", n)
			}
		})
	}
}

// TestConfirmationDoesNotCoverTriageControls checks that the confirmation does not cover the decision buttons
// on a finding's page and below selected rows.
func TestConfirmationDoesNotCoverTriageControls(t *testing.T) {
	s := demoSite(t)
	for name, size := range map[string][2]int{"wide": {1280, 600}, "phone": {390, 844}} {
		t.Run(name, func(t *testing.T) {
			b := s.browse(size[0], size[1])
			b.t = t
			b.open("/findings/" + firstFinding(s))
			b.press("f")
			b.until(`document.querySelector(".done") && ` + scripted)
			b.run(`scrollTo(0, document.body.scrollHeight)`)
			for _, control := range []string{`.footer [data-key="r"]`, `.footer [data-key="o"]`, `.footer [data-take]`} {
				if why := b.reach(control); why != "" {
					t.Errorf("%s: %s", control, why)
				}
			}
			b.undone()
			b.run(`document.querySelector("[data-done-close]").click()`)
			if read[bool](b, `!!document.querySelector(".done")`) || b.reach(`.footer [data-key="f"]`) != "" {
				t.Error("the confirmation cannot be closed")
			}
			b.open("/findings")
			b.run(`document.querySelectorAll('input[name="id"]')[0].click()`)
			b.press("f")
			b.until(`document.querySelector(".done") && ` + scripted)
			b.run(`document.querySelectorAll('input[name="id"]')[2].click()`)
			for _, control := range []string{`.picked [data-key="r"]`, `.picked [data-key="a"]`, `.picked [data-decide]`, undoButton} {
				if why := b.reach(control); why != "" {
					t.Errorf("%s: %s", control, why)
				}
			}
			b.run(`scrollTo(0, document.body.scrollHeight)`)
			if why := b.reach(`.results [rel="next"]`); why != "" {
				t.Errorf("the next page: %s", why)
			}
			b.run(`document.querySelectorAll('input[name="id"]')[2].click()`)
			b.press(kb.Escape)
			b.undone()
			if n := s.fixing(model.SAST); n != 0 {
				t.Errorf("%d are being fixed after Undo", n)
			}
		})
	}
}

// TestConfirmationsDoNotShiftLayout checks that the confirmation overlays the page and moves no content.
func TestConfirmationsDoNotShiftLayout(t *testing.T) {
	s := demoSite(t)
	b := s.browse(1440, 900)
	b.open("/findings?finding=" + firstFinding(s))
	const tops = `["h1", ".facets, .chips", "[data-row]", "#panel"].map(e => Math.round(document.querySelector(e).getBoundingClientRect().top))`
	before := read[[]int](b, tops)
	b.press("r")
	b.until(`document.querySelector(".done") && ` + scripted)
	b.run(`scrollTo(0, 0)`)
	for i, top := range read[[]int](b, tops) {
		if top != before[i] {
			t.Errorf("part %d is at %d, and was at %d", i, top, before[i])
		}
	}
}

// TestConfirmationsAreAccessible checks the confirmation in both themes, and that it shifts no
// content while its page loads.
func TestConfirmationsAreAccessible(t *testing.T) {
	s := demoSite(t)
	id := firstFinding(s)
	form := formOf(s.page("/findings/" + id))
	form.Set("state", "fixing")
	done := s.post("/triage", form).Header.Get("Location")
	_, query, _ := strings.Cut(done, "?")
	s.pages = trickle(s.pages)
	b := s.browse(1440, 900)
	for _, width := range []int64{1440, 390} {
		b.do(chromedp.EmulateViewport(width, 844))
		for _, path := range []string{"/findings?" + query, "/findings?finding=" + id + "&" + query, "/findings/" + id + "?" + query} {
			b.open(path)
			shift, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](shifts, chromedp.EvalAwaitPromise))
			if err != nil || shift > maxShift {
				t.Errorf("%s at %d shifts by %.3f: %v", path, width, shift, err)
			}
			b.run(axe)
			for _, fault := range b.axe(underToast) {
				t.Errorf("%s at %d: %s", path, width, fault)
			}
			if small := read[int](b, `[...document.querySelectorAll(".done button")].filter(e => e.offsetHeight < 24 || e.offsetWidth < 24).length`); small > 0 {
				t.Errorf("%s at %d: %d buttons are small for a finger", path, width, small)
			}
			for _, theme := range []string{"light", "dark"} {
				b.run(`document.documentElement.dataset.theme = "` + theme + `"`)
				for _, fault := range b.axe(colourRules) {
					t.Errorf("%s at %d, %s: %s", path, width, theme, fault)
				}
			}
			if b.reach(undoButton) != "" {
				t.Errorf("%s at %d: Undo is out of reach", path, width)
			}
		}
	}
}
