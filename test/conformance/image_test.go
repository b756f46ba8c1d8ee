package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
)

// imagePackage is a package in an image: of the operating system or of a lockfile.
type imagePackage struct{ name, version, cve, lockfile string }

// imageReports write the reports of scanners for an image.
var imageReports = map[string]func(image string, packages ...imagePackage) []byte{
	"trivy":  trivyImage,
	"grype":  grypeImage,
	"bom":    bomOfImage,
	"bomXML": bomOfImageXML,
}

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return text
}

func trivyImage(image string, packages ...imagePackage) []byte {
	results := []object{{"Target": image + " (debian 12.5)", "Class": "os-pkgs", "Type": "debian"}}
	for _, p := range packages {
		v := object{"VulnerabilityID": p.cve, "PkgName": p.name, "InstalledVersion": p.version, "Severity": "HIGH"}
		target := object{"Target": image + " (debian 12.5)", "Class": "os-pkgs", "Type": "debian"}
		if p.lockfile != "" {
			target = object{"Target": p.lockfile, "Class": "lang-pkgs", "Type": "npm"}
		}
		target["Vulnerabilities"] = []object{v}
		results = append(results, target)
	}
	return encoded(object{"SchemaVersion": 2, "ArtifactName": image, "ArtifactType": "container_image", "Results": results})
}

func grypeImage(image string, packages ...imagePackage) []byte {
	matches := []object{}
	for _, p := range packages {
		artifact := object{"name": p.name, "version": p.version, "type": "deb", "locations": []object{{"path": "/var/lib/dpkg/status"}}}
		if p.lockfile != "" {
			artifact["type"], artifact["locations"] = "npm", []object{{"path": "/" + p.lockfile}}
		}
		matches = append(matches, object{"vulnerability": object{"id": p.cve, "severity": "High"}, "artifact": artifact})
	}
	return encoded(object{
		"matches": matches, "source": object{"type": "image", "target": object{"userInput": image, "tags": []string{image}}},
		"descriptor": object{"name": "grype", "version": "0.100.0"},
	})
}

func bomOfImage(image string, packages ...imagePackage) []byte {
	components, vulnerabilities := []object{}, []object{}
	for _, p := range packages {
		ref := p.name + "@" + p.version
		c := object{"type": "library", "bom-ref": ref, "name": p.name, "version": p.version}
		if p.lockfile != "" {
			c["properties"] = []object{{"name": "syft:location:0:path", "value": "/" + p.lockfile}}
		}
		components = append(components, c)
		vulnerabilities = append(vulnerabilities, object{"id": p.cve, "ratings": []object{{"severity": "high"}}, "affects": []object{{"ref": ref}}})
	}
	name, version, _ := strings.Cut(image, "@")
	return encoded(object{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "components": components, "vulnerabilities": vulnerabilities,
		"metadata": object{
			"tools":     object{"components": []object{{"type": "application", "name": "syft"}}},
			"component": object{"type": "container", "bom-ref": "image", "name": name, "version": version},
		},
	})
}

func bomOfImageXML(image string, packages ...imagePackage) []byte {
	var components, vulnerabilities strings.Builder
	for _, p := range packages {
		fmt.Fprintf(&components, `<component type="library" bom-ref="%s"><name>%[1]s</name><version>%s</version>`, p.name, p.version)
		if p.lockfile != "" {
			fmt.Fprintf(&components, `<properties><property name="syft:location:0:path">/%s</property></properties>`, p.lockfile)
		}
		components.WriteString(`</component>`)
		fmt.Fprintf(&vulnerabilities, `<vulnerability><id>%s</id><ratings><rating><severity>high</severity></rating></ratings>`+
			`<affects><target><ref>%s</ref></target></affects></vulnerability>`, p.cve, p.name)
	}
	return fmt.Appendf(nil, `<bom xmlns="http://cyclonedx.org/schema/bom/1.6"><metadata><tools><tool><name>syft</name></tool></tools>`+
		`<component type="container" bom-ref="image"><name>%s</name></component></metadata><components>%s</components>`+
		`<vulnerabilities>%s</vulnerabilities></bom>`, image, &components, &vulnerabilities)
}

// importFiles imports files as the complete state of a ref of acme/shop; fields are added to the
// form.
func (s *site) importFiles(t testing.TB, fields map[string]string, files ...file) api.ImportResponse {
	t.Helper()
	s.clock.Advance(time.Second)
	all := map[string]string{"project": "acme/shop", "ref": "main", "full": "true"}
	maps.Copy(all, fields)
	body, media := form(t, all, files...)
	return read[api.ImportResponse](t, s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}}))
}

