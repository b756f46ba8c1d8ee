package report_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report"
)

// TestForeignReports checks that unsupported reports are errors with the name of their format. They
// may be empty or share members with supported formats.
func TestForeignReports(t *testing.T) {
	for text, want := range map[string]string{
		`{"ok":true,"vulnerabilities":[],"dependencyCount":3}`:                                                                        "Snyk",
		`{"vulnerabilities":[{"id":"SNYK-1","identifiers":{"CVE":[]},"semver":{},"upgradePath":[]}],"ok":false}`:                      "Snyk",
		`[{"vulnerabilities":[],"ok":true},{"vulnerabilities":[],"ok":true}]`:                                                         "Snyk",
		`{"document":{"category":"csaf_vex","csaf_version":"2.0"},"product_tree":{},"vulnerabilities":[{"cve":"CVE-1"}]}`:             "CSAF",
		`{"document":{"csaf_version":"2.0"},"product_tree":{}}`:                                                                       "CSAF",
		`{"image":"a","unapproved":[],"vulnerabilities":[]}`:                                                                          "Clair",
		`{"imageDigest":"sha256:1","vulnerabilities":[],"vulnerability_type":"all"}`:                                                  "Anchore",
		`{"matches":[],"source":{},"distro":{},"descriptor":{"name":"xeol","version":"0.1"}}`:                                         "xeol",
		`{"matches":[{"Cycle":{},"artifact":{}}]}`:                                                                                    "xeol",
		`{"nodes":[],"services":[],"vulnerabilities":[]}`:                                                                             "kube-hunter",
		`{"pass":true,"vulnerabilities":[]}`:                                                                                          "mix_audit",
		`{"advisories":[],"abandoned":[]}`:                                                                                            "composer audit",
		`{"advisories":{"a/b":[{"advisoryId":"PKSA-1"}]}}`:                                                                            "composer audit",
		`{"database":{},"lockfile":{"dependency-count":1},"vulnerabilities":{"found":false,"count":0,"list":[]}}`:                     "cargo audit",
		`{"metadata":{"reportProperties":{}},"rules":[],"vulnerabilities":[]}`:                                                        "Xygeni",
		`{"host":"a","ip":"1","port":"80","banner":"","vulnerabilities":[]}`:                                                          "Nikto",
		`{"dawn_version":"1.6","vulnerabilities":[]}`:                                                                                 "Dawn",
		`{"generated_at":"","artifact":{},"scanner":{},"severity":"None","vulnerabilities":[]}`:                                       "Harbor",
		`{"vulnerabilities":[{"name":"CVE-1","library":{},"topFix":{}}]}`:                                                             "Mend",
		`{"@context":"https://spdx.org/rdf/3.0.1/spdx-context.jsonld","@graph":[]}`:                                                   "SPDX 3",
		`{"results":[{"id":"sha256:1","packages":[{"name":"a"}],"complianceDistribution":{}}]}`:                                       "Twistlock",
		`[{"SchemaVersion":"2018-10-08","ProductArn":"arn:aws:x","AwsAccountId":"1","Title":"a"}]`:                                    "Security Hub",
		`{"errors":[],"generated_at":"2026-01-01T00:00:00Z","metrics":{"_totals":{}},"results":[{"test_id":"B1","filename":"a.py"}]}`: "Bandit",
	} {
		_, err := report.Read(strings.NewReader(text), report.Options{Name: "report.json"})
		foreign, ok := errors.AsType[*report.ForeignError](err)
		if !ok || !strings.Contains(foreign.Format, want) {
			t.Errorf("%s: %v; want the format of %s", text, err, want)
		}
	}
}

