package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// TestSecretRuleDetection checks how rules for secrets are recognized in formats that do not
// mark them.
func TestSecretRuleDetection(t *testing.T) {
	known := func(tool, name string) bool { return tool == "semgrep" && name == "acme.tokens" }
	for _, test := range []struct {
		name, rule, metadata, tags string
		want                       model.IssueType
	}{
		{name: "a segment of the name", rule: "generic.secrets.security.detected-key", want: model.Secrets},
		{name: "a segment, in the singular", rule: "acme.secret.key", want: model.Secrets},
		{name: "a part of a segment", rule: "acme.secrets-manager.key", want: model.SAST},
		{name: "category", rule: "x", metadata: `"category":"secrets"`, want: model.Secrets},
		{name: "technology", rule: "x", metadata: `"technology":["aws","Secrets"]`, want: model.Secrets},
		{name: "product", rule: "x", metadata: `"product":"secrets"`, want: model.Secrets},
		{name: "another product", rule: "generic.secrets.x", metadata: `"product":"sast"`, want: model.SAST},
		{name: "tag", rule: "x", metadata: `"tags":["security","secrets"]`, want: model.Secrets},
		{name: "another tag", rule: "x", metadata: `"tags":["secretstorage"]`, want: model.SAST},
		{name: "known to the deployment", rule: "acme.tokens", want: model.Secrets},
		{name: "known, but declared to be another product's", rule: "acme.tokens", metadata: `"product":"sast"`, want: model.SAST},
		{name: "unknown", rule: "acme.tokens2", want: model.SAST},
	} {
		t.Run(test.name, func(t *testing.T) {
			const secret = "hunter2-hunter2"
			for name, file := range map[string]string{
				"x.json":  semgrepWithLine(test.rule, test.metadata, secret),
				"x.sarif": sarifWithLine(test.rule, test.metadata, secret),
			} {
				var one Reading
				if err := one.Add(strings.NewReader(file), format.Options{Name: name, Key: testKey}); err != nil {
					t.Fatal(err)
				}
				reports := one.Reports(known)
				reporttest.Check(t, reports[0])
				if got := reports[0].Results[0].Rule.IssueType; got != test.want {
					t.Errorf("%s: the rule is one of %s, want %s", name, got, test.want)
				}
				if retained := strings.Contains(reporttest.Dump(reports), secret); retained != (test.want == model.SAST) {
					t.Errorf("%s: the secret was kept: %v", name, retained)
				}
			}
		})
	}
}

// TestSecretHashIsEqualInSARIFAndJSON checks that a secret has the same hash in both formats.
func TestSecretHashIsEqualInSARIFAndJSON(t *testing.T) {
	const rule = "generic.secrets.x"
	var hashes []model.Digest
	for name, file := range map[string]string{"x.json": semgrepWithLine(rule, "", "hunter2"), "x.sarif": sarifWithLine(rule, "", "hunter2")} {
		reports, err := Read(strings.NewReader(file), format.Options{Name: name, Key: testKey})
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, reports[0].Results[0].Secret.Hash)
	}
	if hashes[0] != hashes[1] || hashes[0] == (model.Digest{}) {
		t.Errorf("the hashes are %x and %x, want the same one", hashes[0], hashes[1])
	}
}

// semgrepWithLine returns a report with one result that matches the text after "key = ".
func semgrepWithLine(rule, metadata, secret string) string {
	return fmt.Sprintf(`{"version":"1.100.0","errors":[],"paths":{"scanned":["a.py"]},"results":[{"check_id":%q,"path":"a.py",
		"start":{"line":1,"col":7},"end":{"line":1,"col":%d},
		"extra":{"severity":"ERROR","message":"found %s","metadata":{%s},"lines":"key = %s"}}]}`,
		rule, 7+len(secret), secret, metadata, secret)
}

func sarifWithLine(rule, properties, secret string) string {
	return fmt.Sprintf(`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Semgrep OSS","rules":[{"id":%q,"properties":{%s}}]}},
		"results":[{"ruleId":%q,"message":{"text":"found %s"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.py"},
		"region":{"startLine":1,"startColumn":7,"endLine":1,"endColumn":%d,"snippet":{"text":"key = %s"}}}}]}]}]}`,
		rule, properties, rule, secret, 7+len(secret), secret)
}

// TestBanditPasswordsAreRedacted checks Bandit's rules for passwords in code.
func TestBanditPasswordsAreRedacted(t *testing.T) {
	for _, test := range []struct{ name, rule, value, code, want string }{
		{"a string", "B105", "hunter2", `p = 'hunter2'`, `p = '[REDACTED]'`},
		{"an argument", "B106", "hunter2", `login(u, password="hunter2", host="x")`, `login(u, password="[REDACTED]", host="[REDACTED]")`},
		{"a default", "B107", "it's", `def f(p="it's"):`, `def f(p="[REDACTED]"):`},
		{"spelt otherwise", "B105", "a\tb", `p = 'a\tb'`, ``},
		{"no password", "B105", "", `p = ''`, `p = ''`},
		{"another rule that says so", "B999", "hunter2", `p = 'hunter2'`, `p = '[REDACTED]'`},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := fmt.Sprintf(`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Bandit","rules":[{"id":%q}]}},"results":[{"ruleId":%q,
				"message":{"text":%q},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.py"},
				"region":{"startLine":1,"snippet":{"text":%q}}}}]}]}]}`, test.rule, test.rule, "Possible hardcoded password: '"+test.value+"'", test.code)
			reports, err := Read(strings.NewReader(file), format.Options{Name: "x.sarif", Key: testKey})
			if err != nil {
				t.Fatal(err)
			}
			res := reports[0].Results[0]
			if res.Code != test.want || res.Rule.IssueType != model.SAST {
				t.Errorf("the code of the %s finding is %q, want %q", res.Rule.IssueType, res.Code, test.want)
			}
			if quotes := strings.Contains(res.Message, "'"+test.value+"'"); quotes != (test.value == "") {
				t.Errorf("the message is %q", res.Message)
			}
		})
	}
}
