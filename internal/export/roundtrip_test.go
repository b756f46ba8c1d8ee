package export

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
)

// TestSARIFRoundTrip checks that the importer reads exported findings with the same issue type,
// location and severity.
func TestSARIFRoundTrip(t *testing.T) {
	code, dependency, secret, fixed, ignored := aFinding(1), dependencyFinding(2), aFinding(3), aFinding(4), aFinding(5)
	code.Location.FilePath, code.Severity = "a:b/%41 ü?#[x].py", "low"
	dependency.Location = api.Location{FilePath: "package-lock.json", Line: 12}
	kind := "AWS"
	secret.SecretType, secret.RuleName, secret.Rule.Name, secret.ValidationState = &kind, "aws-access-key", "aws-access-key", "no_validator"
	fixed.Status, ignored.Status = "fixed", "ignored"
	text := write(t, SARIF,
		&listed{issueType: model.SAST, findings: []api.Finding{code, fixed, ignored}},
		&listed{issueType: model.SCA, findings: []api.Finding{dependency}},
		&listed{issueType: model.Secrets, findings: []api.Finding{secret}})
	reports, err := report.Read(bytes.NewReader(text), report.Options{Name: "findings.sarif", Key: []byte("a key for secrets")})
	if err != nil || len(reports) != 1 { // findings of one tool form one report
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	results := reports[0].Results
	if len(results) != 4 || !results[1].Muted || results[0].Muted {
		t.Fatalf("code: %+v", results)
	}
	got := results[0]
	if got.Path != code.Location.FilePath || got.Location != (model.Location{Line: 10, Column: 5, EndLine: 12, EndColumn: 20}) || got.Message != "eval is dangerous" ||
		got.Severity != model.SeverityLow || got.Confidence != model.ConfidenceHigh || got.Rule.Name != "python.eval" || got.Rule.IssueType != model.SAST {
		t.Errorf("code: %+v of %+v", got, got.Rule)
	}
	want := &model.Vulnerable{
		Ecosystem: "npm", Package: "lodash", Version: "4.17.20", Transitivity: model.Direct, Lockfile: "package-lock.json", Line: 12, Vulnerability: "CVE-2021-23337",
		Reachability: model.Reachable, Fixes: []model.Fix{{Package: "lodash", Version: "4.17.21"}, {Package: "lodash-es", Version: "4.17.21"}},
	}
	if diff := cmp.Diff(want, results[2].Dependency); diff != "" {
		t.Errorf("dependency (-want +got):\n%s", diff)
	}
	if s := results[3]; s.Secret == nil || s.Rule.IssueType != model.Secrets || s.Path != "src/app.py" {
		t.Errorf("secret: %+v", s)
	}
}
