package sbom

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

var update = flag.Bool("update", false, "update the golden files")

// sample returns a project that covers all members.
func sample() Content {
	score := model.EPSS{Score: 0.97, Percentile: 0.999}
	return Content{
		Created: time.Date(2026, 3, 1, 12, 30, 0, 0, time.FixedZone("", 3600)),
		Serial:  "urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79",
		Tool:    "1.2.0", Deployment: "Acme",
		Projects: []Project{{
			Name: "acme/payments", URL: "https://token@git.example.com/acme/payments", Ref: "refs/heads/main",
			Commit: "5a1dc6c84b8eb10accdeeaf62961208035f16e95",
			Dependencies: []model.Dependency{
				{
					ID: 1, Lockfile: "web/package-lock.json", Ecosystem: "npm", Name: "@babel/core", Version: "7.24.0", Transitivity: model.Direct, Line: 12, Supplier: "The Babel Team",
					Licenses: []string{"mit"}, Hashes: []model.Hash{
						{Algorithm: "sha256", Hex: strings.Repeat("AB", 32)},
						{Algorithm: "SHA-512", Hex: "cut"},
						{Algorithm: "SHA-224", Hex: strings.Repeat("01", 28)},
					},
				},
				{ID: 2, Lockfile: "web/package-lock.json", Ecosystem: "npm", Name: "lodash", Version: "4.17.20", Transitivity: model.Transitive, Licenses: []string{"MIT"}},
				{ID: 3, Lockfile: "admin/package-lock.json", Ecosystem: "npm", Name: "lodash", Version: "4.17.20", Transitivity: model.Direct, Licenses: []string{"MIT", "(mit or Apache-2.0)"}},
				{ID: 4, Lockfile: "go.mod", Ecosystem: "gomod", Name: "github.com/gorilla/mux", Version: "1.8.1", Transitivity: model.Direct, Supplier: "Person: Jane Doe (jane@example.com)", Licenses: []string{"BSD-3-Clause"}},
				{ID: 5, Lockfile: "requirements.txt", Ecosystem: "pypi", Name: "Zope.Interface", Version: "6.2", Transitivity: model.TransitivityUnknown, Licenses: []string{"ZPL 2.1, see file", "MIT"}},
				{ID: 6, Lockfile: "pom.xml", Ecosystem: "maven", Name: "org.apache.logging.log4j:log4j-core", Version: "2.14.1", Transitivity: model.Direct, PURL: "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1?type=jar", Licenses: []string{"Apache-2.0 OR LicenseRef-acme"}},
				{ID: 7, Lockfile: "vendor.txt", Ecosystem: "in-house", Name: "parser", Version: "3", Transitivity: model.Direct},
				// In admin, @babel/core does not require lodash and requires semver.
				{ID: 8, Lockfile: "web/package-lock.json", Ecosystem: "npm", Name: "semver", Version: "6.3.1", Transitivity: model.Transitive, Line: 40},
				{ID: 9, Lockfile: "admin/package-lock.json", Ecosystem: "npm", Name: "@babel/core", Version: "7.24.0", Transitivity: model.Transitive},
				{ID: 10, Lockfile: "admin/package-lock.json", Ecosystem: "npm", Name: "semver", Version: "6.3.1", Transitivity: model.Transitive},
			},
			Edges: []model.DependencyEdge{{From: 1, To: 2}, {From: 1, To: 8}, {From: 9, To: 10}},
			Vulnerabilities: []Vulnerability{
				{
					ID: "CVE-2021-44228", Triage: model.VEXTriage{State: model.TriageFixing}, Severity: model.SeverityCritical, Reachability: model.Reachable,
					EPSS: &score, CWEs: []string{"CWE-502: Deserialization of Untrusted Data", "CWE-20"},
					Description: "Log4j looks names up over JNDI.", References: []string{"https://logging.apache.org/log4j/2.x/security.html", "javascript:alert(1)"},
					Fixes:     []model.Fix{{Package: "org.apache.logging.log4j:log4j-core", Version: "2.17.1"}},
					Ecosystem: "maven", Package: "org.apache.logging.log4j:log4j-core", Version: "2.14.1", Lockfile: "pom.xml",
				},
				{
					ID: "GHSA-35jh-r3h4-6jhm", Triage: model.VEXTriage{State: model.TriageReviewing}, Severity: model.SeverityHigh, Reachability: model.Unreachable,
					Ecosystem: "npm", Package: "lodash", Version: "4.17.20", Lockfile: "web/package-lock.json",
				},
				{
					ID: "CVE-2020-28500", Triage: model.VEXTriage{State: model.TriageFixing}, Severity: model.SeverityMedium, Reachability: model.Unreachable,
					Fixes:     []model.Fix{{Package: "lodash", Version: "4.17.21"}},
					Ecosystem: "npm", Package: "lodash", Version: "4.17.20", Lockfile: "web/package-lock.json",
				},
				{
					ID: "MAL-2024-1", Severity: model.SeverityCritical, Reachability: model.AlwaysReachable, Malicious: true,
					Ecosystem: "npm", Package: "lodahs", Version: "1.0.0", Lockfile: "web/package-lock.json", Transitivity: model.Transitive,
				},
				{
					ID: "CVE-2021-23337", Severity: model.SeverityHigh, DecidedAt: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
					Triage:    model.VEXTriage{State: model.TriageIgnored, Reason: model.FalsePositive, Comment: "vulnerable_code_not_in_execute_path: Templates are never made of input."},
					Ecosystem: "npm", Package: "lodash", Version: "4.17.20", Lockfile: "web/package-lock.json",
				},
				{
					ID: "CVE-2025-27789", Triage: model.VEXTriage{State: model.TriageIgnored, Reason: model.AcceptableRisk, Comment: "Runs in builds only."}, Severity: model.SeverityMedium,
					Ecosystem: "npm", Package: "@babel/core", Version: "7.24.0", Lockfile: "web/package-lock.json",
				},
				{
					ID: "CVE-2024-9", Triage: model.VEXTriage{State: model.TriageIgnored, Reason: model.FalsePositive}, Severity: model.SeverityLow,
					Ecosystem: "pypi", Package: "Zope.Interface", Version: "6.2", Lockfile: "requirements.txt",
				},
			},
		}},
	}
}

