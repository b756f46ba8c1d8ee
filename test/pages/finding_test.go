package pages

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// total returns the number of findings that a findings page shows.
func total(t testing.TB, page string) string {
	t.Helper()
	m := regexp.MustCompile(`<span class="total"[^>]*>([^<]*)</span>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no total:\n%s", page)
	}
	return m[1]
}

func (s *site) View() *index.View {
	s.t.Helper()
	v, err := s.index.Deployment(s.t.Context(), s.org.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// TestCountsAgreeOnAllPages checks that the total of a page equals the API's count with dedup=true.
// Facet counts equal the totals after selecting a value.
func TestCountsAgreeOnAllPages(t *testing.T) {
	s := demoSite(t)
	for _, p := range ui.Products {
		page := s.page(p.Path)
		want := s.View().Count(model.FindingFilter{IssueType: p.Type, Dedup: true, Statuses: []model.Status{model.StatusOpen}})
		if got := total(t, page); got != ui.Count(want) {
			t.Errorf("%s shows %s, the API counts %d", p.Path, got, want)
		}
	}
	value := regexp.MustCompile(`(?s)<li data-value="[^"]*"( class="(?:in|out)")?>\s*<a class="take" href="([^"]+)".*?<span class="n">([^<]+)</span>`)
	followed := 0
	for _, m := range value.FindAllStringSubmatch(s.page("/findings?severities=high"), -1) {
		address := html.UnescapeString(m[2])
		if m[1] != "" || strings.Count(address, "severities=") > 1 || strings.Contains(address, "status=") {
			continue // selected, or adds a value to a selected facet
		}
		followed++
		if got := total(t, s.page(strings.TrimPrefix(address, "/orgs/acme"))); got != m[3] {
			t.Errorf("the facet shows %s, %s shows %s", m[3], address, got)
		}
	}
	if followed < 10 {
		t.Errorf("only %d facet values were followed", followed)
	}
}

func TestDefaultListIsOpenBySeverity(t *testing.T) {
	s := demoSite(t)
	page := s.page("/findings")
	tags := regexp.MustCompile(`<span class="tag (critical|high|medium|low)">`).FindAllStringSubmatch(page, -1)
	rank := map[string]int{"critical": 0, "high": 1, "medium": 2, "low": 3}
	last := 0
	for _, m := range tags {
		if rank[m[1]] < last {
			t.Fatalf("%s follows a lower severity", m[1])
		}
		last = rank[m[1]]
	}
	if len(tags) != ui.PerPage {
		t.Errorf("%d rows on the first page", len(tags))
	}
	shows(t, page, `.pager a[rel=next][href*="page=2"]`, "button[name=all]")
	hides(t, page, ".pager a[rel=prev]", `.pager a[href*="page=3"]`)
	end := s.page("/findings?page=2")
	shows(t, end, ".pager a[rel=prev]")
	hides(t, end, ".pager a[rel=next]")
	checkInline(t, page)
}

// TestLinksFromCommandLine checks the addresses that scanners print.
func TestLinksFromCommandLine(t *testing.T) {
	s := demoSite(t)
	page := s.page("/findings?repo=acme/payments&ref=main")
	want := s.View().Count(model.FindingFilter{
		IssueType: model.SAST, Dedup: true, Statuses: []model.Status{model.StatusOpen}, Projects: []string{"acme/payments"}, Ref: "refs/heads/main",
	})
	if got := total(t, page); got != ui.Count(want) || want == 0 {
		t.Errorf("shows %s, want %d", got, want)
	}
	s.page("/supply-chain/vulnerabilities?repo=acme/payments&ref=main")
	s.page("/secrets?repo=acme/payments&ref=main")
}

func TestEveryFindingQueryRenders(t *testing.T) {
	s := demoSite(t)
	for _, query := range []string{
		"?-severities=low&q=redoubt&severities=high", "?branch=primary&group=rule", "?status=any", "?-status=fixed", "?ref=refs%2Fheads%2Fmain&repos=acme%2Fpayments&sort=newest",
		"?since=30", "?branch=every&page=2&sort=oldest", "",
	} {
		s.page("/findings" + query)
	}
}

func TestExcludeOmitsFindings(t *testing.T) {
	s := demoSite(t)
	all, without := s.page("/findings"), s.page("/findings?-repos=acme/payments")
	want := s.View().Count(model.FindingFilter{
		IssueType: model.SAST, Dedup: true, Statuses: []model.Status{model.StatusOpen}, Except: &model.FindingFilter{Projects: []string{"acme/payments"}},
	})
	if total(t, without) != ui.Count(want) || total(t, without) == total(t, all) {
		t.Errorf("%s of %s remain, want %d", total(t, without), total(t, all), want)
	}
	shows(t, without, ".chips a.not", "#facet-repos li.out")
}

func TestInvalidQueryErrorNamesParameter(t *testing.T) {
	s := newSite(t)
	for query, want := range map[string]string{
		"?severities=huge": "severities", "?sort=best": "sort", "?page=x": "page", "?since=yesterday": "since", "?-status=odd": "status", "?group=x": "group", "?finding=x": "finding",
	} {
		a := s.get("/findings" + query)
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", query, a.StatusCode)
		}
		containsAll(t, a.text, "<code>"+want+"</code>")
	}
}

// TestSearchesAreBounded checks the limits of all pages with a search.
func TestSearchesAreBounded(t *testing.T) {
	s := newSite(t)
	for _, page := range []string{"/findings", "/supply-chain/vulnerabilities", "/projects", "/advisories"} {
		for query, status := range map[string]int{
			strings.Repeat("ü", 200): http.StatusOK, strings.Repeat("a", 201): http.StatusBadRequest,
			strings.Repeat("a+", 16): http.StatusOK, strings.Repeat("a+", 17): http.StatusBadRequest,
		} {
			a := s.get(page + "?q=" + query)
			if a.StatusCode != status {
				t.Errorf("%s?q=%.20s…: %d, want %d", page, query, a.StatusCode, status)
			}
			if status == http.StatusBadRequest {
				containsAll(t, a.text, "<code>q</code>")
			}
		}
	}
}

func TestEmptyPagesShowCommand(t *testing.T) {
	s := newSite(t)
	for _, p := range ui.Products {
		containsAll(t, s.page(p.Path), "redoubt import --project")
	}
}

func TestFindingPageShowsAllFields(t *testing.T) {
	s := demoSite(t)
	id := firstFinding(s)
	page := s.page("/findings/" + id)
	containsAll(t, page, "<h2>child-process-concatenation</h2>", "server/")
	shows(t, page, ".history", "[data-rule-references] a", "[data-fingerprint]", "[data-status=open]", ".precedent[data-count='2'] a")
	containsAll(t, textAt(t, page, ".history .new"), "main")
	if !strings.Contains(page, `class="line"`) {
		t.Error("the code that matched is not shown")
	}
	checkInline(t, page)
	for _, missing := range []string{"/findings/999999999", "/findings/0", "/findings/x"} {
		if a := s.get(missing); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", missing, a.StatusCode)
		}
	}
}

// TestEveryFindingHasPage checks the pages of fixed findings, secrets, and findings on other
// branches.
func TestEveryFindingHasPage(t *testing.T) {
	s := demoSite(t)
	for _, p := range ui.Products {
		page, err := s.View().Page(t.Context(), model.FindingFilter{IssueType: p.Type}, 0, 400)
		if err != nil {
			t.Fatal(err)
		}
		all, err := component.ShownFindings(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range all {
			if i%7 == 0 {
				containsAll(t, html.UnescapeString(s.page(fmt.Sprintf("/findings/%d", f.ID))), f.Title())
			}
		}
	}
}

// TestTagsMatchAPI checks that the tags for malicious packages and blocking match the API
// for all supply-chain findings.
func TestTagsMatchAPI(t *testing.T) {
	s := demoSite(t)
	s.setMode(commonRule(s), model.ModeBlock)
	counts, blocked := map[string]int{}, 0
	for _, p := range ui.Products {
		filter := model.FindingFilter{IssueType: p.Type, Dedup: true, Statuses: []model.Status{model.StatusOpen}}
		page, err := s.View().Page(t.Context(), filter, 0, 400)
		if err != nil {
			t.Fatal(err)
		}
		all, err := component.ShownFindings(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := s.View().Newest(t.Context(), model.FindingFilter{IssueType: p.Type, Modes: []model.PolicyMode{model.ModeBlock}}, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		blocking := map[int64]bool{}
		for _, b := range blocks {
			blocking[b.FindingID] = true
		}
		for i, f := range all {
			if p.Type != model.SCA && i%5 != 0 && !blocking[f.ID] {
				continue
			}
			text := s.page("/findings/" + ui.Decimal(f.ID))
			if got, want := document(t, text).Find("[data-say=malicious]").Length() > 0, f.IsMalicious != nil && *f.IsMalicious; got != want {
				t.Errorf("#%d marks its package as malicious: %v, the API: %v", f.ID, got, want)
			}
			if got := gateTag.MatchString(text); p.Type != model.SCA && got != blocking[f.ID] {
				t.Errorf("#%d shows its rule's effect on builds: %v, the API: %v", f.ID, got, blocking[f.ID])
			}
			counts[p.Section]++
			if blocking[f.ID] {
				blocked++
			}
		}
	}
	if counts["vulnerabilities"] < 2 || counts["findings"] < 5 || blocked == 0 {
		t.Errorf("checked %v, of which %d block", counts, blocked)
	}
}

// TestDefaultOrderIsBySeverity checks the label of the default order, and that its former name in
// addresses still works.
func TestDefaultOrderIsBySeverity(t *testing.T) {
	s := demoSite(t)
	first := s.page("/findings")
	const orders = `.menu:has(a[href="/orgs/acme/findings?sort=severity_asc"]:not([aria-current]))`
	shows(t, first, orders+` a[aria-current][href="/orgs/acme/findings"]`)
	if severe := rowID(s, "/findings?sort=risk"); severe != rowID(s, "/findings") || severe == rowID(s, "/findings?sort=severity_asc") {
		t.Errorf("sort=risk begins with %s", severe)
	}
	for _, path := range []string{"/findings", "/supply-chain/vulnerabilities", "/secrets", "/projects", "/mine"} {
		if strings.Contains(strings.ToLower(s.page(path)), "riskiest") {
			t.Errorf("%s labels an order by severity as riskiest", path)
		}
	}
}
