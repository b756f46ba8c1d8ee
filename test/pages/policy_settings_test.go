package pages

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

var hiddenFields = regexp.MustCompile(`(?s)<input type="hidden" name="(\w+)" value="([^"]*)">|<textarea hidden name="(\w+)">(.*?)</textarea>`)

// previewByTopic returns the preview of a change by topic: its numbers in order, and the projects that
// would join and leave.
func previewByTopic(page string) map[string]string {
	d, err := goquery.NewDocumentFromReader(strings.NewReader(page))
	if err != nil {
		return nil
	}
	out := map[string]string{
		"joined": strings.Join(d.Find("[data-joined] a").Map(func(_ int, a *goquery.Selection) string { return a.Text() }), " "),
		"left":   strings.Join(d.Find("[data-left] a").Map(func(_ int, a *goquery.Selection) string { return a.Text() }), " "),
	}
	for _, li := range d.Find("[data-would]").EachIter() {
		n := strings.Fields(li.AttrOr("data-numbers", ""))
		out[li.AttrOr("data-would", "")] = strings.Join(n, " ")
		if len(n) > 1 && n[0] == n[1] && li.AttrOr("data-would", "") == "projects" {
			n = n[:1] // equal numbers are shown once
		}
		if shown := visibleNumbers(li.Text()); !strings.HasPrefix(shown+" ", strings.Join(n, " ")+" ") {
			out[li.AttrOr("data-would", "")] = "shown as " + shown
			continue
		}
		if len(n) == 5 {
			out["blocking"] = fmt.Sprintf("%s of %s, %s now, on %s of %s", n[0], n[1], n[2], n[3], n[4])
		}
	}
	return out
}

// wouldForm returns the form that applies the previewed change.
func wouldForm(t *testing.T, page string) url.Values {
	t.Helper()
	_, section, found := strings.Cut(page, `id="would"`)
	if !found {
		t.Fatalf("no preview:\n%s", page)
	}
	section, _, _ = strings.Cut(section, "</section>")
	form := url.Values{}
	for _, m := range hiddenFields.FindAllStringSubmatch(section, -1) {
		form.Set(m[1]+m[3], html.UnescapeString(m[2]+m[4]))
	}
	return form
}

// twoProjects creates two projects with the same findings of rules in mode block, on a branch.
func twoProjects(s *site) {
	for _, project := range []string{"acme/app", "acme/shop"} {
		for _, u := range []ingest.Upload{branchReport(s, "main", true, "old"), branchReport(s, "topic", true, "old", "fresh")} {
			u.Project.Name, u.Report.Tool = project, "semgrep"
			s.build(u)
		}
	}
}

// TestPolicyOfSelectedBranches checks that the page of a policy for some branches describes it, and
// that the gate applies it to full and diff scans.
func TestPolicyOfSelectedBranches(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	twoProjects(s)
	s.serve("code", "fresh")
	s.follow("/policies/new", url.Values{"name": {"Releases"}, "product": {"sast"}, "projects": {"acme/shop"}, "take": {"block"}})
	id := policyOf(s, "releases")
	blocked := func(full bool) int {
		u := branchReport(s, "topic", full, "old", "fresh")
		u.Project.Name, u.Report.Tool = "acme/shop", "semgrep"
		return s.blockedIn(s.build(u).ScanID)
	}
	for _, c := range []struct {
		branches string
		blocks   int
	}{{"main\nrelease/*", 0}, {"top*", 1}, {"refs/pull/**", 0}, {"refs/heads/**", 1}, {"", 1}} {
		query := url.Values{"name": {"Releases"}, "projects": {"acme/shop"}, "branches": {c.branches}}
		form := s.follow("/policies/"+id+"/settings", url.Values{"name": {"Releases"}, "projects": {"acme/shop"}, "branches": {"elsewhere"}, "seen": {currentHash(t, s, id)}})
		containsAll(t, textAt(t, form, "[data-branches] code"), "elsewhere")
		page := s.sent("/policies/"+id+"/settings/preview", query)
		if got := previewByTopic(page)["blocking"]; !strings.HasPrefix(got, ui.Decimal(int64(c.blocks))+" of ") {
			t.Errorf("%q: the page shows %q", c.branches, got)
		}
		s.follow("/policies/"+id+"/settings", wouldForm(t, page))
		if full, change := blocked(true), blocked(false); full != c.blocks || change != c.blocks {
			t.Errorf("%q: a full scan is blocked by %d, one of a change by %d, want %d", c.branches, full, change, c.blocks)
		}
	}
	if about := textAt(t, s.post("/policies/"+id+"/settings/preview", url.Values{"name": {"x"}, "branches": {"a\x01b"}}).text, "main [role=alert] li b"); !strings.EqualFold(about, "branches") {
		t.Errorf("the error is %q", about)
	}
}

