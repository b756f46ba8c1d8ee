package rulefiles

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/testutil/scannertest"
)

// TestSchemaComparedWithScanner compares the schema with the real scanner. Faults that only the scanner
// finds are the reason to mark rules as unchecked.
func TestSchemaComparedWithScanner(t *testing.T) {
	semgrep := scannertest.Forked(t)
	a := &command.App{Ctx: t.Context(), Out: t.Output(), Err: t.Output(), Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	const rest = "languages: [python], severity: ERROR, message: m"
	for _, c := range []struct {
		what, rule      string
		schema, scanner bool // whether it accepts the rule
	}{
		{"a good one", "id: a, " + rest + ", pattern: x, unheard-of: yes", true, true},
		{"a pattern that does not parse", "id: a, " + rest + ", pattern: 'foo((('", true, false},
		{"a regular expression that does not parse", "id: a, " + rest + ", pattern-regex: '((('", true, false},
		{"a language that is none", "id: a, languages: [pyton], severity: ERROR, message: m, pattern: x", false, false},
		{"an operator that is none", "id: a, " + rest + ", patterns: [{pattern: x}, {metavariable-regexp: {metavariable: $X, regex: a}}]", false, false},
		{"a focus on several metavariables", "id: a, " + rest + ", patterns: [{pattern: 'f($X, $Y)'}, {focus-metavariable: [$X, $Y]}]", true, true},
		{"a focus that is no metavariable", "id: a, " + rest + ", patterns: [{pattern: 'f($X)'}, {focus-metavariable: [{pattern: $X}]}]", false, false},
		{"a mode that is none", "id: a, " + rest + ", mode: tainted, pattern: x", false, false},
		{"paths of another shape", "id: a, " + rest + ", pattern: x, paths: [src]", false, false},
		{"no message", "id: a, languages: [python], severity: ERROR, pattern: x", false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			text := []byte("rules:\n- {" + c.rule + "}\n")
			_, err := policy.Parse(text)
			if took := err == nil; took != c.schema {
				t.Errorf("the schema takes it: %v (%v)", took, err)
			}
			var invalid *model.InvalidError
			if err != nil && !errors.As(err, &invalid) {
				t.Errorf("the fault is not placed: %v", err)
			}
			var rule map[string]any
			if err := yaml.Unmarshal([]byte("{"+c.rule+"}"), &rule); err != nil {
				t.Fatal(err)
			}
			asJSON, err := json.Marshal(rule)
			if err != nil {
				t.Fatal(err)
			}
			checked, err := checkRules(a, semgrep, []policy.Rule{{Text: asJSON}})
			if checked != c.scanner || (err == nil) != c.scanner {
				t.Errorf("the scanner takes it: %v (%v)", checked, err)
			}
		})
	}
}
