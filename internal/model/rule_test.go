package model

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRuleCompletedFillsMissingFields(t *testing.T) {
	rich := Rule{
		Name: "r", Message: "m", IssueType: SAST, Severity: SeverityHigh, Confidence: ConfidenceLow, Category: "security",
		Subcategories: []string{"vuln"}, VulnerabilityClasses: []string{"XSS"}, CWE: []string{"CWE-79"}, OWASP: []string{"A03"},
		Technologies: []string{"go"}, Languages: []string{"go"}, References: []string{"https://x"}, Rulesets: []string{"s"},
		URL: "https://u", Origin: "custom", SecretType: "AWS", Mode: ModeBlock, ProOnly: true, Unrated: true, Version: 3,
	}
	for i := range reflect.TypeFor[Rule]().NumField() {
		if name := reflect.TypeFor[Rule]().Field(i).Name; name != "ID" && reflect.ValueOf(rich).Field(i).IsZero() {
			t.Fatalf("the test forgets the member %s", name)
		}
	}
	want := rich
	want.ProOnly = false // always taken from the newest statement
	want.Version = 0     // depends on the executed text, which only its own results contain
	if diff := cmp.Diff(want, Rule{Name: "r", IssueType: SAST}.Completed(rich)); diff != "" {
		t.Errorf("a bare rule completed (-want +got):\n%s", diff)
	}
	other := Rule{Name: "r", Message: "n", CWE: []string{"CWE-1"}, Severity: SeverityLow}
	if got := other.Completed(rich); got.Message != "n" || got.CWE[0] != "CWE-1" || got.Severity != SeverityLow || got.Unrated || got.Technologies[0] != "go" {
		t.Errorf("completing changed what the rule tells: %+v", got)
	}
}
