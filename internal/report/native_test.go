package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
	"github.com/redoubt/redoubt/internal/report/tools"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// readData reads a file of testdata.
func readData(t *testing.T, name string) *model.Report {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return readOne(t, filepath.Base(name), string(data))
}

// TestGitleaksSARIFMatchesJSON checks that both formats of a scan result in the same findings. Findings must
// persist if the format is changed.
func TestGitleaksSARIFMatchesJSON(t *testing.T) {
	for _, name := range []string{"real/gitleaks-history", "real/gitleaks-redacted"} {
		native, sarif := readData(t, name+".json"), readData(t, name+".sarif")
		if len(native.Results) < 3 {
			t.Fatalf("%s: %d results", name, len(native.Results))
		}
		described := map[string]model.Rule{}
		for _, rule := range sarif.Rules {
			described[rule.Name] = *rule
		}
		for _, rule := range native.Rules {
			if diff := cmp.Diff(described[rule.Name], *rule); diff != "" {
				t.Errorf("%s: rule %s (-SARIF +JSON)\n%s", name, rule.Name, diff)
			}
		}
		facts := func(r *model.Report) map[string]model.SecretMatch {
			all := map[string]model.SecretMatch{}
			for _, res := range r.Results {
				all[res.Rule.Name+" "+res.Path+" "+res.Message+" "+res.Severity.String()] = *res.Secret
			}
			return all
		}
		if diff := cmp.Diff(facts(sarif), facts(native)); diff != "" {
			t.Errorf("%s (-SARIF +JSON)\n%s", name, diff)
		}
	}
}

// TestNPMAuditFailures checks that failed or truncated audits are errors, and not reports without
// findings.
func TestNPMAuditFailures(t *testing.T) {
	for input, want := range map[string]string{
		`{"error":{"code":"ENOLOCK","summary":"This command requires an existing lockfile."}}`: "the audit failed: ENOLOCK This command",
		`{"message":"request to the registry failed"}`:                                         "neither vulnerabilities nor advisories",
		`{"type":"auditAdvisory","data":{"advisory":{}}}`:                                      "auditSummary",
		`{"auditReportVersion":2,"vulnerabilities":{`:                                          "ends too early",
	} {
		if _, err := Read(strings.NewReader(input), format.Options{Name: "x", Format: format.NPMAuditJSON}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", input, err, want)
		}
	}
	if got := readOne(t, "x", `{"auditReportVersion":2,"vulnerabilities":{},"metadata":{}}`); len(got.Results) != 0 || got.Products.Names()[0] != "sca" {
		t.Errorf("%+v", got)
	}
}

// TestSecretHashIsEqualAcrossTools checks that a secret has the same keyed hash in reports of all tools.
func TestSecretHashIsEqualAcrossTools(t *testing.T) {
	hashes := map[model.Digest][]string{}
	for _, name := range []string{"real/gitleaks-history.json", "native/trufflehog.jsonl", "native/gl-secret-detection-report.json"} {
		for _, res := range readData(t, name).Results {
			if res.Path == "config/processor.yaml" {
				hashes[res.Secret.Hash] = append(hashes[res.Secret.Hash], name)
			}
		}
	}
	if len(hashes) != 2 {
		t.Fatalf("%d secrets, want 2: %v", len(hashes), hashes)
	}
	for hash, tools := range hashes {
		if len(tools) != 3 || hash == (model.Digest{}) {
			t.Errorf("%x is reported by %v, want by all three", hash, tools)
		}
	}
}