// placed lists the open supply-chain findings as "id package lockfile".
func (s *site) placed(t testing.TB) (out []string) {
	t.Helper()
	for _, f := range get[api.ListFindingsResponse](t, s, "findings?issue_type=sca&status=open&status=reviewing").SCAFindings.Findings {
		out = append(out, fmt.Sprintf("%d %s %s", f.ID, f.FoundDependency.Package, f.Location.FilePath))
	}
	slices.Sort(out)
	return out
}

var (
	opensslInImage = imagePackage{"openssl", "3.0.11", "CVE-2024-1", ""}
	zlibInImage    = imagePackage{"zlib1g", "1.2.13", "CVE-2023-2", ""}
	lodashInImage  = imagePackage{"lodash", "4.17.20", "CVE-2021-23337", "app/package-lock.json"}
)

// eachImageReport runs a test for each format on a new site of each engine.
func eachImageReport(t *testing.T, test func(t *testing.T, s *site, report func(image string, packages ...imagePackage) []byte)) {
	for name, report := range imageReports {
		t.Run(name, func(t *testing.T) { each(t, func(t *testing.T, s *site) { test(t, s, report) }) })
	}
}

// TestImageScanDoesNotFixOtherImages imports two images of a project, each as a full scan.
func TestImageScanDoesNotFixOtherImages(t *testing.T) {
	eachImageReport(t, func(t *testing.T, s *site, report func(string, ...imagePackage) []byte) {
		for _, fields := range []map[string]string{{"ref": "main"}, {"ref": "main", "category": "nightly"}} {
			s.importFiles(t, fields, file{"r.json", report("reg:5000/api:1", opensslInImage, lodashInImage)})
			before := s.placed(t)
			answer := s.importFiles(t, fields, file{"r.json", report("reg:5000/worker:1", opensslInImage)})
			after := s.placed(t)
			if i := answer.Imports[0]; i.New != 1 || i.Closed != 0 || len(i.Changes.LockfilesDropped) != 0 || len(after) != len(before)+1 {
				t.Errorf("%v: the second image: %+v; before %q, after %q", fields, i, before, after)
			}
			for _, row := range before {
				if !slices.Contains(after, row) {
					t.Errorf("%v: %q is gone: %q", fields, row, after)
				}
			}
			if len(s.placed(t)) < 3 {
				t.Fatalf("findings: %q", after)
			}
			locations := strings.Join(after, "\n")
			for _, location := range []string{" openssl reg:5000/api\n", " lodash reg:5000/api:/app/package-lock.json\n", " openssl reg:5000/worker"} {
				if !strings.Contains(locations+"\n", location) {
					t.Errorf("%v: no finding at %q:\n%s", fields, location, locations)
				}
			}
			for _, image := range []string{"api", "worker"} { // both become empty
				s.importFiles(t, fields, file{"r.json", report("reg:5000/" + image + ":2")})
			}
			wants(t, "after empty reports", s.placed(t))
		}
	})
}

// TestImageFindingsSurviveTagChange checks that findings and decisions of an image remain if its
// files have other names and its tag changes.
func TestImageFindingsSurviveTagChange(t *testing.T) {
	eachImageReport(t, func(t *testing.T, s *site, report func(string, ...imagePackage) []byte) {
		s.importFiles(t, nil, file{"a.json", report("reg/api:1", opensslInImage, zlibInImage, lodashInImage)})
		before := s.placed(t)
		if len(before) != 3 {
			t.Fatalf("findings: %q", before)
		}
		list := get[api.ListFindingsResponse](t, s, "findings?issue_type=sca").SCAFindings.Findings
		for _, f := range list {
			post[api.TriageResponse](t, s, "triage", object{"issue_type": "sca", "issue_ids": []int64{f.ID}, "new_triage_state": "reviewing"})
		}
		digest := "reg/api@sha256:" + strings.Repeat("ab", 32)
		for _, image := range []string{"reg/api:1", "reg/api:2-rc.1", "reg/api", digest} {
			answer := s.importFiles(t, nil, file{"b.json", report(image, opensslInImage, zlibInImage, lodashInImage)})
			if i := answer.Imports[0]; i.New+i.Closed != 0 {
				t.Errorf("%s: %+v", image, i)
			}
			wants(t, image, s.placed(t), before...)
		}
		s.importFiles(t, nil, file{"b.json", report("reg/api:3", opensslInImage, lodashInImage)})
		got := s.supply(t, "status=fixed")
		if len(got) != 1 || !strings.Contains(got[0], "zlib1g") {
			t.Errorf("fixed: %q", got)
		}
		for _, f := range get[api.ListFindingsResponse](t, s, "findings?issue_type=sca").SCAFindings.Findings {
			if f.TriageState != "reviewing" {
				t.Errorf("%s: %s", f.FoundDependency.Package, f.TriageState)
			}
		}
	})
}