// TestPoliciesAreCreatedChangedAndDeleted checks that the previews of changes match their effects.
func TestPoliciesAreCreatedChangedAndDeleted(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	twoProjects(s)
	s.serve("code", "fresh")
	page := s.sent("/policies/new/preview", url.Values{"name": {"Card payments"}, "product": {"sast"}, "projects": {"acme/sh*"}, "take": {"block"}})
	got := previewByTopic(page)
	if got["projects"] != "1 0" || got["joined"] != "acme/shop" || got["blocking"] != "1 of 3, 0 now, on 1 of 2" {
		t.Fatalf("the page shows %q", got)
	}
	shows(t, page, "[data-say=starts-with][data-count='2'][data-mode=block]")
	containsAll(t, page, "topic</span></td><td class=\"num\">0</td><td class=\"num\">1")
	made := s.follow("/policies/new", wouldForm(t, page))
	containsAll(t, made, "<h1>Card payments</h1>", "acme/sh*")
	containsAll(t, textAt(t, made, ".part[data-mode=block]"), "2")
	shows(t, made, "[data-say=saved]")
	id := policyOf(s, "card-payments")
	rebuilt := func(project string) int {
		u := branchReport(s, "topic", true, "old", "fresh")
		u.Project.Name, u.Report.Tool = project, "semgrep"
		return s.blockedIn(s.build(u).ScanID)
	}
	if shop, app := rebuilt("acme/shop"), rebuilt("acme/app"); shop != 1 || app != 0 {
		t.Fatalf("the gate blocks on %d in its project and on %d elsewhere", shop, app)
	}

	settings := "/policies/" + id + "/settings"
	containsAll(t, s.page(settings), `value="Card payments"`, "acme/sh*</textarea>")
	change := url.Values{"name": {"Payments"}, "projects": {"acme/app"}, "tags": {""}}
	page = s.sent(settings+"/preview", change)
	if got = previewByTopic(page); got["joined"] != "acme/app" || got["left"] != "acme/shop" || !strings.HasPrefix(got["blocking"], "1 of 6, 1 now") {
		t.Errorf("for other projects the page shows %q", got)
	}
	containsAll(t, s.follow(settings, wouldForm(t, page)), "<h1>Payments</h1>")
	if shop, app := rebuilt("acme/shop"), rebuilt("acme/app"); shop != 0 || app != 1 {
		t.Errorf("after the change the gate blocks on %d and %d", shop, app)
	}
	shows(t, s.sent(settings+"/preview", change), "#would[data-say=no-change]")

	// Excluded paths remove existing findings.
	change.Set("excludes", "src/")
	page = s.sent(settings+"/preview", change)
	if got = previewByTopic(page); got["removed"] != "3" || !strings.HasPrefix(got["blocking"], "0 of 0, 1 now") {
		t.Errorf("of excluded paths the page says %q", got)
	}

	page = s.page("/policies/" + id + "/delete")
	if got = previewByTopic(page); got["projects"] != "0 1" || !strings.HasPrefix(got["blocking"], "0 of 3, 1 now") {
		t.Errorf("for its expiry the page shows %q", got)
	}
	seen := formHash(t, page)
	if a := s.post("/policies/"+id+"/delete", url.Values{"name": {"Card payments"}, "seen": {seen}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("deleted by another name: %s", a.Status)
	}
	shows(t, s.follow("/policies/"+id+"/delete", url.Values{"name": {"Payments"}, "seen": {seen}}), "[data-say=policy-deleted]")
	if rebuilt("acme/app") != 0 {
		t.Error("a deleted policy blocks")
	}
	if got := strings.Join(s.audited("policy."), "; "); !strings.Contains(got, "policy.create by user:ada") || !strings.Contains(got, "policy.delete by user:ada") {
		t.Errorf("the audit log has %s", got)
	}
}

// TestPolicyChangeRequiresCurrentVersion checks that errors are shown with the input, and that concurrent
// changes are not overwritten.
func TestPolicyChangeRequiresCurrentVersion(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	containsAll(t, s.page("/policies"), "/policies/new")
	for name, c := range map[string]struct {
		form url.Values
		want string
	}{
		"no name":       {url.Values{"name": {""}, "product": {"sast"}, "tags": {"kept-tag"}}, "name"},
		"no product":    {url.Values{"name": {"x"}, "product": {"none"}, "tags": {"kept-tag"}}, "product"},
		"a bad glob":    {url.Values{"name": {"x"}, "product": {"sast"}, "projects": {"["}, "excludes": {"!x"}, "tags": {"kept-tag"}}, "excludes"},
		"a name twice":  {url.Values{"name": {"Code"}, "product": {"sast"}, "tags": {"kept-tag"}}, "name"},
		"a wrong mode":  {url.Values{"name": {"x"}, "product": {"sast"}, "take": {"explode"}, "tags": {"kept-tag"}}, "take"},
		"a spaced name": {url.Values{"name": {"///"}, "product": {"sast"}, "tags": {"kept-tag"}}, "name"},
	} {
		a := s.post("/policies/new", c.form)
		if a.StatusCode != http.StatusBadRequest && a.StatusCode != http.StatusConflict {
			t.Errorf("%s: %s", name, a.Status)
		}
		containsAll(t, a.text, "kept-tag")
		about := document(t, a.text).Find("main [role=alert] li b").Map(func(_ int, b *goquery.Selection) string { return strings.ToLower(b.Text()) })
		if !slices.Contains(about, c.want) {
			t.Errorf("%s: the error is %q", name, about)
		}
	}
	id := policyOf(s, "code")
	settings := "/policies/" + id + "/settings"
	change := url.Values{"name": {"Code"}, "excludes": {"vendor/"}}
	form := wouldForm(t, s.sent(settings+"/preview", change))
	s.change(func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		for _, p := range policies {
			if ui.Decimal(p.ID) == id && err == nil {
				p.Excludes = model.PathGlobs{"gen/"}
				_, err = tx.UpdatePolicy(ctx, p)
			}
		}
		return err
	})
	a := s.post(settings, form)
	if a.StatusCode != http.StatusConflict {
		t.Fatalf("another's change is overwritten: %s %v\n%s", a.Status, form, a.text)
	}
	shows(t, a.text, "[data-say=changed-meanwhile]")
	containsAll(t, a.text, "vendor/")
	containsAll(t, s.follow(settings, wouldForm(t, a.text)), "vendor/")
	shows(t, s.page("/policies/"+id+"/delete"), "[data-say=default-stays]")
	if a := s.post("/policies/"+id+"/delete", url.Values{"name": {"Code"}}); a.StatusCode != http.StatusConflict {
		t.Errorf("the default policy is deleted: %s", a.Status)
	}
	s.as(model.RoleTriager)
	containsAll(t, textAt(t, s.page("/policies/"+id), "[data-say=admins-only]"), "triager")
	if page := s.page("/policies"); strings.Contains(page, "/policies/new") {
		t.Error("the button for a new policy is shown to a triager")
	}
}

