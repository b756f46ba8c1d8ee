package conformance

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestUploadTokensCannotTriage uploads mutes and exemptions with an upload-only token: no open
// finding may close. With a token that may triage they apply, and later uploads with the first
// token do not revert them.
func TestUploadTokensCannotTriage(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		const (
			audit   = `{"dependencies": [{"name": "django", "version": "2.0", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-2026-1"], "fix_versions": ["3"], "description": "One."}]}]}`
			openVEX = `{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:acme", "version": %d, "statements": [
				{"vulnerability": {"name": "CVE-2026-1"}, "products": [{"@id": "pkg:pypi/django"}], "status": "not_affected", "justification": "component_not_present"}]}`
			cycloneDX = `{"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": "urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79", "version": 1,
				"vulnerabilities": [{"id": "CVE-2026-1", "analysis": {"state": "not_affected", "justification": "code_not_present"}, "affects": [{"ref": "pkg:pypi/django@2.0"}]}]}`
			sarif = `{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Bandit"}}, "results": [
				{"ruleId": "B1", "message": {"text": "one"}, "suppressions": [{"kind": "external", "status": "accepted"}], "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a.py"}, "region": {"startLine": 1, "snippet": {"text": "one()"}}}}]},
				{"ruleId": "B1", "message": {"text": "two"}, "suppressions": [{"kind": "inSource"}], "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a.py"}, "region": {"startLine": 2, "snippet": {"text": "two()"}}}}]}]}]}`
			grype = `{"matches": [], "ignoredMatches": [{"vulnerability": {"id": "CVE-2026-3", "severity": "High"}, "artifact": {"name": "flask", "version": "1.0", "type": "python", "purl": "pkg:pypi/flask@1.0", "locations": [{"path": "/requirements.txt"}]}}], "descriptor": {"name": "grype", "version": "0.90"}}`
		)
		triager := s.token
		ci := s.newToken(t, model.Token{Name: "uploads", Scopes: []model.Scope{model.ScopeCI}})
		as := func(token, file, body string) (note string, outcomes []string) {
			s.token = token
			got := s.imported(t, "project=acme/pay&ref=main&full=true&filename="+file, []byte(body))
			s.token = triager
			for _, v := range got.VEX {
				outcomes = append(outcomes, v.Outcome)
			}
			return got.Note, outcomes
		}
		count := func(status string) string {
			n := map[string]int{}
			for _, kind := range []string{"sca", "sast"} {
				text := string(s.send(t, request{method: "GET", path: "findings?issue_type=" + kind + "&status=" + status}).body)
				n[kind] = strings.Count(text, `"first_seen_scan_id"`)
			}
			return fmt.Sprint(n["sca"], " ", n["sast"])
		}
		expect := func(when, open, ignored string) {
			t.Helper()
			if got := [2]string{count("open"), count("ignored")}; got != [2]string{open, ignored} {
				t.Errorf("%s: sca and sast open are %s, ignored %s; want %s, %s", when, got[0], got[1], open, ignored)
			}
		}
		as(ci, "audit.json", audit)
		expect("at first", "1 0", "0 0")
		for i, c := range []struct{ file, body, open, ignored string }{
			{"a.openvex.json", fmt.Sprintf(openVEX, 1), "1 0", "0 0"},
			{"b.cdx.json", cycloneDX, "1 0", "0 0"},
			{"c.sarif", sarif, "1 1", "0 1"},
			{"d.json", grype, "2 1", "0 1"},
		} {
			note, outcomes := as(ci, c.file, c.body)
			if note == "" || i < 2 && fmt.Sprint(outcomes) != "[proposed]" {
				t.Errorf("%s returns %q, %v", c.file, note, outcomes)
			}
			expect(c.file, c.open, c.ignored)
		}

		_, outcomes := as(triager, "a.openvex.json", fmt.Sprintf(openVEX, 1))
		if fmt.Sprint(outcomes) != "[held]" {
			t.Errorf("by a triager: %v", outcomes)
		}
		as(triager, "c.sarif", sarif)
		as(triager, "d.json", grype)
		expect("by a triager", "0 0", "2 2")
		for _, version := range []int{1, 2} {
			as(ci, "a.openvex.json", strings.Replace(fmt.Sprintf(openVEX, version), "not_affected", map[int]string{1: "not_affected", 2: "affected"}[version], 1))
		}
		as(ci, "c.sarif", strings.Replace(sarif, `"two"`, `"two more"`, 1))
		expect("and what uploads alone say then", "0 0", "2 2")

		for _, e := range get[api.ListExceptionsResponse](t, s, "exceptions", url.Values{"state": {"requested"}, "kind": {"document"}}).Exceptions {
			body := object{"until": "2999-01-31"} // a document has no end
			refused(t, s.send(t, request{method: "POST", path: fmt.Sprintf("exceptions/%d/approve", e.ID), body: body}), 400, api.CodeInvalidArgument)
		}
		err := s.store.Update(t.Context(), s.deployment.ID, model.Actor{Kind: "user", ID: "1"}, func(ctx context.Context, tx *store.Tx) error {
			list, _, err := tx.ExceptionPage(ctx, store.ExceptionQuery{State: model.ExceptionRequested, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range list {
				if h.Document == nil || h.Target != "urn:acme" {
					continue
				}
				if got, err := exceptions.AcceptVEX(ctx, tx, h.ID); err != nil || got.Outcome != model.VEXActive {
					t.Errorf("accepted: %+v, %v", got, err)
				}
				if _, err := exceptions.AcceptVEX(ctx, tx, h.ID); err == nil {
					t.Error("accepted twice")
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		expect("accepted", "1 0", "1 2")
	})
}

// TestUploadsSucceedWithAnyProposals checks that an upload with too many proposals is accepted.
// It loses the proposal or replaces older ones, reports that, and still imports its findings.
func TestUploadsSucceedWithAnyProposals(t *testing.T) {
	s := newSite(t, "sqlite")
	s.token = s.newToken(t, model.Token{Name: "uploads", Scopes: []model.Scope{model.ScopeCI}})
	bom := func(n int) []byte {
		return fmt.Appendf(nil, `{"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": "urn:uuid:3e671687-395b-41f5-a30f-%012d", "version": 1, "components": [
			{"type": "library", "bom-ref": "c", "name": "a", "version": "1", "purl": "pkg:npm/a@1"}, {"type": "library", "name": "b", "version": "%d", "purl": "pkg:npm/b@%d"}],
			"vulnerabilities": [{"id": "CVE-2026-1", "analysis": {"state": "not_affected"}, "affects": [{"ref": "c"}]}]}`, n, n, n)
	}
	for i := range model.MaxVEXProposals + 1 {
		got := s.imported(t, fmt.Sprintf("project=acme/pay&ref=branch-%d", i), bom(i))
		if len(got.VEX) != 1 || got.VEX[0].Outcome != "proposed" || strings.Contains(got.Note, "1 older proposals") != (i == model.MaxVEXProposals) {
			t.Fatalf("upload %d: %+v, %q", i, got.VEX, got.Note)
		}
	}
	s.proposesTooManyAtOnce(t)
	statement := `{"vulnerability": {"name": "CVE-2026-1"}, "products": [{"@id": "pkg:npm/a"}], "status": "fixed"},`
	large := `{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:large", "version": 1, "statements": [` +
		strings.TrimSuffix(strings.Repeat(statement, model.MaxVEXProposedStatements+1), ",") + `]}`
	got, err := s.api().ImportReports(t.Context(), s.deployment.Slug, api.ImportQuery{Project: "acme/other", Ref: "main"},
		[]api.File{{Name: "large.json", Data: []byte(large)}, {Name: "bom.json", Data: bom(0)}})
	if err != nil || len(got.Imports) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, part := range got.Imports {
		switch {
		case part.Source != "vex" && (len(part.VEX) != 1 || part.New != 1 || part.Changes.Added != 2):
			t.Errorf("uploaded with it: %+v", part)
		case part.Source == "vex" && (len(part.VEX) != 0 || part.RefusedCount != 1 || !strings.Contains(part.Refused[0].Reason, "20001 statements")):
			t.Errorf("too many statements: %+v", part)
		}
	}
}

// proposesTooManyAtOnce uploads more documents than a project may propose, two of them with the
// same name. The response must contain exactly the stored ones.
func (s *site) proposesTooManyAtOnce(t *testing.T) {
	t.Helper()
	const more = 5
	var files []api.File
	for i := range model.MaxVEXProposals + more + 1 {
		name := fmt.Sprint("urn:", min(i, model.MaxVEXProposals+more-1))
		files = append(files, api.File{Name: fmt.Sprint(i, ".json"), Data: fmt.Appendf(nil, `{"@context": "https://openvex.dev/ns/v0.2.0", "@id": %q, "version": %d, "statements": [
			{"vulnerability": {"name": "CVE-2026-%d"}, "products": [{"@id": "pkg:npm/a"}], "status": "fixed"}]}`, name, i+1, i)})
	}
	got, err := s.api().ImportReports(t.Context(), s.deployment.Slug, api.ImportQuery{Project: "acme/many", Ref: "main"}, files)
	if err != nil || len(got.Imports) != 1 || len(got.Imports[0].VEX) != len(files) {
		t.Fatalf("%+v, %v", got, err)
	}
	part, stored, reported := got.Imports[0], map[string]bool{}, map[string]bool{}
	err = s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.VEXProposals(ctx, part.ProjectID)
		for _, h := range list {
			stored[fmt.Sprint(h.ID)] = true
		}
		return err
	})
	if err != nil || len(stored) != model.MaxVEXProposals {
		t.Fatalf("%d are stored, %v", len(stored), err)
	}
	dropped := 0
	for _, d := range part.VEX {
		switch {
		case d.Outcome == "dropped" && d.ID == "":
			dropped++
		case d.Outcome == "proposed" && stored[d.ID] && !reported[d.ID]:
			reported[d.ID] = true
		default:
			t.Errorf("of %d stored: %+v", len(stored), d)
		}
	}
	if len(reported) != len(stored) || dropped != more+1 || !strings.Contains(part.Note, " 6 ") {
		t.Errorf("%d are listed, %d dropped, %q", len(reported), dropped, part.Note)
	}
}

// proposalOnly returns the id of a proposed document without effect.
func (s *site) proposalOnly(t testing.TB, name string) (id string) {
	t.Helper()
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		projects, err := tx.Projects(ctx, store.ProjectQuery{})
		if err != nil || len(projects) == 0 {
			return fmt.Errorf("no project: %w", err)
		}
		receipt, err := exceptions.PutVEX(ctx, tx, model.VEXDocument{
			Name: "urn:" + name, Format: "OpenVEX", ProjectID: projects[0].ID, Proposed: true,
			Statements: []model.VEXStatement{{Names: []string{"CVE-1"}, Status: model.VEXFixed, Detail: name}},
		})
		id = itoa(receipt.Document.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}
