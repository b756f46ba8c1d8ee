package pages

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

// pollURL returns the address that an open page polls.
func pollURL(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`id="news"[^>]* hx-get="([^"]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page does not poll for updates:\n%s", page)
	}
	return html.UnescapeString(m[1])
}

// poll requests an address as the page's script does.
func (s *site) poll(address string) answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, address, nil)
	r.Header.Set("HX-Request", "true")
	return s.send(r)
}

// newsCounts returns the numbers of new and resolved findings on an open page; empty if there are none.
func newsCounts(t *testing.T, text string) string {
	t.Helper()
	news := document(t, text).Find("#news a[data-new]")
	if news.Length() == 0 {
		return ""
	}
	counts := news.AttrOr("data-new", "") + " " + news.AttrOr("data-gone", "")
	if shown := visibleNumbers(news.Text()); " "+shown+" " != strings.ReplaceAll(" "+counts+" ", " 0 ", " ") {
		t.Errorf("for %q the text is %q", counts, shown)
	}
	return counts
}

// TestUpdateNoticeOfOpenPage checks that an open page shows the numbers of new and resolved findings in
// its scope and otherwise stays unchanged.
func TestUpdateNoticeOfOpenPage(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "one", "two"))
	s.clock.Advance(time.Minute)
	pages := map[string]string{ // new and resolved
		"/overview": "2 1", "/findings": "2 1", "/findings?rules=three": "1 0",
		"/findings?rules=two": "0 1", "/findings?rules=one": "", "/secrets": "", "/findings?status=any": "2 0",
	}
	pollAddresses := map[string]string{}
	for page := range pages {
		pollAddresses[page] = pollURL(t, s.page(page))
		if a := s.poll(pollAddresses[page]); a.StatusCode != http.StatusNoContent {
			t.Errorf("%s shows an update notice without a change: %s %s", page, a.Status, a.text)
		}
	}
	s.clock.Advance(time.Minute)
	u := branchReport(s, "main", true, "one", "three", "four")
	u.Commit = "later"
	s.build(u)
	for page, want := range pages {
		a := s.poll(pollAddresses[page])
		if got := newsCounts(t, a.text); a.StatusCode != http.StatusOK || got != want {
			t.Errorf("%s: %s %q, want %q", page, a.Status, got, want)
		}
		// The response continues polling, and only reports again when more changes.
		if next := s.poll(pollURL(t, a.text)); next.StatusCode != http.StatusNoContent {
			t.Errorf("a second request for %s returns %s %s", page, next.Status, next.text)
		}
	}
	for _, bad := range []string{"/orgs/acme/news?version=x&at=1&had=1", "/orgs/acme/news?version=0&at=1&had=-1", "/orgs/acme/news?version=0&at=1&had=1&type=dast", "/orgs/acme/news?version=0&at=1&had=1&type=sast&query=severities%3Dodd"} {
		if a := s.poll(bad); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", bad, a.Status)
		}
	}
}

// TestUpdateNoticeOfEmptyPage checks that an empty page reloads itself when there are findings.
func TestUpdateNoticeOfEmptyPage(t *testing.T) {
	s := newSite(t)
	address := pollURL(t, s.page("/findings"))
	b := s.browse(1200, 800)
	b.open("/findings")
	s.build(branchReport(s, "main", true, "one"))
	if a := s.poll(address); a.Header.Get("HX-Refresh") != "true" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
	b.until(`document.querySelectorAll("[data-row]").length === 1`)
	b.press("j")
	b.until(panelID)
	// The page now has rows, so it only shows a notice.
	s.clock.Advance(time.Minute)
	u := branchReport(s, "main", true, "one", "two")
	u.Commit = "later"
	s.build(u)
	b.until(`document.querySelector("#news a[data-new='1'][data-gone='0']")`)
	if n := read[int](b, `document.querySelectorAll("[data-row]").length`); n != 1 || read[string](b, panelID) == "" {
		t.Errorf("%d rows", n)
	}
	b.run(`document.querySelector("#news a").click()`)
	b.until(`document.querySelectorAll("[data-row]").length === 2`)
}

// TestUpdateNoticeAfterTriage checks that findings that another user decides about count as resolved on a
// page of open findings.
func TestUpdateNoticeAfterTriage(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "one", "two"))
	address := pollURL(t, s.page("/findings"))
	s.change(func(ctx context.Context, tx *store.Tx) error {
		view, err := s.index.Deployment(ctx, s.org.ID)
		if err != nil {
			return err
		}
		_, err = triage.Apply(ctx, tx, view, triage.Request{State: model.TriageIgnored, Filter: model.FindingFilter{IssueType: model.SAST, HasIDs: true, IDs: []int64{1}}})
		return err
	})
	if got := newsCounts(t, s.poll(address).text); got != "0 1" {
		t.Errorf("the page receives %q", got)
	}
}
