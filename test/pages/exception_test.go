package pages

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// commonRule returns the rule of the first listed finding.
func commonRule(s *site) string {
	s.t.Helper()
	m := regexp.MustCompile(`href="/orgs/acme/exceptions\?[^"]*target=([^"&#]+)`).FindStringSubmatch(s.page("/findings/" + firstFinding(s)))
	if m == nil {
		s.t.Fatal("a finding's page does not link to an exception")
	}
	name, err := url.QueryUnescape(m[1])
	if err != nil {
		s.t.Fatal(err)
	}
	return name
}

// TestExceptionsOnPages checks without JavaScript that an exception is filled in from a
// finding's panel, previewed, created, counted, opened and removed.
func TestExceptionsOnPages(t *testing.T) {
	s := demoSite(t)
	const none = "[data-say=no-exceptions]"
	shows(t, s.page("/exceptions"), none)
	containsAll(t, s.page("/exceptions"), "redoubt exceptions create")
	rule := commonRule(s)
	filled := s.page("/exceptions?target=" + url.QueryEscape(rule) + "&projects=acme%2Fx")
	containsAll(t, filled, `value="`+rule+`"`, ">acme/x</textarea>")
	form := url.Values{"target": {rule}, "reason": {"<b>tests</b> only"}, "until": {"2999-01-31"}, "triage_reason": {"no_time"}}
	seen := s.post("/exceptions", form)
	m := regexp.MustCompile(`<p data-count="(\d+)" data-until="2999-01-31" data-everywhere>`).FindStringSubmatch(seen.text)
	if seen.StatusCode != http.StatusOK || m == nil || m[1] == "0" {
		t.Fatalf("the preview: %s %s", seen.Status, seen.text)
	}
	containsAll(t, textAt(t, seen.text, "[data-everywhere]"), "2999-01-31", m[1])
	containsAll(t, seen.text, `name="seen" value="1"`, "&lt;b&gt;tests&lt;/b&gt; only")
	shows(t, s.page("/exceptions"), none) // the preview changes nothing
	form.Set("seen", "1")
	if a := s.post("/exceptions", form); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/orgs/acme/exceptions?made=1" {
		t.Fatalf("%s %s", a.Status, a.text)
	}
	list := s.page("/exceptions?made=1")
	shows(t, list, "[data-say=exception-made]")
	hides(t, list, none)
	containsAll(t, list, "2999-01-31", "&lt;b&gt;tests&lt;/b&gt; only", `>`+m[1]+`<span class="hidden-text">`)
	checkInline(t, list)
	id := first(s, "/exceptions", "/exceptions/")
	one := s.page("/exceptions/" + id)
	shows(t, one, "h2[data-count='"+m[1]+"']", "[data-reason=no_time]", `form[action$="/remove"]`)
	containsAll(t, one, "<b>"+m[1]+"</b>")
	if rows := strings.Count(one, `<a href="/orgs/acme/findings/`); ui.Decimal(int64(rows)) != m[1] {
		t.Errorf("the count %s links to %d rows", m[1], rows)
	}
	if a := s.post("/exceptions/"+id+"/remove", nil); a.StatusCode != http.StatusSeeOther {
		t.Errorf("%s %s", a.Status, a.text)
	}
	shows(t, s.page("/exceptions?removed=1"), "[data-say=exception-removed]", none)
	if a := s.post("/exceptions/"+id+"/remove", nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("removed twice: %s", a.Status)
	}
	if got := s.audited("exception."); strings.Join(got, " ") != "exception.create by user:ada exception.delete by user:ada" {
		t.Errorf("in the audit log: %q", got)
	}
}

