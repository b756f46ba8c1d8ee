package report

import (
	stdcmp "cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// sarifOne reads a run with one result of one rule.
func sarifOne(t *testing.T, driver, rule, result string) model.Result {
	t.Helper()
	r := readOne(t, "x.sarif", fmt.Sprintf(`{"runs":[{"tool":{"driver":{"name":%q,"rules":[{"id":"r"%s}]}},"results":[{"ruleId":"r",
		"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.py"}}}]%s}]}]}`, driver, rule, result))
	if len(r.Results) != 1 {
		t.Fatalf("refused: %v", r.Refused)
	}
	return r.Results[0]
}

func TestSARIFSeverity(t *testing.T) {
	score := func(s string) string { return `,"properties":{"security-severity":"` + s + `"}` }
	level := func(s string) string { return `,"defaultConfiguration":{"level":"` + s + `"}` }
	tests := []struct {
		driver, rule, result string
		want                 model.Severity
	}{
		{"x", "", "", model.SeverityMedium},
		{"x", "", `,"level":"error"`, model.SeverityHigh},
		{"x", "", `,"level":"warning"`, model.SeverityMedium},
		{"x", "", `,"level":"note"`, model.SeverityLow},
		{"x", "", `,"level":"none"`, model.SeverityLow},
		{"x", "", `,"level":"fatal"`, model.SeverityMedium}, // invalid level
		{"x", level("error"), "", model.SeverityHigh},
		{"x", level("error"), `,"level":"note"`, model.SeverityLow},
		{"x", score("9.0") + level("note"), `,"level":"note"`, model.SeverityCritical},
		{"x", score("8.9"), `,"level":"note"`, model.SeverityHigh},
		{"x", score("7.0"), "", model.SeverityHigh},
		{"x", score("6.9"), `,"level":"error"`, model.SeverityMedium},
		{"x", score("4"), "", model.SeverityMedium},
		{"x", score("3.9"), `,"level":"error"`, model.SeverityLow},
		{"x", score("0"), `,"level":"error"`, model.SeverityLow},
		{"x", score("11"), `,"level":"error"`, model.SeverityHigh}, // invalid score
		{"x", score("NaN"), `,"level":"error"`, model.SeverityHigh},
		{"x", `,"properties":{"security-severity":9.8}`, "", model.SeverityCritical},
		{"x", score("2"), `,"properties":{"security-severity":"9.9"}`, model.SeverityCritical},
		{"Semgrep OSS", level("error"), "", model.SeverityHigh},
		{"gosec", `,"properties":{"tags":["security","MEDIUM"]}`, `,"level":"error"`, model.SeverityMedium},
		{"gitleaks", "", "", model.SeverityHigh},
		{"Trivy", `,"properties":{"tags":["CRITICAL"]}`, `,"level":"error"`, model.SeverityCritical},
	}
	for _, test := range tests {
		if got := sarifOne(t, test.driver, test.rule, test.result).Severity; got != test.want {
			t.Errorf("%s, rule %s, result %s: %v, want %v", test.driver, test.rule, test.result, got, test.want)
		}
	}
}

func TestSARIFConfidence(t *testing.T) {
	tests := []struct {
		driver, rule, result string
		want                 model.Confidence
	}{
		{"x", "", "", model.ConfidenceMedium},
		{"x", `,"properties":{"precision":"very-high"}`, "", model.ConfidenceHigh},
		{"x", `,"properties":{"precision":"low"}`, "", model.ConfidenceLow},
		{"Semgrep PRO", `,"properties":{"precision":"very-high","tags":["LOW CONFIDENCE"]}`, "", model.ConfidenceLow},
		{"Semgrep PRO", `,"properties":{"precision":"very-high"}`, "", model.ConfidenceMedium}, // constant in Semgrep
		{"Bandit", `,"properties":{"precision":"high"}`, `,"properties":{"issue_confidence":"LOW"}`, model.ConfidenceLow},
	}
	for _, test := range tests {
		if got := sarifOne(t, test.driver, test.rule, test.result).Confidence; got != test.want {
			t.Errorf("%s, rule %s, result %s: %v, want %v", test.driver, test.rule, test.result, got, test.want)
		}
	}
}

func TestSARIFFingerprint(t *testing.T) {
	tests := []struct{ driver, result, match, fingerprint string }{
		{"Semgrep OSS", `,"fingerprints":{"matchBasedId/v1":"abc_0"}`, "abc_0", ""},
		{"Opengrep OSS", `,"fingerprints":{"matchBasedId/v1":"abc_0"}`, "abc_0", ""},
		{"Semgrep OSS", `,"fingerprints":{"matchBasedId/v1":"requires login"}`, "", ""},
		{"x", `,"fingerprints":{"z":"1","a":"2"},"partialFingerprints":{"primaryLocationLineHash":"3"}`, "", "2"},
		{"x", `,"fingerprints":{"a":""},"partialFingerprints":{"primaryLocationLineHash":"3"}`, "", "3"},
		{"x", `,"fingerprints":{"matchBasedId/v1":"abc"}`, "", "abc"},
		{"gitleaks", `,"partialFingerprints":{"commitSha":"0a","author":"me","date":"d"}`, "", ""},
		{"CodeQL", `,"partialFingerprints":{"primaryLocationLineHash":"39fa2ee980eb94b0:1","primaryLocationStartColumnFingerprint":"4"}`, "", "39fa2ee980eb94b0:1"},
	}
	for _, test := range tests {
		got := sarifOne(t, test.driver, "", test.result)
		if got.MatchBasedID != test.match || got.Fingerprint != test.fingerprint {
			t.Errorf("%s %s: %q, %q; want %q, %q", test.driver, test.result, got.MatchBasedID, got.Fingerprint, test.match, test.fingerprint)
		}
	}
}

func TestSARIFTools(t *testing.T) {
	tests := []struct {
		driver, tool string
		issueType    model.IssueType
		rulesRun     bool
	}{
		{"Semgrep OSS", "semgrep", model.SAST, true},
		{"Semgrep PRO", "semgrep", model.SAST, true},
		{"Opengrep OSS", "semgrep", model.SAST, true},
		{"CodeQL", "codeql", model.SAST, true},
		{"gitleaks", "gitleaks", model.Secrets, true},
		{"gosec", "gosec", model.SAST, false},
		{"Bandit", "bandit", model.SAST, false},
		{"ESLint", "eslint", model.SAST, false},
		{"Checkov", "checkov", model.SAST, false},
		{"TruffleHog", "trufflehog", model.Secrets, false},
		{"detect-secrets", "detect-secrets", model.Secrets, false},
		{"Nosey  Parker\n", "nosey-parker", model.Secrets, false},
		{"", "unknown", model.SAST, false},
	}
	for _, test := range tests {
		r := readOne(t, "x.sarif", fmt.Sprintf(`{"runs":[{"tool":{"driver":{"name":%q,"rules":[{"id":"r"}]}},"results":[]}]}`, test.driver))
		if r.Tool != test.tool || !r.Products.Has(test.issueType) || (r.RulesRun != nil) != test.rulesRun {
			t.Errorf("%q: tool %q, products %v, rules run %v", test.driver, r.Tool, r.Products.Names(), r.RulesRun)
		}
	}
}

func TestSARIFResultKinds(t *testing.T) {
	for result, want := range map[string]bool{
		``:                            true,
		`"kind":"fail"`:               true,
		`"kind":"review"`:             true,
		`"kind":"pass"`:               false,
		`"kind":"open"`:               false,
		`"kind":"informational"`:      false,
		`"kind":"notApplicable"`:      false,
		`"baselineState":"absent"`:    false,
		`"baselineState":"unchanged"`: true,
	} {
		r := readOne(t, "x.sarif", `{"runs":[{"results":[{"ruleId":"r","locations":[{"physicalLocation":{"artifactLocation":{"uri":"a"}}}],`+
			stdcmp.Or(result, `"x":0`)+`}]}]}`)
		if (len(r.Results) == 1) != want || len(r.Refused) != 0 {
			t.Errorf("%s: %d results, refused %v", result, len(r.Results), r.Refused)
		}
	}
}

func TestSARIFSuppressed(t *testing.T) {
	for suppressions, want := range map[string]bool{
		`[]`: false, `null`: false, `[{"kind":"inSource"}]`: true, `[{"status":"accepted"}]`: true,
		`[{"status":"rejected"}]`: false, `[{"kind":"inSource"},{"status":"underReview"}]`: false,
	} {
		if got := sarifOne(t, "x", "", `,"suppressions":`+suppressions).Muted; got != want {
			t.Errorf("%s: muted %v, want %v", suppressions, got, want)
		}
		if got := sarifOne(t, "x", "", `,"suppressions":`+suppressions).MutedOutside; got != (want && !strings.Contains(suppressions, "inSource")) {
			t.Errorf("%s: muted outside of the code %v", suppressions, got)
		}
	}
}

func TestSARIFTags(t *testing.T) {
	got := sarifOne(t, "x", `,"properties":{"tags":["external/cwe/cwe-079","CWE-079","cwe:22","CWE-89: SQL","CWE","OWASP-A01:2021 - Broken","A3:2017","OWASP Top Ten","maintainability"]},
		"relationships":[{"target":{"id":"CWE-611","toolComponent":{"name":"cwe"}}},{"target":{"id":"1","toolComponent":{"name":"OTHER"}}}]`, "").Rule
	want := &model.Rule{
		Name: "r", IssueType: model.SAST, Severity: model.SeverityMedium, Confidence: model.ConfidenceMedium, Category: "maintainability",
		CWE: []string{
			"CWE-79: Improper Neutralization of Input During Web Page Generation ('Cross-site Scripting')",
			"CWE-22: Improper Limitation of a Pathname to a Restricted Directory ('Path Traversal')",
			"CWE-89: SQL", "CWE-611: Improper Restriction of XML External Entity Reference",
		},
		OWASP: []string{"A01:2021 - Broken", "A3:2017"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rule (-want +got)\n%s", diff)
	}
}

// TestSARIFOrder checks that the order of a run's members does not matter.
func TestSARIFOrder(t *testing.T) {
	members := []string{
		`"tool":{"driver":{"name":"x","rules":[{"id":"a"},{"id":"b","properties":{"security-severity":"9.5"}}]}}`,
		`"results":[{"ruleIndex":1,"locations":[{"physicalLocation":{"artifactLocation":{"uri":"b.c","uriBaseId":"SRC"}}}]},
			{"ruleId":"b/7","locations":[{"physicalLocation":{"artifactLocation":{"index":0}}}]}]`,
		`"originalUriBaseIds":{"SRC":{"uri":"file:///r/src/","uriBaseId":"%SRCROOT%"},"%SRCROOT%":{"uri":"file:///r/"}}`,
		`"artifacts":[{"location":{"uri":"file:///r/c.c"}}]`,
	}
	var want string
	for i := range members {
		rotated := append(append([]string{}, members[i:]...), members[:i]...)
		got := reporttest.Dump(readText(t, "x.sarif", `{"runs":[{`+strings.Join(rotated, ",")+`}]}`))
		if i == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order %d differs\n%s", i, diff)
		}
	}
	for _, part := range []string{`Path: "src/b.c"`, `Path: "c.c"`, "Severity: critical"} {
		if !strings.Contains(want, part) {
			t.Errorf("no %s in\n%s", part, want)
		}
	}
}

// TestSARIFFileErrorDoesNotFailRun checks that ESLint's failure for one file does not fail the run: the other
// files were scanned.
func TestSARIFFileErrorDoesNotFailRun(t *testing.T) {
	const broken = `{"level":"error","locations":[{"physicalLocation":{"artifactLocation":{"uri":"broken.js"}}}]}`
	const comment = `{"level":"warning","locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.js"}}}]}`
	for notifications, want := range map[string]struct {
		failed            bool
		searched, skipped []string
	}{
		broken + "," + comment:        {false, []string{"a.js"}, []string{"broken.js"}},
		broken + `,{"level":"error"}`: {true, []string{"a.js"}, []string{"broken.js"}},
		comment:                       {true, []string{"a.js", "broken.js"}, nil},
		"":                            {true, []string{"a.js", "broken.js"}, nil},
	} {
		got := readOne(t, "r.sarif", `{"runs":[{"tool":{"driver":{"name":"ESLint"}},"results":[],
			"artifacts":[{"location":{"uri":"a.js"}},{"location":{"uri":"broken.js"}}],
			"invocations":[{"executionSuccessful":false,"toolConfigurationNotifications":[`+notifications+`]}]}]}`)
		if got.Failed != want.failed || !slices.Equal(got.Searched, want.searched) || !slices.Equal(got.Skipped, want.skipped) {
			t.Errorf("%s: failed %v, searched %v, skipped %v", notifications, got.Failed, got.Searched, got.Skipped)
		}
	}
}

func TestSARIFRoots(t *testing.T) {
	run := func(rest, uri string) string {
		return `{"runs":[{` + rest + `"results":[{"ruleId":"r","locations":[{"physicalLocation":{"artifactLocation":` + uri + `}}]}]}]}`
	}
	tests := []struct{ rest, artifact, root, want string }{
		{"", `{"uri":"file:///x/a.c"}`, "", ""},
		{"", `{"uri":"file:///x/a.c"}`, "/x", "a.c"},
		{`"originalUriBaseIds":{"ROOTPATH":{"uri":"file:///x/"}},`, `{"uri":"file:///x/a.c"}`, "", "a.c"},
		{`"originalUriBaseIds":{"ROOTPATH":{"uri":"file:///x/"},"OUT":{"uri":"file:///x/out/"}},`, `{"uri":"a.c","uriBaseId":"OUT"}`, "", "out/a.c"},
		{`"originalUriBaseIds":{"ROOTPATH":{"uri":"file:///x/"},"SDK":{"uri":"file:///usr/include/"}},`, `{"uri":"a.h","uriBaseId":"SDK"}`, "", ""},
		{`"originalUriBaseIds":{"A":{"uri":"a/","uriBaseId":"B"},"B":{"uri":"b/","uriBaseId":"A"}},`, `{"uri":"a.c","uriBaseId":"A"}`, "", "b/a/b/a/b/a/b/a/b/a/a/a.c"},
		{`"invocations":[{"workingDirectory":{"uri":"file:///x/"}}],`, `{"uri":"file:///x/src/a.c"}`, "", "src/a.c"},
		{"", `{"uri":"a.c","uriBaseId":"%SRCROOT%"}`, "", "a.c"},
		{"", `{"index":3}`, "", ""},
	}
	for i, test := range tests {
		reports, err := Read(strings.NewReader(run(test.rest, test.artifact)), format.Options{Root: test.root})
		if err != nil && test.want != "" {
			t.Fatal(err)
		}
		got := ""
		if err == nil {
			got = reports[0].Results[0].Path
		}
		if i == 5 { // a cycle must end at a path inside of the repository
			if !reporttest.IsInside(got) {
				t.Errorf("a circle of bases gave %q", got)
			}
			continue
		}
		if got != test.want {
			t.Errorf("%s %s root %q: %q, want %q (refused %v)", test.rest, test.artifact, test.root, got, test.want, reports[0].Refused)
		}
	}
}

// TestSARIFLinks checks that links to related locations are removed from messages. Similar code is
// preserved, as in other formats.
func TestSARIFLinks(t *testing.T) {
	for related, want := range map[string]string{
		``:                               "eval of h[0](1), a [value](2)",
		`"relatedLocations":[{"id":2}],`: "eval of h[0](1), a value",
		`"relatedLocations":[{},{"id":"x"},{"id":2}],`: "eval of h[0](1), a value",
		`"relatedLocations":[{"id":1},{"id":2}],`:      "eval of h0, a value",
	} {
		for _, message := range []string{`"text":"eval of h[0](1), a [value](2)"`, `"id":"m"`, `"text":"eval of {0}","arguments":["h[0](1), a [value](2)"]`} {
			reports := readText(t, "x.sarif", `{"runs":[{"tool":{"driver":{"name":"x","rules":[{"id":"r","messageStrings":{"m":{"text":"eval of h[0](1), a [value](2)"}}}]}},
				"results":[{"ruleId":"r",`+related+`"message":{`+message+`},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.py"}}}]}]}]}`)
			if got := reports[0].Results[0].Message; got != want {
				t.Errorf("%s, %s: %q, want %q", related, message, got, want)
			}
		}
	}
}