// TestUnknownReports checks that ambiguous reports are errors that explain how to specify the
// format.
func TestUnknownReports(t *testing.T) {
	for _, text := range []string{
		`{}`, `null`, ``, ` `, `[{}]`, `[[]]`, `{"vulnerabilities":null}`, `{"vulnerabilities":[]}`, `{"vulnerabilities":{}}`, `{"matches":[]}`,
		`{"advisories":{}}`, `{"results":[]}`, `{"dependencies":[]}`, `{"SchemaVersion":"1"}`, `{"version":"1","vulnerabilities":[]}`,
		`{"vulnerabilities":[{"identifiers":{"CVE":[]}}]}`,
	} {
		reports, err := report.Read(strings.NewReader(text), report.Options{Name: "report.json"})
		if _, isFile := errors.AsType[*report.FileError](err); !isFile || !strings.Contains(err.Error(), "--format") {
			t.Errorf("%q was read as %v, %v", text, reports, err)
		}
	}
}

// TestEmptyReports checks that a supported report without items is a scan without findings.
func TestEmptyReports(t *testing.T) {
	for text, want := range map[string]string{
		"[]":   "gitleaks",
		"[]\n": "gitleaks",
		`{"version":"15.0.7","vulnerabilities":[],"scan":{"type":"sast","status":"success"}}`:        "gitlab",
		`{"version":"15.0.7","vulnerabilities":[],"scan":{"analyzer":{},"scanner":{"id":"bandit"}}}`: "bandit",
		`{"version":"2.3","vulnerabilities":[],"remediations":[]}`:                                   "gitlab",
		`{"matches":[],"source":{},"descriptor":{"name":"grype","version":"0.80"}}`:                  "grype",
		`{"auditReportVersion":2,"vulnerabilities":{},"metadata":{}}`:                                "npm-audit",
		`{"actions":[],"advisories":{},"muted":[],"metadata":{}}`:                                    "npm-audit",
		`{"advisories":{},"metadata":{"vulnerabilities":{"low":0}}}`:                                 "npm-audit",
		`{"type":"auditSummary","data":{"vulnerabilities":{}}}`:                                      "npm-audit",
		// Package names are members with arbitrary names.
		`{"auditReportVersion":2,"vulnerabilities":{"semver":{"name":"semver","via":[]},"found":{"via":[]},"list":{"via":[]},"upgradePath":{"via":[]}}}`: "npm-audit",
		`{"dependencies":[{"name":"a","skip_reason":"not on PyPI"},{"name":"b","version":"1","vulns":[]}],"fixes":[]}`:                                   "pip-audit",
		`{"runs":[{"tool":{"driver":{"name":"x"}},"results":[],"externalPropertyFileReferences":{"taxonomies":[{"guid":"a"}]}}]}`:                        "x",
		`{"scan_info":{"brakeman_version":"7.1.0"},"warnings":[],"ignored_warnings":[],"errors":[]}`:                                                     "brakeman",
		`{"dependencies":[],"fixes":[]}`:                                                              "pip-audit",
		`{"results":[],"experimental_config":{}}`:                                                     "osv-scanner",
		`{"SchemaVersion":2,"ArtifactName":"a","ArtifactType":"repository"}`:                          "trivy",
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x","rules":[]}},"results":[]}]}`:       "x",
		`{"errors":[],"results":[],"paths":{"scanned":[]},"skipped_rules":[],"version":"1.0"}`:        "semgrep",
		`{"config":{"protocol_version":"v1.0.0","scanner_name":"govulncheck","scan_level":"symbol"}}`: "govulncheck",
	} {
		reports, err := report.Read(strings.NewReader(text), report.Options{Name: "report.json"})
		if err != nil || len(reports) != 1 || !strings.EqualFold(reports[0].Tool, want) || len(reports[0].Results) > 0 {
			t.Errorf("%s: %v, %v; want an empty report of %s", text, reports, err, want)
		}
	}
}

