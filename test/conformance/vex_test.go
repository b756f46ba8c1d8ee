package conformance

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestVEX imports and exports documents over HTTP.
func TestVEX(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		const audit = `{"dependencies": [{"name": "django", "version": "2.0", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-2026-1"], "fix_versions": ["3"], "description": "One."}]}]}`
		s.imported(t, "project=acme/pay&ref=main&filename=audit.json", []byte(audit))
		got := s.imported(t, "project=acme/pay&ref=main", []byte(`{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:acme", "version": 1, "statements": [
			{"vulnerability": {"name": "CVE-2026-1"}, "products": [{"@id": "pkg:pypi/Django"}], "status": "not_affected", "justification": "component_not_present"},
			{"vulnerability": {"name": "CVE-2026-2"}, "status": "fixed"}]}`))
		if len(got.VEX) != 1 || got.VEX[0].ID == "" || len(got.Refused) != 1 || got.Refused[0].Item != "statements[1]" {
			t.Fatalf("the response is %+v", got)
		}
		got.VEX[0].ID = ""
		if want := (api.ImportVEX{Name: "urn:acme", Format: "OpenVEX", Outcome: "held", Statements: 1, Triaged: 1}); got.VEX[0] != want {
			t.Errorf("the document is %+v, want %+v", got.VEX[0], want)
		}
		ignored := s.send(t, request{method: "GET", path: "findings?issue_type=sca&status=ignored"})
		if text := string(ignored.body); !strings.Contains(text, `"triage_reason":"false_positive"`) || !strings.Contains(text, `"triage_comment":"component_not_present"`) {
			t.Errorf("the list has no ignored finding: %.400s", text)
		}

		document, media, err := s.api("").DownloadSBOM(t.Context(), s.exported(t, object{"formatVersion": object{"format": "SBOM_FORMAT_OPENVEX"}}))
		if err != nil || media != "application/json" || !strings.Contains(string(document), `"justification":"component_not_present"`) {
			t.Errorf("%v, %s: %.300s", err, media, document)
		}
	})
}

// vexDocument returns an OpenVEX document with one statement.
func vexDocument(name string) object {
	return object{"@context": "https://openvex.dev/ns/v0.2.0", "@id": name, "version": 1, "statements": []object{{
		"vulnerability": object{"name": "CVE-2026-1"}, "products": []object{{"@id": "pkg:pypi/Django"}}, "status": "fixed",
	}}}
}

// TestImportDocuments uploads documents for many projects.
func TestImportDocuments(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		const audit = `{"dependencies": [{"name": "django", "version": "2.0", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-2026-1"], "fix_versions": ["3"], "description": "One."}]}]}`
		s.imported(t, "project=acme/pay&ref=main&filename=audit.json", []byte(audit))
		const other = `{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "serialNumber": "urn:uuid:aaaaaaaa-0000-4000-8000-000000000001", "vulnerabilities": [
			{"id": "CVE-2026-2", "analysis": {"state": "in_triage"}, "affects": [{"ref": "pkg:pypi/flask"}]}]}`
		open := `{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:many", "version": 1, "statements": [
			{"vulnerability": {"name": "CVE-2026-1"}, "products": [{"@id": "pkg:pypi/Django"}], "status": "fixed"},
			{"vulnerability": {"name": "CVE-2026-2"}, "status": "fixed"}]}`
		files := []api.File{{Name: "a.json", Data: []byte(open)}, {Name: "b.json", Data: []byte(other)}}
		got, err := s.api().ImportDocuments(t.Context(), s.deployment.Slug, api.ImportDocumentsQuery{Projects: []string{"acme/*", "other/*"}}, files)
		if err != nil || len(got.Documents) != 2 || len(got.Refused) != 1 || got.Refused[0].Item != "a.json: statements[1]" {
			t.Fatalf("%+v, %v", got, err)
		}
		if d := got.Documents[0]; d.ID == "" || d.Name != "urn:many" || d.Format != "OpenVEX" || d.Outcome != "held" || d.Statements != 1 || d.Triaged != 1 {
			t.Errorf("the first document is %+v", d)
		}
		shown := get[api.ExceptionResponse](t, s, "exceptions/"+got.Documents[1].ID).Exception
		if shown.Document == nil || shown.Document.Format != "CycloneDX" || len(shown.Projects) != 2 || shown.State != "active" {
			t.Errorf("the second is stored as %+v", shown)
		}
		repeated := post[api.ImportDocumentsResponse](t, s, "exceptions/documents?projects=acme/*&projects=other/*", other)
		if len(repeated.Documents) != 1 || repeated.Documents[0].Outcome != "same" {
			t.Errorf("again: %+v", repeated)
		}
		csaf := `{"document":{"category":"csaf_vex","csaf_version":"2.0","title":"x"}}`
		for _, body := range []string{audit, csaf, "", `{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:bad", "version": 1, "statements": [{"vulnerability": {"name": "CVE-2026-2"}, "status": "fixed"}]}`} {
			if a := s.send(t, request{method: "POST", path: "exceptions/documents?filename=x.json", body: body}); a.status != 400 {
				t.Errorf("%.60s: %d %s", body, a.status, a.body)
			}
		}
		invalid(t, s.send(t, request{method: "POST", path: "exceptions/documents?projects=a%01", body: other}), "query.projects")
	})
}
