package conformance

import (
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TestAdvisoriesRateUnratedFindings imports a scanner's report without a severity for a
// vulnerability that an advisory rates. The scanner's finding replaces that of the advisory and
// must have its severity, in lists and for the gate, also after repetitions.
func TestAdvisoriesRateUnratedFindings(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		rated := record{id: "GHSA-1111-1111-1111", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"}
		s.publish(t, rated)
		s.inventory(t, "main", "4.17.20")
		live := func() (list []string) {
			for _, f := range get[api.ListFindingsResponse](t, s, "findings?issue_type=sca&status=open").SCAFindings.Findings {
				list = append(list, fmt.Sprint(f.ID, " ", f.Ref, " ", f.Severity, " ", f.Unrated))
			}
			return list
		}
		wants(t, "the advisories'", live(), "1 refs/heads/main high false")
		wants(t, "the scanner's", []string{s.unratedScan(t, "main", "one")}, "1 0 0")
		wants(t, "it stands for the other", live(), "2 refs/heads/main high false")
		wants(t, "once more", []string{s.unratedScan(t, "main", "one")}, "0 0 1")
		wants(t, "as it was", live(), "2 refs/heads/main high false")
		wants(t, "in other words", []string{s.unratedScan(t, "main", "other")}, "0 1 0")
		wants(t, "still", live(), "2 refs/heads/main high false")

		s.condition(t, true, model.PolicyCondition{Mode: model.ModeBlock, Severity: model.SeverityHigh})
		s.inventory(t, "topic", "4.17.19")
		wants(t, "the gate", gateOf(s.checkUnratedGate(t, "topic", "4.17.19")), "lodash 4.17.19 block")

		rated.withdrawn = true
		s.publish(t, rated)
		s.unratedScan(t, "main", "new")
		wants(t, "withdrawn", live()[1:], "2 refs/heads/main medium true")
	})
}

// unratedScan imports a report without severities, and returns the numbers of new, changed and
// unchanged findings.
func (s *site) unratedScan(t *testing.T, ref, title string) string {
	t.Helper()
	i := s.unratedImport(t, ref, "4.17.20", title).Imports[0]
	return fmt.Sprint(i.New, " ", i.Changed, " ", i.Unchanged)
}

func (s *site) checkUnratedGate(t *testing.T, ref, version string) api.ImportGate {
	t.Helper()
	return s.unratedImport(t, ref, version, "one").Gate
}

func (s *site) unratedImport(t *testing.T, ref, version, title string) api.ImportResponse {
	t.Helper()
	s.clock.Advance(1e9)
	report := fmt.Sprintf(`{"SchemaVersion":2,"ArtifactName":".","Results":[{"Target":"package-lock.json","Class":"lang-pkgs","Type":"npm",
		"Vulnerabilities":[{"VulnerabilityID":"CVE-2021-23337","PkgName":"lodash","InstalledVersion":%q,"Severity":"UNKNOWN","Title":%q}]}]}`, version, title)
	body, media := form(t, map[string]string{"project": "acme/shop", "ref": ref, "full": "true"}, file{"trivy.json", []byte(report)})
	return read[api.ImportResponse](t, s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}}))
}