// TestImagesInOneUpload imports two images together, then each alone.
func TestImagesInOneUpload(t *testing.T) {
	eachImageReport(t, func(t *testing.T, s *site, report func(string, ...imagePackage) []byte) {
		one, other := report("api:1", opensslInImage), report("worker:1", opensslInImage)
		if answer := s.importFiles(t, nil, file{"a.json", one}, file{"b.json", other}); len(answer.Imports) != 2 {
			t.Errorf("%d imports, want one for each image", len(answer.Imports))
		}
		both := s.placed(t)
		s.importFiles(t, nil, file{"c.json", one})
		s.importFiles(t, nil, file{"c.json", other})
		if got := s.placed(t); len(both) != 2 || !slices.Equal(got, both) {
			t.Errorf("together %q, alone %q", both, got)
		}
	})
}

// TestOlderReportOfOtherImageIsApplied imports an image that was scanned before another.
func TestOlderReportOfOtherImageIsApplied(t *testing.T) {
	s := newSite(t, "sqlite")
	at := func(report []byte, hour int) []byte {
		created := s.clock.Now().Add(-time.Duration(hour) * time.Hour).Format(time.RFC3339)
		return []byte(strings.Replace(string(report), `{`, fmt.Sprintf(`{"CreatedAt":%q,`, created), 1))
	}
	s.importFiles(t, nil, file{"a.json", at(trivyImage("api:1", opensslInImage), 1)})
	if i := s.importFiles(t, nil, file{"b.json", at(trivyImage("worker:1", opensslInImage), 2)}).Imports[0]; i.Outcome != "applied" || i.New != 1 {
		t.Errorf("%+v", i)
	}
}

// TestFileSystemScansAffectOnlyTheirSource imports a scan of a checkout and one of an image.
func TestFileSystemScansAffectOnlyTheirSource(t *testing.T) {
	s := newSite(t, "sqlite")
	fs := []byte(strings.Replace(string(trivyImage(".", lodashInImage)), "container_image", "filesystem", 1))
	if i := s.importFiles(t, nil, file{"fs.json", fs}).Imports[0]; i.Source != "trivy" {
		t.Errorf("source %s", i.Source)
	}
	before := s.placed(t)
	if len(before) != 1 || !strings.HasSuffix(before[0], " app/package-lock.json") {
		t.Fatalf("findings: %q", before)
	}
	s.importFiles(t, nil, file{"image.json", trivyImage("api:1", opensslInImage, lodashInImage)})
	s.importFiles(t, nil, file{"fs.json", fs})
	if got := s.placed(t); len(got) != 3 || !slices.Contains(got, before[0]) {
		t.Errorf("findings: %q", got)
	}
}

// TestCheckoutInventoryPreservesImageSBOM checks that a complete list of a checkout's lockfiles does
// not remove the SBOM of an image. The command redoubt ci sends such lists.
func TestCheckoutInventoryPreservesImageSBOM(t *testing.T) {
	lock := file{"package-lock.json", []byte(`{"lockfileVersion":3,"packages":{"":{"name":"shop"},"node_modules/a":{"version":"1.0.0"}}}`)}
	fields := map[string]string{"whole": "true", "full": "false", "commit": "1"}
	for name, bom := range map[string]func(string, ...imagePackage) []byte{"JSON": bomOfImage, "XML": bomOfImageXML} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.importFiles(t, nil, file{"image.json", bom("reg:5000/api:1", opensslInImage, lodashInImage)})
				s.importFiles(t, nil, file{"old/package-lock.json", lock.text})
				changes := s.importFiles(t, fields, lock).Imports[0].Changes
				wants(t, "dropped", changes.LockfilesDropped, "old/package-lock.json")
				if changes.Removed != 1 {
					t.Errorf("%d dependencies are removed, want that of the lockfile", changes.Removed)
				}
				answer := s.importFiles(t, nil, file{"image.json", bom("reg:5000/api:2", opensslInImage)})
				wants(t, "dropped by the next tag", answer.Imports[0].Changes.LockfilesDropped, "reg:5000/api:/app/package-lock.json")
			})
		})
	}
}
