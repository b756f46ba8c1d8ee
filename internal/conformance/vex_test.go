package conformance

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestVEX hands documents in and out over HTTP.
func TestVEX(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		const audit = `{"dependencies": [{"name": "django", "version": "2.0", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-2026-1"], "fix_versions": ["3"], "description": "One."}]}]}`
		s.imported(t, "project=acme/pay&ref=main&filename=audit.json", []byte(audit))
		got := s.imported(t, "project=acme/pay&ref=main", []byte(`{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:acme", "version": 1, "statements": [
			{"vulnerability": {"name": "CVE-2026-1"}, "products": [{"@id": "pkg:pypi/Django"}], "status": "not_affected", "justification": "component_not_present"},
			{"vulnerability": {"name": "CVE-2026-2"}, "status": "fixed"}]}`))
		if len(got.VEX) != 1 || got.VEX[0].ID == "" || len(got.Refused) != 1 || got.Refused[0].Item != "statements[1]" {
			t.Fatalf("the answer is %+v", got)
		}
		got.VEX[0].ID = ""
		if want := (api.ImportVEX{Name: "urn:acme", Outcome: "held", Statements: 1, Triaged: 1}); got.VEX[0] != want {
			t.Errorf("the document is %+v, want %+v", got.VEX[0], want)
		}
		ignored := s.send(t, request{method: "GET", path: "findings?issue_type=sca&status=ignored"})
		if text := string(ignored.body); !strings.Contains(text, `"triage_reason":"false_positive"`) || !strings.Contains(text, `"triage_comment":"component_not_present"`) {
			t.Errorf("no finding is ignored for it: %.400s", text)
		}

		document, media, err := s.api("").DownloadSBOM(t.Context(), s.exported(t, object{"formatVersion": object{"format": "SBOM_FORMAT_OPENVEX"}}))
		if err != nil || media != "application/json" || !strings.Contains(string(document), `"justification":"component_not_present"`) {
			t.Errorf("%v, %s: %.300s", err, media, document)
		}
	})
}
