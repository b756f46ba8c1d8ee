package pages

import (
	_ "embed"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// axe is the accessibility checker axe-core.
//
//go:embed testdata/axe.min.js
var axe string

// axeFaults runs axe on the current page.
const axeFaults = `axe.run(document, {resultTypes: ["violations"], runOnly: RULES}).then(r => r.violations.map(v => v.id + ": " + v.help + " — " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + (n.any[0] ? " (" + n.any[0].message + ")" : "")).join(" | ")))`

const (
	allRules    = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]` // wcag22aa: the size of targets
	underToast  = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]`             // a toast covers targets for seconds
	colourRules = `["color-contrast"]`
)

// pagesOf returns an address for each route that renders a page.
func pagesOf(s *site) []string {
	s.t.Helper()
	ids := map[string]string{
		"findings": firstFinding(s), "projects": first(s, "/projects", "/projects/"), "scans": first(s, "/scans", "/scans/"), "policies": first(s, "/policies", "/policies/"),
	}
	policy := "/policies/" + ids["policies"]
	ids["rules"] = first(s, policy, policy+"/rules/")
	if s.viewer.May(model.RoleAdmin) {
		ids["notifications"] = ui.Decimal(s.notificationRule().ID)
	}
	wildcard := regexp.MustCompile(`/(\w+)/\{\w+\}`)
	out := []string{"/findings?finding=" + ids["findings"], "/findings?group=rule", "/findings?q=nothing+has+this+name", "/supply-chain/dependencies?name=e"}
	for _, route := range web.Routes() {
		path, below := strings.CutPrefix(route.Pattern, ui.Org)
		if route.Method != http.MethodGet || !below {
			continue
		}
		known := true
		path = wildcard.ReplaceAllStringFunc(path, func(part string) string {
			noun := wildcard.FindStringSubmatch(part)[1]
			known = known && ids[noun] != ""
			return "/" + noun + "/" + ids[noun]
		})
		a := s.get(path)
		if !known || a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			continue // redirects, downloads, or requires data that this site lacks
		}
		out = append(out, path)
	}
	return out
}

// TestPagesAreAccessible checks all pages in both themes with axe, and that no elements touch or
// are cut off.
func TestPagesAreAccessible(t *testing.T) {
	s := demoSite(t)
	s.crew()
	form := formOf(s.page("/findings/" + firstFinding(s)))
	form.Set("state", "fixing")
	form.Set("until", "2099-01-31")
	form.Set("assignee", model.AssigneeMe)
	s.follow("/triage", form)
	s.as(model.RoleAdmin)
	s.storeCode(firstFinding(s), nil)
	pages := pagesOf(s)
	if len(pages) < 16 {
		t.Errorf("only %d pages: %v", len(pages), pages)
	}
	b := s.browse(1280, 900)
	for _, page := range pages {
		b.open(page)
		for _, fault := range append(read[[]string](b, touching), read[[]string](b, cutOff)...) {
			t.Errorf("%s: overlap or are truncated: %s", page, fault)
		}
		b.run(axe)
		for _, fault := range b.axe(allRules) {
			t.Errorf("%s: %s", page, fault)
		}
		b.run(`document.documentElement.dataset.theme = "dark"`)
		for _, fault := range b.axe(colourRules) { // the theme only changes colors
			t.Errorf("%s, dark: %s", page, fault)
		}
	}
}

// axe returns the faults of the current page.
func (b *browser) axe(rules string) []string {
	b.t.Helper()
	faults, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](strings.Replace(axeFaults, "RULES", rules, 1), chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return faults
}

// TestPreviewIsAccessible checks the preview separately, as it is the response to a POST.
func TestPreviewIsAccessible(t *testing.T) {
	s := demoSite(t)
	text := s.previewOf("repos=acme%2Fpayments")
	b := s.browse(1440, 900)
	mux := http.NewServeMux()
	mux.HandleFunc("/preview", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
	mux.Handle("/", s.pages)
	server := httptest.NewServer(mux)
	defer server.Close()
	b.do(chromedp.Navigate(server.URL + "/preview"))
	b.run(axe)
	for _, fault := range b.axe(allRules) {
		t.Error(fault)
	}
}

// TestAdvisoryPagesAreAccessible checks the pages that require advisories, and a finding of one.
func TestAdvisoryPagesAreAccessible(t *testing.T) {
	s := advisedSite(t)
	source := model.AdvisorySource{Location: "https://osv.example/npm/all.zip", Kind: "osv", Error: "no route to host"}
	if err := s.store.PutAdvisorySource(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	b := s.browse(1440, 900)
	for _, page := range []string{
		"/advisories", "/advisories?q=nothing+has+this+name", "/advisories/CVE-2021-23337", "/advisories/GHSA-0000-0000-0000", "/overview",
		"/supply-chain/vulnerabilities?finding=" + rowID(s, "/supply-chain/vulnerabilities?q=qs"),
	} {
		b.open(page)
		b.run(axe)
		for _, fault := range b.axe(allRules) {
			t.Errorf("%s: %s", page, fault)
		}
		b.run(`document.documentElement.dataset.theme = "dark"`)
		for _, fault := range b.axe(colourRules) {
			t.Errorf("%s, dark: %s", page, fault)
		}
	}
}