// TestNativeSecretsAreRemoved checks that secrets are removed from all members of a report.
func TestNativeSecretsAreRemoved(t *testing.T) {
	const secret = "fakeK7pl3s8Zq2vN5xR1"
	for name, file := range map[string]string{
		"gitleaks": `[{"RuleID":"a","Description":"is ` + secret + `","File":"a/` + secret + `","Secret":"` + secret + `","Match":"k=` + secret + `"},
			{"RuleID":"","File":"b","Secret":"` + secret + `"},{"RuleID":"b ` + secret + `","File":"../` + secret + `"}]`,
		"trufflehog": `{"SourceMetadata":{"Data":{"Git":{"file":"a","commit":"` + secret + `"}}},"DetectorName":"A","Raw":"x","RawV2":"` + secret + `","DetectorDescription":"` + secret + `"}`,
		"gitlab": `{"vulnerabilities":[{"description":"` + secret + `","message":"` + secret + `","raw_source_code_extract":"` + secret + `",
			"location":{"file":"` + secret + `"},"identifiers":[{"type":"x","value":"r-` + secret + `","url":"https://x.example/` + secret + `"}]}],"scan":{"type":"secret_detection"}}`,
		"brakeman": `{"scan_info":{"brakeman_version":"7"},"warnings":[{"warning_code":9,"check_name":"BasicAuth","message":"` + secret + `",
			"file":"a/` + secret + `","code":"` + secret + `"}],"errors":[{"error":"` + secret + ` Could not parse a/` + secret + `"}]}`,
		"trivy": `{"SchemaVersion":2,"Results":[{"Target":"a","Secrets":[{"RuleID":"r","Title":"` + secret + `","Match":"` + secret + `"}]}]}`,
	} {
		if got := reporttest.Dump(readText(t, name, file)); strings.Contains(got, secret) || !strings.Contains(got, secrets.Redacted) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// TestTruncatedStreams checks that streams truncated within a message are errors. An empty file of a
// given format is a scan without findings.
func TestTruncatedStreams(t *testing.T) {
	for _, text := range []string{`{"DetectorName":"A"}` + "\n" + `{"Det`, `{"DetectorName":"A"}]`, `{"DetectorName":"A"}}`, `{"DetectorName":"A"} x`} {
		if _, err := Read(strings.NewReader(text), format.Options{Format: format.TruffleHogJSON}); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	reports, err := Read(strings.NewReader(""), format.Options{Format: format.TruffleHogJSON})
	if err != nil || len(reports) != 1 || !reports[0].Products.Has(model.Secrets) {
		t.Errorf("an empty file gave %v, %v", reports, err)
	}
	for as, text := range map[format.Format]string{format.GovulncheckJSON: `{"progress":{}}`, format.GitLabJSON: `{"version":"15"}`} {
		if _, err := Read(strings.NewReader(text), format.Options{Format: as}); err == nil {
			t.Errorf("%s: %q gave %v", as, text, err)
		}
	}
}

// TestNativeReportsWithoutFindings checks the products of scans without findings.
func TestNativeReportsWithoutFindings(t *testing.T) {
	for _, test := range []struct {
		as   format.Format
		text string
		want model.IssueType
	}{
		{format.GitleaksJSON, `[]`, model.Secrets},
		{format.GitLabJSON, `{"vulnerabilities":[],"scan":{"type":"dependency_scanning"}}`, model.SCA},
		{format.GitLabJSON, `{"vulnerabilities":null}`, model.SAST},
		{format.TrivyJSON, `{"SchemaVersion":2}`, model.SCA},
		{format.TrivyJSON, `{"Results":[{"Target":"a","Class":"config"}]}`, model.SAST},
		{format.GrypeJSON, `{"matches":null}`, model.SCA},
		{format.GovulncheckJSON, `{"config":{"protocol_version":"v1"}}`, model.SCA},
		{format.BrakemanJSON, `{"warnings":[]}`, model.SAST},
	} {
		reports, err := Read(strings.NewReader(test.text), format.Options{Name: "x", Format: test.as})
		if err != nil || reports[0].Products != model.Products(0).With(test.want) || len(reports[0].Results) != 0 {
			t.Errorf("%s %s: %v, %v", test.as, test.text, reports, err)
		}
	}
}

// TestBrakemanErrors checks that a file with an error is skipped. An error without a file marks the
// run as failed.
func TestBrakemanErrors(t *testing.T) {
	report := func(err string) *model.Report {
		return readOne(t, "x", `{"scan_info":{"brakeman_version":"7.1.0","app_path":"/app"},"warnings":[],"errors":[{"error":"`+err+`"}]}`)
	}
	for _, err := range []string{
		"lib/a.rb:7 :: parse error Could not parse lib/a.rb", "/app/lib/a.rb:7 :: parse error Could not parse /app/lib/a.rb",
		"undefined method While processing lib/a.rb", "Parsing lib/a.rb took too long (> 10 seconds).",
	} {
		if got := report(err); got.Failed || len(got.Skipped) != 1 || got.Skipped[0] != "lib/a.rb" {
			t.Errorf("%s: failed %v, skipped %v", err, got.Failed, got.Skipped)
		}
	}
	for _, err := range []string{"undefined method", "parse error Could not parse /elsewhere/a.rb"} {
		if got := report(err); !got.Failed || len(got.Skipped)+len(got.Gaps) != 0 {
			t.Errorf("%s: failed %v, skipped %v", err, got.Failed, got.Skipped)
		}
	}
}

// TestEcosystemOf checks the scanners' names of ecosystems.
func TestEcosystemOf(t *testing.T) {
	for _, test := range []struct{ kind, lockfile, want string }{
		{"npm", "", "npm"},
		{"PyPI", "", "pypi"},
		{"java-archive", "", "maven"},
		{"Debian:12", "", "debian"},
		{"", "a/go.mod", "gomod"},
		{"strange", "go.mod", "gomod"},
		{"Alpine Linux", "", "alpine-linux"},
		{"", "", "generic"},
		{"Hex", "", "mix"},
	} {
		if got := tools.EcosystemOf(read.Text(test.kind), test.lockfile); got != test.want {
			t.Errorf("%q in %q is of %q, want %q", test.kind, test.lockfile, got, test.want)
		}
	}
}

// TestGitLabFixes checks the parsing of versions in sentences.
func TestGitLabFixes(t *testing.T) {
	for solution, want := range map[string]string{
		"Upgrade to version 1.2.3 or above.":                     "1.2.3",
		"Upgrade to versions 1.2.3, 2.0.1, 3.0.0-rc.1 or above.": "1.2.3 2.0.1 3.0.0-rc.1",
		"Upgrade lodash to 4.17.21":                              "4.17.21",
		"Unfortunately, there is no solution available yet.":     "", "": "",
	} {
		rep := readOne(t, "x", `{"vulnerabilities":[{"solution":"`+solution+`","identifiers":[{"type":"cve","value":"CVE-1"}],
			"location":{"file":"Gemfile.lock","dependency":{"package":{"name":"a"},"version":"1"}}}]}`)
		var got []string
		for _, fix := range rep.Results[0].Dependency.Fixes {
			got = append(got, fix.Version)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", solution, got, want)
		}
	}
}

// TestTrivyOrder checks that packages may precede or follow vulnerabilities.
func TestTrivyOrder(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "native", "trivy.json"))
	if err != nil {
		t.Fatal(err)
	}
	vulnerabilities, packages := `"Vulnerabilities":[{"VulnerabilityID":"CVE-1","PkgName":"a","InstalledVersion":"1"}]`, `"Packages":[{"Name":"a","Version":"1","Relationship":"direct"}]`
	for _, members := range []string{vulnerabilities + "," + packages, packages + "," + vulnerabilities} {
		rep := readOne(t, "x", `{"SchemaVersion":2,"Results":[{`+members+`,"Target":"a/yarn.lock","Type":"yarn"}]}`)
		d := rep.Results[0].Dependency
		if d.Transitivity != model.Direct || d.Lockfile != "a/yarn.lock" || d.Ecosystem != "npm" {
			t.Errorf("%s: %+v", members, d)
		}
	}
	if _, err := Read(bytes.NewReader(data), format.Options{Limits: format.Limits{Items: 1}}); err == nil {
		t.Error("five vulnerabilities keep within a limit of one")
	}
}
