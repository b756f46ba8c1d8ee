package pages

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// TestFailedScansDoNotCountAsFirstScan checks that the scan step shows failed scans and stays open
// until one scan is completed.
func TestFailedScansDoNotCountAsFirstScan(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	s.member("ada", "Ada Lovelace", model.RoleAdmin)
	fail := func() {
		s.clock.Advance(time.Minute)
		s.change(func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.ProjectForScan(ctx, nil, model.Project{Name: "acme/broken"})
			if err == nil {
				_, err = tx.AddScan(ctx, model.Scan{ProjectID: p.ID, Ref: "refs/heads/main", StartedAt: tx.Now(), CompletedAt: tx.Now(), Status: model.ScanError, Error: "no rules", TotalTime: -1})
			}
			return err
		})
	}
	fail()
	containsAll(t, textAt(t, s.page("/overview"), "#startsteps [data-say=failed]"), "acme/broken")
	lacks(t, s.steps(), `class="done"`)
	s.build(branchReport(s, "main", true, "one"))
	fail()
	containsAll(t, textAt(t, s.steps(), "li.done[data-say=scanned]"), "acme/app")
}

// TestFirstStartCreatesCommandToken checks that a server without scans shows the setup
// methods. The token in the commands is created with one click, is shown once and is limited to
// scans.
func TestFirstStartCreatesCommandToken(t *testing.T) {
	s := newSite(t)
	s.member("ada", "Ada Lovelace", model.RoleTriager)
	bare := s.page("/overview")
	shows(t, bare, "[data-say=nothing-scanned]", "[data-say=not-scanned]", "[value=terminal][checked]")
	containsAll(t, bare, "http://example.com")
	a := s.post(ui.StartPath+"/token", url.Values{"from": {"github"}})
	if a.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s: %s", a.Status, a.text)
	}
	secret := regexp.MustCompile(`rdt_\w+`)
	shown := s.withCookies(a)
	text := secret.FindString(shown)
	if text == "" || strings.Count(shown, text) != 1 || !strings.Contains(shown, "gh secret set REDOUBT_TOKEN\n") {
		t.Fatalf("the token is not shown exactly once near the commands:\n%s", shown)
	}
	shows(t, shown, "[value=github][checked]")
	containsAll(t, textAt(t, shown, "[data-say=token-made]"), "GitHub Actions (first start)", s.clock.Now().AddDate(0, 0, 90).UTC().Format(time.DateOnly))
	lacks(t, s.page(strings.TrimPrefix(a.Header.Get("Location"), "/orgs/acme")), text)
	s.change(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Tokens(ctx)
		if len(list) != 1 || len(list[0].Scopes) != 1 || !list[0].Has(model.ScopeCI) || list[0].ExpiresAt.IsZero() || list[0].UserID == 0 {
			t.Errorf("the tokens are %+v", list)
		}
		return err
	})
	if a := s.post(ui.StartPath+"/token", url.Values{"from": {"elsewhere"}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a token for nothing: %s", a.Status)
	}
}

// withCookies follows a redirect as a browser does, with the cookies of the response.
func (s *site) withCookies(a answer) string {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, a.Header.Get("Location"), nil)
	for _, c := range a.Cookies() {
		r.AddCookie(c)
	}
	return s.send(r).text
}

// decide selects the link to the blocking step, and leave the form that dismisses the guide.
const decide, leave = `a[href$="/start/block?severity=high"]`, `form[action$="/start/leave"]`

