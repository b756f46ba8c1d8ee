package pages

import (
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// shots are the screenshots: name, page and size.
var shots = []struct {
	name, path    string
	width, height int
	dark          bool
}{
	{"overview", "/overview", 1440, 900, false},
	{"findings", "/findings", 1440, 900, false},
	{"findings-dark", "/findings?finding=FINDING", 1440, 900, true},
	{"finding-panel", "/findings?finding=FINDING", 1440, 900, false},
	{"finding", "/findings/FINDING", 1100, 1000, false},
	{"findings-narrow", "/findings", 390, 844, false},
	{"finding-narrow", "/findings?finding=FINDING", 390, 844, true},
	{"groups", "/findings?group=rule", 1440, 900, false},
	{"secrets", "/secrets", 1440, 900, false},
	{"supply-chain", "/supply-chain/vulnerabilities", 1440, 900, false},
	{"overview-narrow", "/overview", 390, 844, false},
	{"projects", "/projects", 1440, 900, false},
	{"project", "/projects/PROJECT", 1440, 1100, false},
	{"scans", "/scans", 1440, 900, true},
	{"scan", "/scans/SCAN", 1440, 900, false},
	{"scan-narrow", "/scans/SCAN", 390, 844, false},
	{"dependencies", "/supply-chain/dependencies?name=e", 1440, 900, false},
	{"policies", "/policies", 1440, 700, false},
	{"policy", "/policies/POLICY", 1440, 900, true},
	{"sbom", "/sbom", 1440, 700, false},
}

// TestPagesFitTheirScreens checks that each page renders and is no wider than its screen.
// Screenshots of the demo are created in cmd/redoubt.
func TestPagesFitTheirScreens(t *testing.T) {
	if testing.Short() {
		t.Skip("loads every page; not with -short")
	}
	s := demoSite(t)
	replacer := strings.NewReplacer("FINDING", firstFinding(s), "PROJECT", first(s, "/projects", "/projects/"), "SCAN", first(s, "/scans", "/scans/"), "POLICY", first(s, "/policies", "/policies/"))
	b := s.browse(1440, 900)
	for _, shot := range shots {
		scheme := "light"
		if shot.dark {
			scheme = "dark"
		}
		b.do(chromedp.EmulateViewport(int64(shot.width), int64(shot.height)))
		b.open("/overview")
		read[any](b, `localStorage.setItem("theme", "`+scheme+`")`)
		b.open(replacer.Replace(shot.path))
		picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil || len(picture) < 5000 {
			t.Fatalf("%s: %d bytes, %v", shot.name, len(picture), err)
		}
		if wide := read[int](b, `document.documentElement.scrollWidth`); wide > shot.width {
			t.Errorf("%s is %d wide on a screen of %d", shot.path, wide, shot.width)
		}
	}
}

// firstFinding returns the id of the most severe open code finding.
func firstFinding(s *site) string { return rowID(s, "/findings") }

// rowID returns the id of the first finding on a page.
func rowID(s *site, page string) string {
	s.t.Helper()
	_, rest, found := strings.Cut(s.page(page), `data-id="`)
	if !found {
		s.t.Fatal("there is no finding")
	}
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// first returns the id in the first link of a page below a path.
func first(s *site, page, below string) string {
	s.t.Helper()
	m := regexp.MustCompile(`href="/orgs/acme` + below + `(\d+)"`).FindStringSubmatch(s.page(page))
	if m == nil {
		s.t.Fatalf("%s links to nothing below %s", page, below)
	}
	return m[1]
}