func sampleRequest(output string) model.SBOMRequest {
	r := request(output)
	r.ComponentType = "platform"
	r.Supplier.Name, r.Supplier.URL = "Acme", "https://acme.example.com"
	r.Supplier.Contact.Name, r.Supplier.Contact.Email, r.Supplier.Contact.Phone = "Jane Doe", "jane@acme.example.com", "+1 555 0100"
	return r
}

func TestGolden(t *testing.T) {
	for _, output := range append(append([]string{vexOutput}, jsonOutputs...), xmlOutputs...) {
		t.Run(output, func(t *testing.T) {
			doc := write(t, sampleRequest(output), sample())
			if strings.HasSuffix(output, "xml") {
				checkXML(t, output, doc)
			} else if err := checkJSON(output, doc); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.ReplaceAll(output, " ", "-"), doc)
		})
	}
}

func TestGoldenDeployment(t *testing.T) {
	c := sample()
	c.Deployment = "acme"
	c.Projects = append(c.Projects, Project{
		Name: "acme/tools", Ref: "refs/heads/trunk",
		Dependencies: []model.Dependency{{Lockfile: "package-lock.json", Ecosystem: "npm", Name: "lodash", Version: "4.17.20", Transitivity: model.Direct}},
	})
	for _, output := range []string{vexOutput, "cyclonedx 1.5 json", "spdx 2.3 json"} {
		t.Run(output, func(t *testing.T) {
			r := sampleRequest(output)
			r.ProjectID = 0
			doc := write(t, r, c)
			if err := checkJSON(output, doc); err != nil {
				t.Fatal(err)
			}
			golden(t, "deployment-"+strings.ReplaceAll(output, " ", "-"), doc)
		})
	}
}

// golden compares a document with a golden file. The file has one member per line for readable
// differences.
func golden(t *testing.T, name string, doc []byte) {
	t.Helper()
	name, format := name[:strings.LastIndex(name, "-")], name[strings.LastIndex(name, "-")+1:]
	path := filepath.Join("testdata", "golden", name+"."+format)
	var lines bytes.Buffer
	if format == "xml" {
		lines.Write(bytes.ReplaceAll(doc, []byte("><"), []byte(">\n<")))
		lines.WriteByte('\n')
	} else if err := json.Indent(&lines, doc, "", "  "); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, lines.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with go test -run %s -update", err, t.Name())
	}
	if diff := cmp.Diff(string(want), lines.String()); diff != "" {
		t.Errorf("%s differs (-golden +got); -update writes it again:\n%s", path, diff)
	}
}
