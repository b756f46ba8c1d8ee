package report

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/semgrep"
)

// TestSemgrepCodeHash compares the hash with the recorded upload of the same run.
func TestSemgrepCodeHash(t *testing.T) {
	// From the recorded upload of the run of captures/full.json.
	want := map[string]string{
		"sca-probe": "b03321d82cea4ada79ef4921888416c36acfe0789d1424ed208aab9f4f645bf3",
	}
	data, err := os.ReadFile("testdata/captures/full.json")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, res := range readOne(t, "full.json", string(data)).Results {
		if hash := want[res.Rule.Name]; hash != "" {
			found++
			if res.CodeHash != hash {
				t.Errorf("%s: code hash %s, want %s", res.Rule.Name, res.CodeHash, hash)
			}
		}
	}
	if found != len(want) {
		t.Errorf("%d of %d results found", found, len(want))
	}
}

func TestSemgrepCodeHashIgnoresLayout(t *testing.T) {
	same := []string{
		"if x:\n    y()",
		"    if x:\n        y()\n",
		"if x:  # nosemgrep\n    y()",
		"if x:  # nosem: a.b, c.d\n    y()",
		"\tif x: // nosemgrep=a\n\t    y()",
		"if x:  # NOSEM\n    y()",
	}
	for _, s := range same[1:] {
		if semgrep.SyntacticContext(s) != semgrep.SyntacticContext(same[0]) {
			t.Errorf("%q reads otherwise than %q", s, same[0])
		}
	}
	if semgrep.SyntacticContext("if x:\n  y()") == semgrep.SyntacticContext(same[0]) {
		t.Error("other code reads the same")
	}
}

// semgrepOne reads a report with one result.
func semgrepOne(t *testing.T, severity, metadata, extra string) model.Result {
	t.Helper()
	r := readOne(t, "x", fmt.Sprintf(`{"skipped_rules":[],"results":[{"check_id":"r","path":"a.py","extra":{"severity":%q,"metadata":%s%s}}]}`,
		severity, metadata, extra))
	if len(r.Results) != 1 {
		t.Fatalf("refused: %v", r.Refused)
	}
	return r.Results[0]
}

func TestSemgrepSeverity(t *testing.T) {
	sca := `,"sca_info":{"dependency_match":{"lockfile":"go.mod"}}`
	tests := []struct {
		word, metadata, extra string
		want                  model.Severity
	}{
		{"INFO", `{}`, "", model.SeverityLow},
		{"WARNING", `{}`, "", model.SeverityMedium},
		{"ERROR", `{}`, "", model.SeverityHigh},
		{"LOW", `{}`, "", model.SeverityLow},
		{"MEDIUM", `{}`, "", model.SeverityMedium},
		{"HIGH", `{}`, "", model.SeverityHigh},
		{"CRITICAL", `{}`, "", model.SeverityCritical},
		{"EXPERIMENT", `{}`, "", model.SeverityLow},
		{"INVENTORY", `{}`, "", model.SeverityLow},
		{"", `{}`, "", model.SeverityMedium},
		{"INFO", `{"sca-severity":"CRITICAL"}`, "", model.SeverityLow},
		{"INFO", `{"sca-severity":"CRITICAL"}`, sca, model.SeverityCritical},
		{"INFO", `{"sca-severity":"MODERATE"}`, sca, model.SeverityMedium},
		{"ERROR", `{}`, sca, model.SeverityHigh},
	}
	for _, test := range tests {
		if got := semgrepOne(t, test.word, test.metadata, test.extra).Severity; got != test.want {
			t.Errorf("%s %s %s: %v, want %v", test.word, test.metadata, test.extra, got, test.want)
		}
	}
}