// TestAllItemsRefused checks that a report is an error if all its items are refused.
func TestAllItemsRefused(t *testing.T) {
	item := `{"id":"1","identifiers":[],"location":{}}`
	good := `{"id":"2","identifiers":[{"type":"a","name":"a","value":"a"}],"location":{"file":"a.py"}}`
	gitlab := func(items string) string {
		return `{"version":"15.0.7","scan":{"type":"sast"},"vulnerabilities":[` + items + `]}`
	}
	for text, refused := range map[string]bool{
		gitlab(item): true, gitlab(item + "," + item): true, gitlab(item + "," + good): false, gitlab(good): false, gitlab(""): false,
		`{"results":[{"source":{"path":"a"},"packages":[{"package":{"name":"a","version":"1","ecosystem":"npm"},"vulnerabilities":[{"id":"GHSA-1"}]}]}]}`: false,
		`{"dependencies":[{"name":"a","skip_reason":"not on PyPI","vulns":[]}],"fixes":[]}`:                                                               true,
		`{"runs":[{"tool":{"driver":{"name":"x"}},"results":[],"externalPropertyFileReferences":{"results":[{"guid":"a"}]}}]}`:                            true,
		`{"bomFormat":"CycloneDX","specVersion":"1.5","components":[{"type":"library","name":"a"}]}`:                                                      true,
	} {
		reports, err := report.Read(strings.NewReader(text), report.Options{Name: "report.json"})
		if _, isFile := errors.AsType[*report.FileError](err); isFile != refused || err == nil && text != gitlab("") && len(reports[0].Results) == 0 {
			t.Errorf("%s: %v, %v; want refused %v", text, reports, err, refused)
		}
	}
	if _, err := report.Read(strings.NewReader("requests>=2\n"), report.Options{Name: "requirements.txt"}); err != nil {
		t.Errorf("a lockfile without a version: %v", err)
	}
}

// TestDetectLateIdentifyingMembers checks that the identifying members may follow after much
// other data.
func TestDetectLateIdentifyingMembers(t *testing.T) {
	const (
		grypeMatch   = `{"vulnerability":{"id":"CVE-1"},"matchDetails":[],"artifact":{"name":"a","version":"1","type":"npm"}}`
		semgrepError = `{"code":3,"level":"warn","type":["PartialParsing",[]],"message":"m","path":"a.py"}`
	)
	much := func(item string) string { return strings.Repeat(item+",", 1000) + item }
	for want, text := range map[string]string{
		"grype":   `{"matches":[],"ignoredMatches":[` + much(grypeMatch) + `],"descriptor":{"name":"grype"}}`,
		"semgrep": `{"version":"1.100.0","results":[],"errors":[` + much(semgrepError) + `],"paths":{"scanned":["a.py"]}}`,
	} {
		reports, err := report.Read(strings.NewReader(text), report.Options{Name: "report.json"})
		if err != nil || len(reports) != 1 || reports[0].Tool != want {
			t.Errorf("%s: %v, %v", want, reports, err)
		}
	}
}

// TestRunsOfOneSource checks that a run without valid results is an error, unless another run of
// the same source has results. Compilers write one run per project.
func TestRunsOfOneSource(t *testing.T) {
	run := func(tool, location string) string {
		return `{"tool":{"driver":{"name":"` + tool + `"}},"results":[{"ruleId":"a","message":{"text":"m"}` + location + `}]}`
	}
	nowhere, result := run("csc", ""), `,"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.cs"}}}]`
	for runs, ok := range map[string]bool{
		nowhere + "," + run("csc", result): true, run("csc", result) + "," + nowhere: true,
		nowhere + "," + run("other", result): false, nowhere + "," + nowhere: false,
	} {
		reports, err := report.Read(strings.NewReader(`{"version":"2.1.0","runs":[`+runs+`]}`), report.Options{Name: "report.sarif"})
		if (err == nil) != ok {
			t.Errorf("%s: %v", runs, err)
		}
		if ok && err == nil && (len(reports) != 1 || len(reports[0].Results) != 1 || reports[0].CountRefused() != 1) {
			t.Errorf("%s: %+v", runs, reports)
		}
	}
}
