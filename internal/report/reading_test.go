package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/secrets"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// TestSecretsAreRedactedAcrossUploadFiles checks that secrets and rules for secrets in one file apply
// to other files, independent of their order.
func TestSecretsAreRedactedAcrossUploadFiles(t *testing.T) {
	const secret, other = "correct-horse-battery", "staple-correct-horse"
	files := []struct{ name, text string }{
		{"gitleaks.sarif", fmt.Sprintf(`{"runs":[{"tool":{"driver":{"name":"gitleaks"}},"results":[{"ruleId":"generic-api-key","locations":[
			{"physicalLocation":{"artifactLocation":{"uri":"conf.py"},"region":{"startLine":1,"snippet":{"text":%q}}}}]}]}]}`, secret)},
		{"told.json", semgrepWithLine("acme.tokens", `"product":"secrets"`, "abcdef")},
		{"silent.sarif", sarifWithLine("acme.tokens", "", other)},
		{"code.json", semgrepWithLine("acme.code", "", secret)},
	}
	for range 2 {
		slices.Reverse(files)
		var one Reading
		for _, f := range files {
			if err := one.Add(strings.NewReader(f.text), format.Options{Name: f.name, Key: testKey}); err != nil {
				t.Fatal(err)
			}
		}
		reports := one.Reports(nil)
		if text := reporttest.Dump(reports); strings.Contains(text, secret) || strings.Contains(text, other) {
			t.Errorf("from %s on, a secret is kept: %s", files[0].name, text)
		}
		products := map[string]model.IssueType{}
		for _, rep := range reports {
			reporttest.Check(t, rep)
			for _, res := range rep.Results {
				products[rep.Tool+" "+res.Rule.Name] = res.Rule.IssueType
			}
		}
		if len(reports) != 2 || products["semgrep acme.tokens"] != model.Secrets || products["semgrep acme.code"] != model.SAST {
			t.Errorf("from %s on: %d reports, %v", files[0].name, len(reports), products)
		}
		if second := one.Reports(nil); reporttest.Dump(second) != reporttest.Dump(reports) {
			t.Error("asked again, the reading says something else")
		}
	}
}

// TestSecretsOnOneLineDiffer checks that several secrets in one line differ by their order,
// in JSON and in uploads. A repeated line has the same secret.
func TestSecretsOnOneLineDiffer(t *testing.T) {
	const line = `a, b = 'hunter2-one', 'hunter2-two'`
	at := func(column, number int) string {
		return fmt.Sprintf(`{"check_id":"k","path":"a.py","start":{"line":%[2]d,"col":%[1]d},"end":{"line":%[2]d,"col":%[3]d},"extra":{"metadata":{"product":"secrets"},"lines":%[4]q}}`,
			column, number, column+11, line)
	}
	ci := func(column, number int) string {
		return fmt.Sprintf(`{"check_id":"k","path":"a.py","line":%[2]d,"column":%[1]d,"end_line":%[2]d,"end_column":%[3]d,"metadata":{"product":"secrets"},"hashes":{"code_hash":%[4]q}}`,
			column, number, column+11, format.CodeHash(semgrep.SyntacticContext(line)))
	}
	list := func(at func(column, number int) string) string {
		return "[" + strings.Join([]string{at(24, 1), at(9, 1), at(9, 5), at(9, 1)}, ",") + "]"
	}
	fromFile := readOne(t, "x.json", `{"skipped_rules":[],"results":`+list(at)+`}`).Results
	fromScan := readCI(t, `{"findings":`+list(ci)+`}`, testKey).Results
	for i := range fromFile {
		if fromFile[i].Secret.Hash != fromScan[i].Secret.Hash || fromFile[i].Secret.Hash == (model.Digest{}) {
			t.Errorf("result %d is %x in a file and %x in an upload", i, fromFile[i].Secret.Hash, fromScan[i].Secret.Hash)
		}
	}
	hash := func(i int) model.Digest { return fromFile[i].Secret.Hash }
	if hash(0) == hash(1) || hash(1) != hash(2) || hash(1) != hash(3) {
		t.Errorf("the hashes are %x %x %x %x, want the first to differ", hash(0), hash(1), hash(2), hash(3))
	}
	if fromFile[0].Secret.Value == fromFile[1].Secret.Value {
		t.Error("two secrets have one value")
	}
}

// TestRestoredReportUsesNewRules checks that a restored report uses new knowledge about rules,
// except for rules that declare their product.
func TestRestoredReportUsesNewRules(t *testing.T) {
	reading, err := ReadCIResults(strings.NewReader(`{"findings":[
		{"check_id":"silent","path":"a.py","line":1,"message":"the key is correct-horse","match_based_id":"m_0","hashes":{"code_hash":"c"},"metadata":{}},
		{"check_id":"declared","path":"a.py","line":1,"match_based_id":"m_1","hashes":{"code_hash":"d"},"metadata":{"product":"sast"}}]}`), format.Options{Key: testKey})
	if err != nil {
		t.Fatal(err)
	}
	rep := reading.Reports(nil)[0]
	if rep.Results[0].Secret != nil || rep.Results[0].MatchBasedID != "m_0" {
		t.Fatalf("at first: %+v", rep.Results[0])
	}
	restored := RestoreReading(testKey, rep, reading.Clean(nil).Declared()).Reports(func(tool, _ string) bool { return tool == "semgrep" })[0]
	reporttest.Check(t, restored)
	silent, declared := restored.Results[0], restored.Results[1]
	if silent.Secret == nil || silent.Secret.Hash == (model.Digest{}) || silent.MatchBasedID != "" || silent.Message != "silent" {
		t.Errorf("once it is known: %+v", silent)
	}
	if declared.Secret != nil || declared.MatchBasedID != "m_1" {
		t.Errorf("one that says that it is none: %+v", declared)
	}
	if !restored.Products.Has(model.Secrets) {
		t.Error("the report is not of secrets")
	}
}

