package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// importBill imports a document as the complete inventory of a ref of acme/shop.
func (s *site) importBill(t testing.TB, ref string, doc []byte) api.ImportResponse {
	t.Helper()
	s.clock.Advance(time.Second)
	return read[api.ImportResponse](t, s.importing(t, "project=acme/shop&full=true&ref="+ref, doc))
}

// download exports the SBOM of a ref of acme/shop.
func (s *site) download(t testing.TB, ref string, format object) []byte {
	t.Helper()
	project, err := s.api().GetProject(t.Context(), s.deployment.Slug, "acme/shop")
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := s.api().DownloadSBOM(t.Context(), s.exported(t, object{"repositoryId": project.Project.ID, "ref": ref, "formatVersion": format}))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// belittled matches the severities in a document.
var belittled = regexp.MustCompile(`"(severity)": ?"[a-z]+"`)

// TestOwnSBOMsAreGatedLikeLockfiles imports the exported SBOM of one branch on another branch. The
// gate must return the same result as for the lockfile, also for a repetition, and list each
// finding once.
func TestOwnSBOMsAreGatedLikeLockfiles(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"}, record{id: "MAL-2024-1", name: "left-pad"})
		s.depend(t, "main", "4.17.21")
		s.depend(t, "lock", "4.17.20")
		for i, c := range []model.PolicyCondition{
			{Malicious: true}, {Reachable: true}, {Fixable: true}, {Direct: true}, {Severity: model.SeverityHigh}, {Severity: model.SeverityCritical}, {GraceDays: 1, Severity: model.SeverityLow},
		} {
			c.Mode = model.ModeBlock
			s.condition(t, false, c)
			want := gateOf(s.depend(t, fmt.Sprint("lock", i), "4.17.20"))
			for _, format := range []object{{"format": "SBOM_FORMAT_CYCLONEDX", "version": "1.6"}, {"format": "SBOM_FORMAT_SPDX", "version": "2.3"}} {
				ref := fmt.Sprint("bill", i, format["version"])
				doc := s.download(t, "lock", format)
				if format["version"] == "1.6" { // lowered severities in the document: those of the advisories apply
					doc = belittled.ReplaceAll(doc, []byte(`"${1}": "low"`))
				}
				for _, what := range []string{"first", "again"} {
					got := s.importBill(t, ref, doc).Gate
					if diff := cmp.Diff(want, gateOf(got)); diff != "" {
						t.Errorf("%s, %s %s (-lockfile +bill):\n%s", &c, format["format"], what, diff)
					}
					for _, item := range slices.Concat(got.Blocking, got.Noted) {
						if item.FindingID == 0 {
							t.Errorf("%s, %s %s: the blocking finding is missing: %+v", &c, format["format"], what, item)
						}
					}
				}
			}
		}
	})
}

// TestVEXDoesNotChangeInventory checks that documents with vulnerabilities only do not change the
// inventory.
func TestVEXDoesNotChangeInventory(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"})
		s.depend(t, "main", "4.17.20")
		dependencies := func() (list []string) {
			page := post[api.ListDependenciesResponse](t, s, "dependencies", object{"pageSize": 100})
			for _, d := range page.Dependencies {
				list = append(list, d.Name+" "+d.LockfilePath)
			}
			return list
		}
		before := dependencies()
		if len(before) != 2 {
			t.Fatalf("stored: %v", before)
		}
		const vulnerabilities = `"vulnerabilities":[{"id":"CVE-2021-23337","analysis":{"state":"not_affected","justification":"code_not_reachable"},"affects":[{"ref":%q}]}]`
		for name, doc := range map[string]string{
			"no components":      `{"bomFormat":"CycloneDX","specVersion":"1.6",` + fmt.Sprintf(vulnerabilities, "pkg:npm/lodash@4.17.20") + `}`,
			"an empty list":      `{"bomFormat":"CycloneDX","specVersion":"1.6","components":[],` + fmt.Sprintf(vulnerabilities, "pkg:npm/lodash@4.17.20") + `}`,
			"only its own":       `{"bomFormat":"CycloneDX","specVersion":"1.6","components":[{"type":"library","bom-ref":"l","name":"lodash","version":"4.17.20","purl":"pkg:npm/lodash@4.17.20"}],` + fmt.Sprintf(vulnerabilities, "l") + `}`,
			"written by Redoubt": `{"bomFormat":"CycloneDX","specVersion":"1.6","metadata":{"tools":{"components":[{"type":"application","name":"redoubt"}]}},` + fmt.Sprintf(vulnerabilities, "pkg:npm/lodash@4.17.20") + `}`,
		} {
			answer := s.importBill(t, "main", []byte(doc))
			if diff := cmp.Diff(before, dependencies()); diff != "" {
				t.Errorf("%s (-before +after):\n%s", name, diff)
			}
			for _, i := range answer.Imports {
				if i.Changes.Lockfiles+i.Changes.Added+i.Changes.Removed+len(i.Changes.LockfilesDropped)+i.New+i.Closed+i.Removed != 0 {
					t.Errorf("%s: %+v", name, i)
				}
			}
		}
	})
}