func TestSemgrepModeAndBlocking(t *testing.T) {
	sca := func(kind, transitivity string, reachable bool) string {
		return fmt.Sprintf(`,"sca_info":{"reachable":%v,"dependency_match":{"lockfile":"go.mod","found_dependency":{"transitivity":%q}}}`, reachable, transitivity)
	}
	tests := []struct {
		metadata, extra string
		mode            model.PolicyMode
		blocking        bool
	}{
		{`{}`, "", 0, true},
		{`{"dev.semgrep.actions":null}`, "", 0, true},
		{`{"dev.semgrep.actions":[]}`, "", model.ModeMonitor, false},
		{`{"dev.semgrep.actions":["comment"]}`, "", model.ModeComment, false},
		{`{"dev.semgrep.actions":["comment","block"]}`, "", model.ModeBlock, true},
		{`{"dev.semgrep.actions":["block"]}`, `,"is_ignored":true`, model.ModeBlock, false},
		{`{"dev.semgrep.actions":["block"]}`, `,"validation_state":"NO_VALIDATOR"`, model.ModeBlock, true},
		{`{"dev.semgrep.actions":["block"]}`, `,"validation_state":"CONFIRMED_INVALID"`, model.ModeBlock, false},
		{`{"dev.semgrep.actions":[],"dev.semgrep.validation_state.actions":{"valid":"block"}}`, `,"validation_state":"CONFIRMED_VALID"`, model.ModeMonitor, true},
		{`{"dev.semgrep.actions":["block"]}`, sca("", "direct", true), model.ModeBlock, true},
		{`{"dev.semgrep.actions":["block"]}`, sca("", "direct", false), model.ModeBlock, false},
		{`{"dev.semgrep.actions":["block"],"sca-kind":"upgrade-only"}`, sca("", "direct", false), model.ModeBlock, true},
		{`{"dev.semgrep.actions":["block"],"sca-kind":"upgrade-only"}`, sca("", "transitive", false), model.ModeBlock, false},
		{`{"dev.semgrep.actions":["block"],"sca-kind":"legacy"}`, sca("", "direct", true), model.ModeBlock, false},
	}
	for _, test := range tests {
		got := semgrepOne(t, "ERROR", test.metadata, test.extra)
		if got.Rule.Mode != test.mode || got.Blocking != test.blocking {
			t.Errorf("%s %s: mode %v, blocking %v; want %v, %v", test.metadata, test.extra, got.Rule.Mode, got.Blocking, test.mode, test.blocking)
		}
	}
}

func TestSemgrepFailed(t *testing.T) {
	for errors, want := range map[string]bool{
		`[]`:                                false,
		`null`:                              false,
		`[{"level":"warn"}]`:                false,
		`[{"level":"error","path":"a.py"}]`: false,
		`[{"level":"error","spans":[{"file":"a.py"}]}]`:    false,
		`[{"level":"error","rule_id":"r","type":"parse"}]`: true,
		`[{"level":"error","code":2}]`:                     true,
	} {
		if r := readOne(t, "x", `{"skipped_rules":[],"results":[],"errors":`+errors+`}`); r.Failed != want {
			t.Errorf("errors %s: failed %v, want %v", errors, r.Failed, want)
		}
	}
}

// TestSemgrepRulesSharedByMetadata checks that only results with equal metadata share a rule.
func TestSemgrepRulesSharedByMetadata(t *testing.T) {
	result := func(metadata string) string {
		return `{"check_id":"r","path":"a.py","extra":{"severity":"INFO","metadata":` + metadata + `}}`
	}
	r := readOne(t, "x", `{"skipped_rules":[],"results":[`+result(`{"cwe":"1"}`)+","+result(`{"cwe":"1"}`)+","+result(`{"cwe":"2"}`)+`]}`)
	if len(r.Rules) != 2 || r.Results[0].Rule != r.Results[1].Rule || r.Results[0].Rule == r.Results[2].Rule {
		t.Errorf("%d rules", len(r.Rules))
	}
}

func TestLooseTypes(t *testing.T) {
	for in, want := range map[string]read.Number{
		`1`: 1, `1.0`: 1, `"12"`: 12, `" 7 "`: 7, `1e3`: 1000, `null`: 0, `-3`: 0, `"x"`: 0, `{}`: 0, `[1]`: 0, `true`: 0,
		`99999999999999999999`: 1<<31 - 1, `1e400`: 0,
	} {
		var n read.Number
		if err := json.Unmarshal([]byte(in), &n); err != nil || n != want {
			t.Errorf("number %s = %d, %v; want %d", in, n, err, want)
		}
	}
	for in, want := range map[string]int{`"a"`: 1, `["a","b",null,3]`: 3, `null`: 0, `{}`: 0, `[["x"],{}]`: 0, `7`: 1} {
		var l read.Texts
		if err := json.Unmarshal([]byte(in), &l); err != nil || len(l) != want {
			t.Errorf("texts %s = %q, %v; want %d", in, l, err, want)
		}
	}
}