// TestSecretRuleOrderDoesNotMatter checks that results are equal whether a rule is known as a rule for
// secrets before or after Clean. Other rules match the same lines and adjacent ones, with computed
// ids.
func TestSecretRuleOrderDoesNotMatter(t *testing.T) {
	known := func(_, rule string) bool { return rule == "acme.silent" }
	texts := map[string][]byte{"acme.bound": []byte(`{"id":"acme.bound","pattern":"$F($X)"}`), "acme.loose": []byte(`{"id":"acme.loose","pattern":"login(...)"}`)}
	for _, secret := range []string{"correct-horse-7", "gh" + "p_0123456789abcdefghijABCDEFGHIJ012345"} {
		line := "login('" + secret + "')"
		clean := func(known func(tool, rule string) bool) *Cleaned {
			var r Reading
			for _, text := range []string{
				semgrepWithLine("acme.silent", "", secret),
				semgrepWith(
					matchOn("acme.silent", line, secret, 1, 7), matchOn("acme.bound", line, secret, 1, 1), matchOn("acme.loose", line, secret, 1, 1),
					matchOn("acme.untold", line, secret, 1, 1), matchOn("acme.bound", "login(x)", "x", 2, 1), matchOn("acme.loose", "login(x)", "x", 2, 1),
					matchOn("acme.bound", "login(key)", secret, 3, 1), // matches the key's assignment
				),
				fmt.Sprintf(`{"skipped_rules":[],"results":[{"check_id":"acme.other","path":"b.py","start":{"line":1,"col":1},"end":{"line":1,"col":9},"extra":{"metadata":{},"message":%q,"lines":"x"}}]}`, "of "+secret),
			} {
				o := format.Options{Name: "x.json", Key: testKey, RuleText: func(rule string) []byte { return texts[rule] }}
				if err := r.Add(strings.NewReader(text), o); err != nil {
					t.Fatal(err)
				}
			}
			return r.Clean(known)
		}
		before, later := clean(known).Reports(nil), clean(nil)
		if open := later.Reports(nil); len(open) != 1 || open[0].Results[0].Secret != nil {
			t.Fatalf("%s: it is a secret before anybody says so", secret)
		}
		after := reporttest.Dump(later.Reports(known))
		if after != reporttest.Dump(later.Reports(known)) {
			t.Errorf("%s: asked again, the reading says something else", secret)
		}
		for i := range before[0].Results { // code redacted before has no value to hash
			if match := before[0].Results[i].Secret; match != nil && strings.HasPrefix(secret, "gh") {
				match.Value = model.Digest{}
			}
		}
		if diff := cmp.Diff(reporttest.Dump(before), after); diff != "" {
			t.Errorf("%s: what is known later differs (-before +later):\n%s", secret, diff)
		}
		if first := before[0].Results[0]; first.Secret == nil || first.Secret.Hash == (model.Digest{}) {
			t.Errorf("%s: no secret with a hash: %+v", secret, first)
		}
		for _, guess := range []string{
			semgrep.SyntacticID("acme.bound", "a.py", line, 0), semgrep.PatternHash("login(" + secret + ")"), format.CodeHash(line),
			semgrep.Made(semgrep.MatchBasedID("acme.bound", "a.py", "login("+secret+")", 0)), semgrep.Made(semgrep.MatchBasedID("acme.bound", "a.py", "$F("+secret+")", 0)),
		} {
			if strings.Contains(after, guess) {
				t.Errorf("%s: what is kept holds %s, which tells whether a guess is right", secret, guess)
			}
		}
	}
}

// semgrepWith returns a Semgrep report with results.
func semgrepWith(results ...string) string {
	return `{"version":"1.100.0","errors":[],"paths":{"scanned":["a.py"]},"results":[` + strings.Join(results, ",") + `]}`
}

// matchOn returns a result without ids whose metavariables have the values "login" and value.
func matchOn(rule, line, value string, at, column int) string {
	return fmt.Sprintf(`{"check_id":%q,"path":"a.py","start":{"line":%d,"col":%d},"end":{"line":%d,"col":%d},"extra":{"severity":"ERROR","message":"found","metadata":{},
		"metavars":{"$F":{"abstract_content":"login"},"$X":{"abstract_content":%q}},"lines":%q}}`, rule, at, column, at, len(line), value, line)
}

// TestRedactedCodeHasKeyedHash checks that a secret in redacted code has a keyed hash. The
// client may have hashed the line before redaction.
func TestRedactedCodeHasKeyedHash(t *testing.T) {
	reading, err := ReadCIResults(strings.NewReader(`{"findings":[{"check_id":"silent","path":"a.py","line":1,"match_based_id":"m_0","hashes":{"code_hash":"c"},"metadata":{}}]}`), format.Options{Key: testKey})
	if err != nil {
		t.Fatal(err)
	}
	rep := reading.Reports(nil)[0]
	rep.Results[0].Code = "login('" + secrets.Redacted + "')"
	restored := RestoreReading(testKey, rep, nil).Reports(func(string, string) bool { return true })[0]
	if s := restored.Results[0].Secret; s == nil || s.Hash == (model.Digest{}) || s.Hash == model.CodeDigest("c") {
		t.Errorf("the secret is %+v", s)
	}
}