// sent submits a form whose response is a page.
func (s *site) sent(path string, form url.Values) string {
	s.t.Helper()
	a := s.post(path, form)
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s\n%s\n%s", path, a.Status, a.text, s.log.String())
	}
	return a.text
}

// currentHash returns the current hash in the form of a policy's settings.
func currentHash(t *testing.T, s *site, id string) string {
	t.Helper()
	return formHash(t, s.sent("/policies/"+id+"/settings/preview", url.Values{"name": {"Any"}}))
}

// formHash returns the hash in a form.
func formHash(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`name="seen" value="([^"]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the version that was seen is missing:\n%s", page)
	}
	return m[1]
}

// TestPolicyDeletionRequiresCurrentVersion checks that a policy is not deleted if it or its contents changed
// since the page was opened.
func TestPolicyDeletionRequiresCurrentVersion(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	s.serve("code", "first")
	s.follow("/policies/new", url.Values{"name": {"Chain"}, "product": {"sca"}})
	id := policyOf(s, "chain")
	for name, change := range map[string]func(){
		"its settings": func() {
			s.follow("/policies/"+id+"/settings", url.Values{"name": {"Chain"}, "excludes": {"gen/"}, "seen": {currentHash(t, s, id)}})
		},
		"its conditions": func() { s.post("/policies/"+id+"/conditions", url.Values{"mode": {"block"}, "severity": {"high"}}) },
		"its due days":   func() { s.post("/policies/"+id+"/due", url.Values{"high": {"30"}}) },
		"its rules":      func() { s.serve("chain", "second") },
	} {
		seen := formHash(t, s.page("/policies/"+id+"/delete"))
		change()
		a := s.post("/policies/"+id+"/delete", url.Values{"name": {"Chain"}, "seen": {seen}})
		if a.StatusCode != http.StatusConflict {
			t.Fatalf("%s changed since, and it is deleted: %s\n%s", name, a.Status, a.text)
		}
		shows(t, a.text, "main [role=alert]")
		if current := formHash(t, a.text); current == seen {
			t.Errorf("%s: the response repeats earlier rows", name)
		}
	}
	shows(t, s.follow("/policies/"+id+"/delete", url.Values{"name": {"Chain"}, "seen": {formHash(t, s.page("/policies/"+id+"/delete"))}}), "[data-say=policy-deleted]")
}

// TestPolicyPreviewAcceptsLongLists checks that a preview accepts the maximum number of globs, which
// do not fit in an address.
func TestPolicyPreviewAcceptsLongLists(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	server := httptest.NewServer(s.pages)
	t.Cleanup(server.Close)
	paths := make([]string, model.MaxPolicyGlobs)
	for i := range paths {
		paths[i] = fmt.Sprintf("services/%s/%d/", strings.Repeat("generated", 10), i)
	}
	form := url.Values{"name": {"Code"}, "excludes": {strings.Join(paths, "\n")}}
	page := s.page("/policies/" + policyOf(s, "code") + "/settings")
	m := regexp.MustCompile(`<form class="card" method="(\w+)" action="([^"]+)">`).FindStringSubmatch(page)
	if m == nil || m[1] != "post" {
		t.Fatalf("the form is sent by %q", m)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+m[2], strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK || len(form.Encode()) < 8<<10 {
		t.Fatalf("%d bytes return %s, %v", len(form.Encode()), a.Status, err)
	}
	if got := wouldForm(t, string(text)).Get("excludes"); got != form.Get("excludes") {
		t.Errorf("the form would save %.200q", got)
	}
}

