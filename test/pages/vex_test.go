package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// propose uploads a VEX document that marks vulnerabilities as not affected, and returns the
// address of the proposal.
func (s *site) propose(name string, vulnerabilities ...string) (page string) {
	s.t.Helper()
	err := s.store.Update(s.t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		projects, err := tx.Projects(ctx, store.ProjectQuery{})
		if err != nil {
			return err
		}
		d := model.VEXDocument{Name: name, Format: "OpenVEX", Author: "<b>Acme</b>", Version: 3, ProjectID: projects[0].ID, Proposed: true}
		for _, v := range vulnerabilities {
			d.Statements = append(d.Statements, model.VEXStatement{
				Names: []string{v}, Status: model.VEXNotAffected, Justification: "component_not_present", Detail: "<i>looked</i> at " + v,
			})
		}
		receipt, err := exceptions.PutVEX(ctx, tx, d)
		page = "/exceptions/" + ui.Decimal(receipt.Document.ID)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return page
}

// supplyChain creates one finding for each vulnerability in the only project.
func (s *site) supplyChain(vulnerabilities ...string) {
	s.t.Helper()
	items := make([]string, len(vulnerabilities))
	for i, v := range vulnerabilities {
		items[i] = fmt.Sprintf(`{"id": %q, "fix_versions": [], "description": "x"}`, v)
	}
	reading := &report.Reading{}
	text := `{"dependencies": [{"name": "django", "version": "2.0", "vulns": [` + strings.Join(items, ",") + `]}]}`
	if err := reading.Add(strings.NewReader(text), report.Options{Name: "audit.json"}); err != nil {
		s.t.Fatal(err)
	}
	s.upload(ingest.Upload{Project: model.Project{Name: "acme/shop"}, Ref: "main", Full: true}, reading)
}

// changes fails the test unless a page shows the number of findings that a proposal would change.
func changes(t *testing.T, page, want string) {
	t.Helper()
	if n := textAt(t, page, "[data-changes]"); n != want {
		t.Errorf("the proposal would change %s findings, want %s", n, want)
	}
}

// TestProposalsOnPages checks without JavaScript that proposals are listed with their effect,
// and accepted or refused by statement and as a whole.
func TestProposalsOnPages(t *testing.T) {
	s := newSite(t)
	shows(t, s.page("/exceptions?show=requested"), "[data-say=no-requests]")
	s.supplyChain("CVE-2026-1", "CVE-2026-2", "CVE-2026-3")
	page := s.propose("urn:a", "CVE-2026-1", "CVE-2026-2", "CVE-2026-9")
	list := s.page("/exceptions?show=requested")
	containsAll(t, list, "urn:a", "&lt;b&gt;Acme&lt;/b&gt;", "3 statements", "acme/shop")
	shows(t, list, "[data-changes='2']")
	one := s.page(page)
	checkInline(t, one)
	changes(t, one, "2")
	containsAll(t, one, "&lt;i&gt;looked&lt;/i&gt; at CVE-2026-1", "not affected component not present")
	shows(t, one, "td[data-state=ignored][data-reason=false_positive]")
	containsAll(t, textAt(t, one, "button.primary[name=do][value=approve]"), "3")

	statement := func(v string) string {
		form := document(t, s.page(page)).Find(`tr:has(td:first-child:contains("` + v + `")) form:has(button[name=do][value=approve]) input[name=statement]`)
		if form.Length() != 1 || len(form.AttrOr("value", "")) != 64 {
			t.Fatalf("%s has no triage controls", v)
		}
		return form.AttrOr("value", "")
	}
	decide := func(what, v string) string {
		form := url.Values{"do": {what}}
		if v != "" {
			form.Set("statement", statement(v))
		}
		a := s.post(page, form)
		if a.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s %s: %s %s", what, v, a.Status, a.text)
		}
		return strings.TrimPrefix(a.Header.Get("Location"), "/orgs/acme")
	}
	accepted := s.page(decide("approve", "CVE-2026-1"))
	shows(t, accepted, "[data-say=approved]", "tr [data-say=active]")
	changes(t, accepted, "1")
	shows(t, s.page(decide("refuse", "CVE-2026-9")), "[data-say=refused]")
	active := decide("approve", "CVE-2026-2")
	if active == page || !strings.HasSuffix(active, "?done=approved") {
		t.Errorf("after the last decision it redirects to %s", active)
	}
	active = strings.TrimSuffix(active, "?done=approved")
	shows(t, s.page("/exceptions?show=requested"), "[data-say=no-requests]")
	containsAll(t, s.page("/exceptions"), "urn:a", "2 statements")

	page = s.propose("urn:b", "CVE-2026-3")
	if a := s.post(page, url.Values{"do": {"approve"}, "statement": {strings.Repeat("0", 64)}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("the page shows an unexpected statement: %s", a.Status)
	}
	if a := s.post(page, url.Values{"do": {"shout"}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("no decision: %s", a.Status)
	}
	if after := decide("refuse", ""); after != page+"?done=refused" {
		t.Errorf("rejected as a whole it redirects to %s", after)
	}
	if a := s.post(page, url.Values{"do": {"approve"}}); a.StatusCode != http.StatusConflict {
		t.Errorf("approved afterwards: %s", a.Status)
	}
	if n := textAt(t, s.page(active), "[data-decides]"); n != "2" {
		t.Errorf("the page announces %s findings", n)
	}
	shows(t, s.page(active), "form[action$='/remove']")
	if a := s.post(active+"/remove", nil); a.Header.Get("Location") != "/orgs/acme/exceptions?removed=1" {
		t.Errorf("removed: %s %s", a.Status, a.Header.Get("Location"))
	}
	if got := strings.Join(s.audited("vex.refuse"), ", "); got != "vex.refuse by user:ada, vex.refuse by user:ada" {
		t.Errorf("in the audit log: %q", got)
	}
}

// TestViewersCannotReviewProposals checks that viewers see proposals and their effects, but cannot
// decide.
func TestViewersCannotReviewProposals(t *testing.T) {
	s := newSite(t)
	s.supplyChain("CVE-2026-1")
	page := s.propose("urn:a", "CVE-2026-1")
	s.as(model.RoleViewer)
	text := s.page(page)
	changes(t, text, "1")
	shows(t, text, "[data-say=triager-decides]")
	if strings.Contains(text, `name="do"`) {
		t.Errorf("the decision form is shown to a viewer: %s", text)
	}
	if a := s.post(page, url.Values{"do": {"approve"}}); a.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer decides: %s", a.Status)
	}
}

// TestLongListsArePaginated checks that long lists have pages.
func TestLongListsArePaginated(t *testing.T) {
	s := newSite(t)
	s.supplyChain("CVE-2026-1")
	for i := range 50 + 1 {
		s.propose(fmt.Sprint("urn:", i), fmt.Sprint("CVE-2026-", i))
	}
	err := s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		for i := range 50 + 1 {
			if _, err := tx.AddException(ctx, model.Exception{State: model.ExceptionActive, Target: fmt.Sprint("rule-", i), Reason: "x", TriageReason: model.AcceptableRisk}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, shown, has string }{
		{"/exceptions?show=requested", "1 50 51", `href="/orgs/acme/exceptions?show=requested&amp;page=2"`},
		{"/exceptions?show=requested&page=2", "51 51 51", "urn:0"},
		{"/exceptions", "1 50 51", `href="/orgs/acme/exceptions?show=active&amp;page=2"`},
		{"/exceptions?page=2", "51 51 51", "rule-0"},
	} {
		page := s.page(c.path)
		shows(t, page, ".pager [data-shown='"+c.shown+"']")
		containsAll(t, page, c.has)
	}
	shows(t, s.page("/exceptions?page=9"), ".pager [data-page='9 2']", ".pager a[rel=prev]")
	if a := s.get("/exceptions?page=x"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("no page: %s", a.Status)
	}
}