// audited returns the audit events of a kind with their actors.
func (s *site) audited(kind string) (out []string) {
	s.t.Helper()
	err := s.store.View(s.t.Context(), s.org.ID, func(ctx context.Context, tx *store.Tx) error {
		events, err := tx.AuditEvents(ctx, 0, 10_000)
		for _, e := range events {
			if strings.HasPrefix(e.Action, kind) {
				out = append(out, e.Action+" by "+e.By.Kind+":"+e.By.ID)
			}
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func TestInvalidExceptionForms(t *testing.T) {
	s := newSite(t)
	for _, edit := range []url.Values{
		{"until": {""}}, {"until": {"soon"}}, {"until": {"2001-01-01"}}, {"target": {"a\tb"}}, {"reason": {" "}}, {"paths": {"!x"}}, {"triage_reason": {"bored"}},
	} {
		form := url.Values{"target": {"rule-1"}, "reason": {"kept"}, "until": {"2999-01-31"}, "seen": {"1"}}
		maps.Copy(form, edit)
		a := s.post("/exceptions", form)
		if a.StatusCode != http.StatusBadRequest || edit["target"] == nil && !strings.Contains(a.text, `value="rule-1"`) {
			t.Errorf("%v: %s %s", edit, a.Status, a.text)
		}
		for field := range edit {
			shows(t, a.text, "[role=alert][data-fault="+field+"]")
		}
	}
	s.as(model.RoleViewer)
	if page := s.page("/exceptions"); strings.Contains(page, "<textarea") || document(t, page).Find("[data-say=triager-accepts]").Length() != 1 {
		t.Errorf("the add form is shown to a viewer: %s", page)
	}
}

// TestConditionsOnPages checks that all users see conditions as sentences, and that
// administrators can change them.
func TestConditionsOnPages(t *testing.T) {
	s := demoSite(t)
	id := policyOf(s, "supply-chain")
	page := "/policies/" + id
	containsAll(t, s.page(page), "redoubt policies conditions create supply-chain")
	if strings.Contains(s.page(page), `name="grace"`) {
		t.Error("the form of conditions is shown to a triager")
	}
	s.as(model.RoleAdmin)
	form := url.Values{"mode": {"block"}, "severity": {"high"}, "asks": {"fixable"}, "grace": {"14"}, "projects": {"acme/*\r\n"}, "branches": {"main\nrelease/*"}}
	if a := s.post(page+"/conditions", form); a.StatusCode != http.StatusSeeOther || !strings.HasSuffix(a.Header.Get("Location"), page+"?condition=added#conditions") {
		t.Fatalf("%s %s", a.Status, a.text)
	}
	shows(t, s.page(page+"?condition=added"), "[data-say=added]")
	added := model.PolicyCondition{
		Mode: model.ModeBlock, Severity: model.SeverityHigh, Fixable: true, GraceDays: 14, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"acme/*"}}, Branches: model.ProjectGlobs{"main", "release/*"},
	}
	containsAll(t, s.page(page+"?condition=added"), ">"+ui.Capital(added.Sentence())+".<")
	containsAll(t, s.page("/policies"), `/policies/`+id+`#conditions">1</a>`)
	messages := map[string]bool{}
	for what, edit := range map[string]url.Values{
		"an empty one": {"severity": {""}, "asks": {""}, "grace": {""}}, "half a score": {"epss": {"half"}}, "a large score": {"epss": {"7"}}, "no days": {"grace": {"soon"}},
		"no mode": {"mode": {"shout"}}, "a long glob": {"projects": {strings.Repeat("x", 600)}},
	} {
		bad := maps.Clone(form)
		maps.Copy(bad, edit)
		a := s.post(page+"/conditions", bad)
		if messages[textAt(t, a.text, "#conditions [role=alert]")] = true; a.StatusCode != http.StatusBadRequest || !strings.Contains(a.text, "release/*</textarea>") {
			t.Errorf("%s: %s %s", what, a.Status, a.text)
		}
	}
	if len(messages) != 6 {
		t.Errorf("for six errors got %v", messages)
	}
	if a := s.post("/policies/"+policyOf(s, "code")+"/conditions", form); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a policy for code: %s", a.Status)
	}
	if a := s.post(page+"/conditions/1/remove", nil); a.StatusCode != http.StatusSeeOther {
		t.Errorf("%s %s", a.Status, a.text)
	}
	if a := s.post(page+"/conditions/1/remove", nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("removed twice: %s", a.Status)
	}
	if a := s.post("/policies/"+policyOf(s, "code")+"/rules", url.Values{"rule": {commonRule(s)}, "mode": {"comment"}}); a.StatusCode != http.StatusSeeOther {
		t.Errorf("%s %s", a.Status, a.text)
	}
	got := s.audited("policy.update")
	if len(got) != 2 || got[1] != "policy.update by user:ada" || len(s.audited("policy.set_rule_mode")) == 0 {
		t.Errorf("in the audit log: %q, of rules %q", got, s.audited("policy.set_rule_mode"))
	}
}

// policyOf returns the id of a policy by its slug.
func policyOf(s *site, slug string) (id string) {
	s.t.Helper()
	err := s.store.View(s.t.Context(), s.org.ID, func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		for _, p := range policies {
			if p.Slug == slug {
				id = ui.Decimal(p.ID)
			}
		}
		return err
	})
	if err != nil || id == "" {
		s.t.Fatal(slug, err)
	}
	return id
}

// TestExceptionPagesAreAccessible checks the pages that require exceptions and conditions, in both
// themes.
func TestExceptionPagesAreAccessible(t *testing.T) {
	s := demoSite(t)
	s.post("/exceptions", url.Values{"target": {commonRule(s)}, "reason": {"tests only"}, "until": {"2999-01-31"}, "paths": {"/**"}, "seen": {"1"}})
	s.as(model.RoleAdmin)
	chain := "/policies/" + policyOf(s, "supply-chain")
	s.post(chain+"/conditions", url.Values{"mode": {"block"}, "severity": {"high"}})
	b := s.browse(1440, 900)
	proposal := s.propose("urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79", "CVE-2026-1", "CVE-2026-2")
	for _, page := range []string{proposal + "?done=approved", "/exceptions?show=requested", "/exceptions?made=1", "/exceptions/" + first(s, "/exceptions", "/exceptions/"), chain + "?condition=added", "/policies"} {
		b.open(page)
		b.run(axe)
		b.run(`document.querySelectorAll("details").forEach(d => d.open = true)`)
		for _, fault := range b.axe(allRules) {
			t.Errorf("%s: %s", page, fault)
		}
		b.run(`document.documentElement.dataset.theme = "dark"`)
		for _, fault := range b.axe(colourRules) {
			t.Errorf("%s, dark: %s", page, fault)
		}
	}
}
