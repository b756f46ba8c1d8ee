package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/exemption"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// propose has a build say of vulnerabilities that they do not matter, and returns
// the address of the proposal.
func (s *site) propose(name string, vulnerabilities ...string) (page string) {
	s.t.Helper()
	err := s.store.Update(s.t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		projects, err := tx.Projects(ctx, store.ProjectQuery{})
		if err != nil {
			return err
		}
		d := redoubt.VEXDocument{Name: name, Format: "OpenVEX", Author: "<b>Acme</b>", Version: 3, ProjectID: projects[0].ID, Proposed: true}
		for _, v := range vulnerabilities {
			d.Statements = append(d.Statements, redoubt.VEXStatement{
				Names: []string{v}, Status: redoubt.VEXNotAffected, Justification: "component_not_present", Detail: "<i>looked</i> at " + v,
			})
		}
		receipt, err := exemption.PutVEX(ctx, tx, d)
		page = "/vex/" + decimal(receipt.Document.ID)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return page
}

// supplyChain makes findings of vulnerabilities, one of each in the only project.
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
	s.upload(ingest.Upload{Project: redoubt.Project{Name: "acme/shop"}, Ref: "main", Full: true}, reading)
}

// Proposals on the pages: listed with what they would change, accepted and refused
// by statement and as a whole, without a script.
func TestProposalsOnThePages(t *testing.T) {
	s := newSite(t)
	says(t, s.page("/vex"), "Nothing is proposed")
	says(t, s.page("/vex?status=held"), "No document is active", "redoubt vex add")
	s.supplyChain("CVE-2026-1", "CVE-2026-2", "CVE-2026-3")
	page := s.propose("urn:a", "CVE-2026-1", "CVE-2026-2", "CVE-2026-9")
	list := s.page("/vex")
	says(t, list, "urn:a", "&lt;b&gt;Acme&lt;/b&gt;", `<td class="num">3</td><td class="num">2<span`, "acme/shop")
	one := s.page(page)
	checkInline(t, one)
	says(t, one, "would change the triage of <b>2</b> findings", "&lt;i&gt;looked&lt;/i&gt; at CVE-2026-1", "not affected component not present", "Ignored", "False positive", "Accept all 3")

	statement := func(v string) string {
		m := regexp.MustCompile(`name="statement" value="([0-9a-f]{64})"><button name="decision" value="accept" aria-label="Accept ` + v).FindStringSubmatch(s.page(page))
		if m == nil {
			t.Fatalf("%s cannot be decided about", v)
		}
		return m[1]
	}
	decide := func(what, v string) string {
		form := url.Values{"decision": {what}}
		if v != "" {
			form.Set("statement", statement(v))
		}
		a := s.post(page, form)
		if a.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s %s: %s %s", what, v, a.Status, a.text)
		}
		return strings.TrimPrefix(a.Header.Get("Location"), "/orgs/acme")
	}
	says(t, s.page(decide("accept", "CVE-2026-1")), "Accepted. The triage of 1 finding changed.", ">Active</span>", "triage of <b>1</b> finding;")
	says(t, s.page(decide("refuse", "CVE-2026-9")), "Refused. Uploads of the project do not propose the same again.")
	if after := decide("accept", "CVE-2026-2"); after != "/vex?accepted=1" {
		t.Errorf("when all is decided it leads to %s", after)
	}
	says(t, s.page("/vex?accepted=1"), "Nothing is proposed", "triage of 1 finding changed")
	held := s.page("/vex?status=held")
	says(t, held, "urn:a", `<td class="num">2</td><td class="num">2<span`)

	page = s.propose("urn:b", "CVE-2026-3")
	if a := s.post(page, url.Values{"decision": {"accept"}, "statement": {strings.Repeat("0", 64)}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a statement that it does not make: %s", a.Status)
	}
	if a := s.post(page, url.Values{"decision": {"shout"}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("no decision: %s", a.Status)
	}
	if after := decide("refuse", ""); after != "/vex?refused=1" {
		t.Errorf("refused as a whole it leads to %s", after)
	}
	if a := s.post(page, url.Values{"decision": {"accept"}}); a.StatusCode != http.StatusNotFound {
		t.Errorf("accepted afterwards: %s", a.Status)
	}
	active := "/vex/" + first(s, "/vex?status=held", "/vex/")
	says(t, s.page(active), "It decided about <b>2</b> findings last", "Remove the document")
	if a := s.post(active+"/remove", nil); a.Header.Get("Location") != "/orgs/acme/vex?status=held&removed=2" {
		t.Errorf("removed: %s %s", a.Status, a.Header.Get("Location"))
	}
	if got := strings.Join(s.audited("vex.refuse"), ", "); got != "vex.refuse by user:ada, vex.refuse by user:ada" {
		t.Errorf("in the audit log: %q", got)
	}
}

// A viewer sees what is proposed and what it would change, and decides nothing.
func TestViewersDecideAboutNoProposal(t *testing.T) {
	s := newSite(t)
	s.supplyChain("CVE-2026-1")
	page := s.propose("urn:a", "CVE-2026-1")
	s.as(redoubt.RoleViewer)
	text := s.page(page)
	says(t, text, "triage of <b>1</b> finding;", "A triager accepts or refuses it")
	if strings.Contains(text, `name="decision"`) {
		t.Errorf("a viewer is offered to decide: %s", text)
	}
	if a := s.post(page, url.Values{"decision": {"accept"}}); a.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer decides: %s", a.Status)
	}
}

// Long lists have pages.
func TestListsOfDecisionsHavePages(t *testing.T) {
	s := newSite(t)
	s.supplyChain("CVE-2026-1")
	for i := range documentsPerPage + 1 {
		s.propose(fmt.Sprint("urn:", i), fmt.Sprint("CVE-2026-", i))
	}
	err := s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		for i := range exceptionsPerPage + 1 {
			if _, err := tx.InsertException(ctx, redoubt.Exception{Target: fmt.Sprint("rule-", i), Reason: "x", TriageReason: redoubt.AcceptableRisk, CreatedAt: tx.Now()}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	says(t, s.page("/vex"), "1–25 of 26", `href="/orgs/acme/vex?page=2&amp;status=proposed"`)
	says(t, s.page("/vex?page=2"), "26–26 of 26", "urn:25")
	says(t, s.page("/exceptions"), "1–50 of 51", `href="/orgs/acme/exceptions?page=2"`)
	says(t, s.page("/exceptions?page=2"), "51–51 of 51", "rule-50")
	says(t, s.page("/exceptions?page=9"), "Page 9 of 2", `rel="prev"`)
	if a := s.get("/exceptions?page=x"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("no page: %s", a.Status)
	}
}