// TestPolicyPageListsUnmatchedBranches checks that the stored and the previewed policy show
// branches without a match, with the existing branches.
func TestPolicyPageListsUnmatchedBranches(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	twoProjects(s)
	s.follow("/policies/new", url.Values{"name": {"Releases"}, "product": {"sast"}, "projects": {"acme/shop"}, "branches": {"realese/*"}})
	settings := "/policies/" + policyOf(s, "releases") + "/settings"
	warned := s.page(settings)
	if glob := textAt(t, warned, "#unmatched code:first-child"); glob != "realese/*" {
		t.Errorf("the unmatched branches are %q", glob)
	}
	containsAll(t, warned, "<code>topic</code> <code>main</code>")
	for branches, warns := range map[string]bool{"main": false, "": false, "main\nmian": true, "refs/heads/*": false, "refs/pull/**": true} {
		form := url.Values{"name": {"Releases"}, "projects": {"acme/shop"}, "branches": {branches}}
		if page := s.sent(settings+"/preview", form); strings.Contains(page, `id="unmatched"`) != warns {
			t.Errorf("%q: warned is %v, want %v", branches, !warns, warns)
		}
	}
	if page := s.sent(settings+"/preview", url.Values{"name": {"Releases"}, "projects": {"acme/none"}, "branches": {"mian"}}); strings.Contains(page, `id="unmatched"`) {
		t.Error("a policy for no project is compared with branches")
	}
}

// serve adds a rule in mode monitor to a policy.
func (s *site) serve(slug, name string) {
	s.t.Helper()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		rule := model.Rule{Name: name, Message: "Do not.", Severity: model.SeverityHigh, Confidence: model.ConfidenceHigh}
		policies, err := tx.Policies(ctx)
		for _, p := range policies {
			if p.Slug == slug && err == nil {
				rule.IssueType = p.Product
				_, err = tx.ServeRule(ctx, store.Serving{Rule: rule, Text: []byte(`{"id":"` + name + `","pattern":"$X"}`), PolicyID: p.ID})
			}
		}
		return err
	})
}
