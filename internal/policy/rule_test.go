package policy_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

const good = `rules:
- {id: code, languages: [python], severity: ERROR, message: m, pattern: $X == $X, metadata: {cwe: null, tags: [a, null]}}
- {id: chain, languages: [generic], severity: LOW, message: m, r2c-internal-project-depends-on: {namespace: pypi, package: p, version: "< 1"}}
- {id: secret, languages: [regex], severity: CRITICAL, message: m, pattern-regex: "tok_[a-z]+", metadata: {product: secrets}}
- {id: taint, languages: [go], severity: INFO, message: m, mode: taint, pattern-sources: [{pattern: a()}], pattern-sinks: [{pattern: b(...)}]}
- {id: focused, languages: [go], severity: LOW, message: m, patterns: [{pattern: f($X, $Y)}, {focus-metavariable: [$X, $Y]}, {focus-metavariable: $X}]}
- {id: newer, languages: [go], severity: HIGH, message: m, match: {any: [a, b]}}
`

func TestParse(t *testing.T) {
	rules, err := policy.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]model.IssueType{}
	for _, r := range rules {
		got[r.ID] = r.Product
		if strings.Contains(string(r.Text), "null") {
			t.Errorf("%s keeps a null: %s", r.ID, r.Text)
		}
	}
	want := map[string]model.IssueType{"code": model.SAST, "chain": model.SCA, "secret": model.Secrets, "taint": model.SAST, "focused": model.SAST, "newer": model.SAST}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
	if want := `{"id":"code","languages":["python"],"message":"m","metadata":{"tags":["a"]},"pattern":"$X == $X","severity":"ERROR"}`; string(rules[0].Text) != want {
		t.Errorf("the text is %s, want %s", rules[0].Text, want)
	}
}

func TestParseReportsEveryError(t *testing.T) {
	rule := func(members string) string { return "rules:\n- {" + members + "}\n" }
	const rest = "languages: [python], severity: ERROR, message: m"
	for _, c := range []struct{ file, fault string }{
		{"", "rules"},
		{"rules: []", "rules"},
		{"rules: 7", "rules"},
		{"- a\n- b", "rules"},
		{"rules: [\x00", "rules"},
		{rule(rest + ", pattern: x"), "rules[0].id"},
		{rule("id: 'a b', " + rest + ", pattern: x"), "rules[0].id"},
		{rule("id: redoubt.lockfiles, " + rest + ", pattern: x"), "rules[0].id"},
		{rule("id: a, "+rest+", pattern: x") + "- {id: a, " + rest + ", pattern: x}\n", "rules[1].id"},
		{rule("id: a, languages: [python], severity: ERROR, pattern: x"), "rules[0].message"},
		{rule("id: a, languages: [python], severity: error, message: m, pattern: x"), "rules[0].severity"},
		{rule("id: a, languages: python, severity: ERROR, message: m, pattern: x"), "rules[0].languages"},
		{rule("id: a, languages: [7], severity: ERROR, message: m, pattern: x"), "rules[0].languages"},
		{rule("id: a, languages: [pyton], severity: ERROR, message: m, pattern: x"), "rules[0].languages"},
		{rule("id: a, " + rest + ", pattern: x, mode: tainted"), "rules[0].mode"},
		{rule("id: a, " + rest + ", pattern: x, paths: [src]"), "rules[0].paths"},
		{rule("id: a, " + rest + ", pattern: x, paths: {only: [src]}"), "rules[0].paths"},
		{rule("id: a, " + rest + ", pattern: x, fix: 7"), "rules[0].fix"},
		{rule("id: a, " + rest + ", pattern: x, options: yes"), "rules[0].options"},
		{rule("id: a, " + rest + ", patterns: [x]"), "rules[0].patterns[0]"},
		{rule("id: a, " + rest + ", patterns: [{pattern: x}, {patern-not: y}]"), "rules[0].patterns[1]"},
		{rule("id: a, " + rest + ", patterns: [{pattern: x}, {focus-metavariable: [{pattern: y}]}]"), "rules[0].patterns[1].focus-metavariable"},
		{rule("id: a, " + rest + ", patterns: [{pattern: x}, {focus-metavariable: {pattern: y}}]"), "rules[0].patterns[1].focus-metavariable"},
		{rule("id: a, " + rest + ", patterns: [{pattern-either: [{patterns: [{wrong: y}]}]}]"), "rules[0].patterns[0].pattern-either[0].patterns[0]"},
		{rule("id: a, " + rest + ", mode: taint, pattern-sources: [{patterns: [{wrong: y}]}], pattern-sinks: [{pattern: x}]"), "rules[0].pattern-sources[0].patterns[0]"},
		{rule("id: a, " + rest), "rules[0].pattern"},
		{rule("id: a, " + rest + ", pattern: [x]"), "rules[0].pattern"},
		{rule("id: a, " + rest + ", patterns: x"), "rules[0].patterns"},
		{rule("id: a, " + rest + ", mode: taint, pattern-sinks: [{pattern: x}]"), "rules[0].pattern-sources"},
		{rule("id: a, " + rest + ", r2c-internal-project-depends-on: x"), "rules[0].r2c-internal-project-depends-on"},
		{rule("id: a, " + rest + ", pattern: x, metadata: [x]"), "rules[0].metadata"},
	} {
		_, err := policy.Parse([]byte(c.file))
		var invalid *model.InvalidError
		if !errors.As(err, &invalid) || invalid.Fields[0].Location != c.fault {
			t.Errorf("%q: %v, want a fault at %s", c.file, err, c.fault)
		}
	}
	_, err := policy.Parse([]byte(rule("severity: x")))
	var invalid *model.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Fields) != 5 {
		t.Errorf("the error for five faults is %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	if text, err := os.ReadFile("../agent/testdata/captures/rules.json"); err == nil {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		rules, err := policy.Parse(file)
		if err != nil {
			return
		}
		served := make([]model.ServedRule, len(rules))
		for i, r := range rules {
			served[i] = model.ServedRule{PolicyRule: model.PolicyRule{PolicyID: 1, Rule: model.Rule{Name: r.ID, IssueType: r.Product}}, Text: r.Text}
		}
		if _, err := policy.Document(served, []model.Policy{{ID: 1}}, policy.Products(nil), nil); err != nil {
			t.Errorf("rules that were taken cannot be served: %v", err)
		}
	})
}
