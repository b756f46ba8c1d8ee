package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// dependenciesOf returns the dependencies of a project as lines.
func (s *site) dependenciesOf(t testing.TB, project string) (list []string) {
	t.Helper()
	found, err := s.api().GetProject(t.Context(), s.deployment.Slug, project)
	if err != nil {
		t.Fatal(err)
	}
	page := post[api.ListDependenciesResponse](t, s, "dependencies", object{"pageSize": 100, "dependencyFilter": object{"repositoryId": []any{found.Project.ID}}})
	for _, d := range page.Dependencies {
		list = append(list, fmt.Sprintf("%s %s@%s %s %s", d.LockfilePath, d.Name, d.Version, d.Ecosystem, d.Transitivity))
	}
	slices.Sort(list)
	return list
}

// supplyChainOf returns the supply-chain findings of a project in all states as lines.
func (s *site) supplyChainOf(t testing.TB, project string, ids bool) (list []string) {
	t.Helper()
	for _, f := range get[api.ListFindingsResponse](t, s, "findings?issue_type=sca&repos="+project).SCAFindings.Findings {
		line := fmt.Sprintf("%s %s %s %s", *f.VulnerabilityIdentifier, f.FoundDependency.Package, f.Status, f.TriageState)
		if ids {
			line = fmt.Sprintf("%d %s", f.ID, line)
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}

// TestExportedSBOMImportsAsInventory exports a project and imports the document twice. Nothing
// must change in the same project; a new project gets the same dependencies and the findings of
// advisories only.
func TestExportedSBOMImportsAsInventory(t *testing.T) {
	const audit = `{"dependencies": [{"name": "django", "version": "2.0", "vulns": [{"id": "CVE-2026-1", "fix_versions": ["3"], "description": "One."}]}]}`
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"})
		s.depend(t, "main", "4.17.20")
		s.imported(t, "project=acme/shop&ref=main&filename=audit.json", []byte(audit))
		findings := s.supplyChainOf(t, "acme/shop", true)
		dependencies := s.dependenciesOf(t, "acme/shop")
		if len(findings) != 2 || len(dependencies) != 2 {
			t.Fatalf("%d findings, %d dependencies", len(findings), len(dependencies))
		}
		var ignored api.Int
		if _, err := fmt.Sscan(findings[0], &ignored); err != nil {
			t.Fatal(err)
		}
		post[api.TriageResponse](t, s, "triage", object{"issue_type": "sca", "issue_ids": []any{ignored}, "new_triage_state": "ignored", "new_triage_reason": "acceptable_risk"})
		findings = s.supplyChainOf(t, "acme/shop", true)
		for i, c := range []struct {
			format object
			note   string
		}{
			{object{"format": "SBOM_FORMAT_CYCLONEDX", "version": "1.6"}, "Skipped vulnerabilities: 2."},
			{object{"format": "SBOM_FORMAT_CYCLONEDX", "version": "1.4"}, "Skipped vulnerabilities: 2."},
			{object{"format": "SBOM_FORMAT_SPDX", "version": "2.3"}, ""},
		} {
			doc := s.download(t, "main", c.format)
			for _, project := range []string{"acme/shop", "acme/shop", fmt.Sprint("acme/copy", i), fmt.Sprint("acme/copy", i)} {
				answer := s.imported(t, "full=true&ref=main&project="+project, doc)
				if !strings.Contains(answer.Note, c.note) || (c.note == "") != (answer.Note == "") || len(answer.Refused) != 0 || len(answer.VEX) != 0 || answer.New != 0 {
					t.Errorf("%v into %s: %+v", c.format, project, answer)
				}
				if diff := cmp.Diff(dependencies, s.dependenciesOf(t, project)); diff != "" {
					t.Errorf("%v into %s: dependencies (-before +after):\n%s", c.format, project, diff)
				}
				got, want := s.supplyChainOf(t, project, project == "acme/shop"), findings
				if project != "acme/shop" {
					want = []string{"CVE-2021-23337 lodash open untriaged"}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v into %s: findings (-want +got):\n%s", c.format, project, diff)
				}
			}
		}
	})
}
