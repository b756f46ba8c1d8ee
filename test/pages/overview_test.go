package pages

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

func TestOverviewCountsMatchLists(t *testing.T) {
	s := demoSite(t)
	page := s.page("/overview")
	all := 0
	for _, p := range ui.Products {
		n := s.View().Count(model.FindingFilter{IssueType: p.Type, Dedup: true, Statuses: []model.Status{model.StatusOpen}})
		all += n
		containsAll(t, page, `<a class="big" href="/orgs/acme`+p.Path+`?status=open" data-count="open">`+ui.Count(n))
		if got := total(t, s.page(p.Path)); got != ui.Count(n) {
			t.Errorf("%s lists %s, the overview shows %d", p.Path, got, n)
		}
	}
	if got := textAt(t, page, "h1 [data-open]"); got != ui.Count(all) {
		t.Errorf("the overview shows %s open findings, want %d", got, all)
	}
	shows(t, page, "[data-say=time-to-fix]")
	containsAll(t, textAt(t, page, "[data-say=silent]"), "14", "acme/gateway")
	last := regexp.MustCompile(`<td class="num">([^<]*)</td><td class="num">[^<]*</td><td class="num">[^<]*</td><td class="num">[^<]*</td></tr></tbody>`).FindStringSubmatch(page)
	if last == nil || last[1] != ui.Count(all) {
		t.Errorf("the trend ends with %v, %d are open", last, all)
	}
	checkInline(t, page)
	for _, m := range regexp.MustCompile(`<li><a href="(/orgs/acme/(?:findings|supply|secrets)[^"]*)"><span class="dot \w+" aria-hidden="true"></span>[^<]* <b>([^<]+)</b>`).FindAllStringSubmatch(page, -1) {
		if got := total(t, s.page(strings.TrimPrefix(m[1], "/orgs/acme"))); got != m[2] {
			t.Errorf("the overview shows %s, %s shows %s", m[2], m[1], got)
		}
	}
}

// TestFilteredOverview checks that a period, a product, a tag or a project restricts all contents of
// the overview and their links.
func TestFilteredOverview(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	s.change(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, "acme/gateway")
		if err == nil {
			_, err = tx.UpdateProject(ctx, p.ID, store.ProjectPatch{Tags: new([]string{"edge case & co"})})
		}
		return err
	})
	open := model.FindingFilter{Dedup: true, Statuses: []model.Status{model.StatusOpen}}
	count := func(f model.FindingFilter, of ...ui.Product) (n int) {
		for _, p := range of {
			f.IssueType = p.Type
			n += s.View().Count(f)
		}
		return n
	}
	tagged, named := open, open
	tagged.ProjectTags, named.Projects = []string{"edge case & co"}, []string{"acme/app"}
	for query, want := range map[string]int{
		"weeks=4": count(open, ui.Products...), "product=sca": count(open, ui.ProductOf(model.SCA)), "tag=" + url.QueryEscape("edge case & co"): count(tagged, ui.Products...),
		"project=acme%2Fapp": count(named, ui.Products...), "project=acme%2Fapp&product=sast&weeks=52": count(named, ui.ProductOf(model.SAST)), "tag=unused": 0,
	} {
		page := s.page("/overview?" + query)
		if got := textAt(t, page, "h1 [data-open]"); got != strconv.Itoa(want) {
			t.Errorf("%s shows %s open findings, want %d", query, got, want)
		}
		followed := countLinks(t, page)
		for _, l := range followed {
			if got := s.total(t, l); got != l.n {
				t.Errorf("%s shows %d %s, and %s has %d", query, l.n, l.of, l.address, got)
			}
		}
		ages := 0
		for _, m := range regexp.MustCompile(`<tr data-age><td>[^<]*</td><td class="num">(\d+)</td>`).FindAllStringSubmatch(page, -1) {
			n, _ := strconv.Atoi(m[1])
			ages += n
		}
		if ages != want {
			t.Errorf("%s: the sum of the ages is %d, %d are open", query, ages, want)
		}
		if len(followed) < 2 && want > 0 {
			t.Errorf("%s: %d counts have links", query, len(followed))
		}
	}
	shows(t, s.page("/overview?weeks=4"), "[data-say=trend][data-weeks='4']", "[data-say=time-to-fix][data-weeks='4']", "[data-period][data-weeks='4']")
	for _, bad := range []string{"weeks=5", "weeks=x", "product=none"} {
		if a := s.get("/overview?" + bad); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", bad, a.Status)
		}
	}
}

func TestEmptyOverviewShowsCommands(t *testing.T) {
	containsAll(t, newSite(t).page("/overview"), "semgrep ci --oss-only", "redoubt ci")
}

func TestOverviewChangesSinceLastVisit(t *testing.T) {
	s := demoSite(t)
	visit := func(cookie string) (string, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/orgs/acme/overview", nil)
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		a := s.send(r)
		c, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
		return a.text, c
	}
	at := s.clock.Now().UTC().Format(time.RFC3339)
	first, cookie := visit("")
	hides(t, first, "[data-say=since-visit]")
	s.clock.Advance(time.Hour)
	second, cookie := visit(cookie)
	shows(t, second, "[data-say=since-visit][data-new='0']")
	s.clock.Advance(time.Minute)
	third, _ := visit(cookie)
	shows(t, third, `[data-say=since-visit] time[datetime="`+at+`"]`)
	visit("redoubt_seen=x.y")
}