// TestFirstStartUpdatesAfterScan checks that steps are completed for all users, and that users
// see only the steps they may do. The guide disappears when all steps are done or an administrator
// dismisses it.
func TestFirstStartUpdatesAfterScan(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	s.member("ada", "Ada Lovelace", model.RoleAdmin)
	shows(t, s.page("/overview"), decide, "[data-say=alone]", leave)
	s.build(branchReport(s, "main", true, "one"))
	shows(t, s.page("/overview"), "[data-say=set-up] [data-say=scanned] .tag.good", "[data-say=set-up] [data-say=undecided] .tag.plain")
	containsAll(t, textAt(t, s.steps(), "li.done[data-say=scanned]"), "acme/app")
	for _, role := range []model.Role{model.RoleViewer, model.RoleTriager} {
		s.as(role)
		hides(t, s.page("/overview"), "[data-say=set-up]")
		hides(t, s.page(ui.StartPath), decide, "[data-say=undecided]", leave)
	}
	s.as(model.RoleAdmin)
	shows(t, s.follow(ui.StartPath+"/block-nothing", nil), ".say[data-say=blocks-nothing]", "#startsteps [data-say=blocks-nothing]")
	s.setMode("one", model.ModeBlock)
	shows(t, s.steps(), "[data-say=blocking][data-count='1']")
	s.member("bob", "Bob", model.RoleViewer)
	shows(t, s.steps(), "[data-say=people][data-count='2']", "[data-say=all-set-up]")
	lacks(t, s.steps(), "every 3s") // nothing to poll for
	if a := s.post(ui.StartPath+"/leave", nil); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("leaving: %s", a.Status)
	}
	steps := s.steps()
	containsAll(t, textAt(t, steps, "[data-say=scanned]"), "acme/app")
	shows(t, steps, "[data-say=blocking][data-count='1']", "[data-say=people][data-count='2']") // an open page shows all steps
	hides(t, s.page("/overview"), "[data-say=set-up]")
}

// steps requests the steps as an open page does.
func (s *site) steps() string {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/orgs/acme"+ui.StartPath+"/steps", nil)
	r.Header.Set("HX-Request", "true")
	a := s.send(r)
	if a.StatusCode != http.StatusOK || strings.Contains(a.text, "<html") {
		s.t.Fatalf("%s:\n%s", a.Status, a.text)
	}
	return a.text
}

func TestFirstStartCanBeSkipped(t *testing.T) {
	s := newSite(t)
	s.member("ada", "Ada Lovelace", model.RoleAdmin)
	for role, want := range map[model.Role]int{model.RoleViewer: http.StatusForbidden, model.RoleTriager: http.StatusForbidden} {
		s.as(role)
		for _, path := range []string{"/leave", "/block-nothing"} {
			if a := s.post(ui.StartPath+path, nil); a.StatusCode != want {
				t.Errorf("a %s at %s: %s", role, path, a.Status)
			}
		}
	}
	s.as(model.RoleViewer)
	if a := s.post(ui.StartPath+"/token", url.Values{"from": {"github"}}); a.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer creates a token: %s", a.Status)
	}
	const token = `form[action$="/start/token"]`
	shows(t, s.page("/overview"), "[data-say=nothing-scanned]", "[data-say=others-connect]")
	hides(t, s.page("/overview"), token, leave)
	s.as(model.RoleAdmin)
	shows(t, s.page(ui.StartPath), leave)
	shows(t, s.follow(ui.StartPath+"/leave", nil), "[data-say=no-project]")
	shows(t, s.page(ui.StartPath), token)
	hides(t, s.page(ui.StartPath), "[data-say=others-connect]")
}

// TestFirstStartIsAccessible checks the setup guide on a phone in both themes with axe, before and
// after the token is created.
func TestFirstStartIsAccessible(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	s.member("ada", "Ada Lovelace", model.RoleAdmin)
	b := s.browse(390, 844)
	check := func(what string) {
		t.Helper()
		b.run(axe)
		faults := b.axe(allRules)
		b.run(`document.documentElement.dataset.theme = "dark"`)
		for _, fault := range append(faults, b.axe(colourRules)...) {
			t.Errorf("%s: %s", what, fault)
		}
		if wide := read[int](b, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("%s is %d wide", what, wide)
		}
	}
	b.open("/overview")
	check("an empty server")
	b.do(chromedp.Click(".of-terminal form .primary"), chromedp.WaitReady(".say.good"))
	b.until(`document.querySelector(".card.start > .copy [data-copy]:not([hidden])")`)
	check("the token")
	b.open("/upload")
	check("the upload")
}

// TestStartPageShowsProjectName checks that the page shows how both commands derive the project
// name, and the variable that makes them agree.
func TestStartPageShowsProjectName(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	_, note, _ := strings.Cut(s.page("/start"), `<div class="way of-terminal">`)
	note, _, _ = strings.Cut(note, `<div class="way of-`)
	containsAll(t, note, "<code>redoubt ci</code>", "<code>origin</code>", "<code>local_scan/</code>", "<code>semgrep ci</code>", "export SEMGREP_REPO_NAME=")
	if n := document(t, note).Find("p.note").Length(); n != 1 {
		t.Errorf("%d notes name the project, want one", n)
	}
}
