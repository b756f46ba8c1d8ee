package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

func TestRenamed(t *testing.T) {
	rules, err := policy.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	renamed, ok := rules[1].Renamed("chain.2")
	if want := strings.Replace(string(rules[1].Text), `"id":"chain"`, `"id":"chain.2"`, 1); !ok || renamed.ID != "chain.2" || renamed.Product != model.SCA || string(renamed.Text) != want {
		t.Errorf("renamed it is %+v %s", renamed, renamed.Text)
	}
	for _, id := range []string{"", "a b", policy.InertID, strings.Repeat("a", 513)} {
		if same, ok := rules[1].Renamed(id); ok || same.ID != "chain" {
			t.Errorf("it may be called %q", id)
		}
	}
	if _, ok := (policy.Rule{ID: "a", Text: []byte("no JSON")}).Renamed("b"); ok {
		t.Error("an unknown rule has a new name")
	}
}

// TestRulesAreBounded checks the size limits of a file and of its content with YAML aliases
// expanded.
func TestRulesAreBounded(t *testing.T) {
	const most = 16 << 20
	largest := good + strings.Repeat("#", most-len(good))
	if rules, err := policy.Parse([]byte(largest)); err != nil || len(rules) != 6 {
		t.Errorf("as large as it may be: %d rules, %v", len(rules), err)
	}
	if _, err := policy.Parse([]byte(largest + "#")); !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("larger: %v", err)
	}
	members := func(in string) string {
		return "rules:\n- {id: big, languages: [python], severity: ERROR, message: m, pattern: x, metadata: {first: &a " + strings.Repeat("y", most/10) + ", again: " + in + "}}\n"
	}
	for in, tooLarge := range map[string]bool{
		"[" + strings.Repeat("*a,", 8) + "]": false, "[" + strings.Repeat("*a,", 10) + "z]": true,
		"{" + numbered("k", 8) + "}": false, "{" + numbered("k", 10) + ", last: z}": true,
	} {
		_, err := policy.Parse([]byte(members(in)))
		invalid, ok := errors.AsType[*model.InvalidError](err)
		if ok != tooLarge || ok && (len(invalid.Fields) != 1 || invalid.Fields[0].Location != "rules[0].id" || !strings.Contains(invalid.Fields[0].Message, "too large")) {
			t.Errorf("%.40s: %v", in, err)
		}
	}
}

// numbered returns n members that refer to the same alias.
func numbered(key string, n int) string {
	var list []string
	for i := range n {
		list = append(list, key+string(rune('a'+i))+": *a")
	}
	return strings.Join(list, ", ")
}

// TestErrorsAreReportedOnce checks that each error is reported once, without errors for valid members.
func TestErrorsAreReportedOnce(t *testing.T) {
	for members, location := range map[string]string{
		"pattern: x, paths: {include: [a, b], exclude: [c]}": "",
		"pattern: x, paths: {include: [a]}":                  "",
		"pattern: x, paths: {a: 1, b: 2, include: 3}":        "rules[0].paths",
		"pattern: x, languages: [1, klingon]":                "rules[0].languages",
		"pattern: x, metadata: {score: .nan}":                "rules[0].id",
		"patterns: [{}]":                                     "rules[0].patterns[0]",
		"patterns: [7]":                                      "rules[0].patterns[0]",
	} {
		if !strings.Contains(members, "languages") {
			members += ", languages: [python]"
		}
		_, err := policy.Parse([]byte("rules:\n- {id: a, severity: ERROR, message: m, " + members + "}\n"))
		invalid, ok := errors.AsType[*model.InvalidError](err)
		if ok != (location != "") || ok && (len(invalid.Fields) != 1 || invalid.Fields[0].Location != location) {
			t.Errorf("%s: %v", members, err)
		}
	}
}
