package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

// TestGatherReportsAllErrors checks that files of rules result in all rules or all errors with
// file names.
func TestGatherReportsAllErrors(t *testing.T) {
	rule := func(id, pattern, more string) string {
		return fmt.Sprintf("- {id: %s, message: m, severity: ERROR, languages: [go], pattern: %q%s}\n", id, pattern, more)
	}
	for _, c := range []struct {
		name  string
		files []string
		want  []string // IDs, or errors
		bad   bool
	}{
		{"two files", []string{rule("a", "x", "") + rule("b", "y", ""), rule("c", "z", "")}, []string{"a", "b", "c"}, false},
		{"the same rule twice", []string{rule("a", "x", ""), rule("a", "x", "")}, []string{"a"}, false},
		{"two rules of one id", []string{rule("a", "x", ""), rule("a", "y", "")}, []string{"1.yaml: a"}, true},
		{"another product", []string{rule("a", "x", ", metadata: {product: secrets}")}, []string{"0.yaml: a"}, true},
		{"all faults of all files", []string{rule("a b", "x", ""), rule("c", "", ""), "- 3\n"}, []string{"0.yaml: rules[0].id", "1.yaml: rules[0].pattern", "2.yaml: rules"}, true},
	} {
		var files []policy.File
		for i, text := range c.files {
			files = append(files, policy.File{Name: fmt.Sprintf("%d.yaml", i), Text: []byte("rules:\n" + text)})
		}
		rules, err := policy.Gather(model.SAST, files...)
		var got []string
		for _, r := range rules {
			got = append(got, r.ID)
		}
		if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
			for _, f := range invalid.Fields {
				got = append(got, f.Location)
			}
		}
		if !slices.Equal(got, c.want) || (err != nil) != c.bad || c.bad && rules != nil {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	text, err := policy.YAML([]byte(`{"id":"a","message":"m\nn","severity":"ERROR","languages":["go"],"pattern":"$X"}`))
	if back, failed := policy.Gather(model.SAST, policy.File{Text: text}); err != nil || failed != nil || len(back) != 1 || !strings.HasPrefix(string(text), "rules:\n  - id: a\n") {
		t.Errorf("%s, %v, %v", text, err, failed)
	}
}
