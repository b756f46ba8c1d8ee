package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestFaultsOfRulesAreBounded checks that errors of a hostile file are limited, and that its valid
// rules are returned.
func TestFaultsOfRulesAreBounded(t *testing.T) {
	deep := "{}"
	for range 3000 {
		deep = "{q0: 1, q1: 1, q2: 1, patterns: [" + deep + "]}"
	}
	const good = "- {id: good, message: m, severity: ERROR, languages: [go], pattern: x}\n"
	for name, text := range map[string]string{
		"one rule that nests":  "- {id: a, message: m, severity: ERROR, languages: [go], patterns: [" + deep + "]}\n",
		"many that say little": strings.Repeat("- {}\n", 50_000),
	} {
		rules, err := ParseValid([]byte("rules:\n" + text + good))
		invalid, ok := errors.AsType[*model.InvalidError](err)
		if !ok {
			t.Fatalf("%s: %v", name, err)
		}
		size := 0
		for _, f := range invalid.Fields {
			size += len(f.Location) + len(f.Message)
		}
		if len(invalid.Fields) > maxFaults+1 || size > 1<<20 {
			t.Errorf("%s: %d faults of %d bytes", name, len(invalid.Fields), size)
		}
		if len(rules) != 1 || rules[0].ID != "good" {
			t.Errorf("%s: %d rules will do", name, len(rules))
		}
	}
}

// TestRulesSharingAliasesAreBounded checks the limit for rules that share a long text by YAML
// aliases.
func TestRulesSharingAliasesAreBounded(t *testing.T) {
	text := "x: &a " + strings.Repeat("A", 1<<20) + "\nrules:\n"
	for i := range 2000 {
		text += fmt.Sprintf("- {id: r%d, message: *a, severity: ERROR, languages: [go], pattern: x}\n", i)
	}
	rules, err := ParseValid([]byte(text))
	size := 0
	for _, r := range rules {
		size += len(r.Text)
	}
	if err == nil || size > maxFile+1<<20 {
		t.Errorf("%d rules of %d bytes, %v", len(rules), size, err)
	}
}

func TestGatheredRulesAreBounded(t *testing.T) {
	file := func(n int) File {
		text := "rules:\n"
		for i := range n {
			text += fmt.Sprintf("- {id: r%d, message: m, severity: ERROR, languages: [go], pattern: x}\n", i)
		}
		return File{Name: "many.yaml", Text: []byte(text)}
	}
	if rules, err := Gather(model.SAST, file(MaxGathered)); err != nil || len(rules) != MaxGathered {
		t.Errorf("as many as may be: %d, %v", len(rules), err)
	}
	if _, err := Gather(model.SAST, file(MaxGathered+1)); err == nil || !strings.Contains(err.Error(), "300") {
		t.Errorf("one more: %v", err)
	}
}
