package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/bom"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/semgrep"
)

// TestMinimalItemUploadsAreBounded checks that small uploads with many minimal items are rejected because
// of the memory they would need.
func TestMinimalItemUploadsAreBounded(t *testing.T) {
	const many = 400_000
	list := func(head, item, tail string) string {
		return head + item + strings.Repeat(","+item, many-1) + tail
	}
	for name, test := range map[string]struct {
		format format.Format
		text   string
	}{
		"SARIF runs":               {format.SARIF, list(`{"runs":[`, `{}`, `]}`)},
		"SARIF invocations":        {format.SARIF, list(`{"runs":[{"invocations":[`, `{}`, `]}]}`)},
		"SARIF rules":              {format.SARIF, list(`{"runs":[{"tool":{"driver":{"rules":[`, `{}`, `]}}}]}`)},
		"SARIF results of one run": {format.SARIF, list(`{"runs":[{"results":[`, `{"ruleId":"a","analysisTarget":{"uri":"b"}}`, `]}]}`)},
		"semgrep":                  {format.SemgrepJSON, list(`{"results":[`, `{"check_id":"a","path":"b","extra":{}}`, `]}`)},
		"gitleaks":                 {format.GitleaksJSON, list(`[`, `{"RuleID":"a","File":"b"}`, `]`)},
		"Trivy targets":            {format.TrivyJSON, list(`{"SchemaVersion":2,"Results":[`, `{}`, `]}`)},
		"Brakeman":                 {format.BrakemanJSON, list(`{"warnings":[`, `{"warning_code":1,"file":"b"}`, `]}`)},
		"CycloneDX":                {format.CycloneDXJSON, list(`{"bomFormat":"CycloneDX","specVersion":"1.5","components":[`, `{"name":"a"}`, `]}`)},
		"CycloneDX in XML":         {format.CycloneDXXML, `<bom xmlns="http://cyclonedx.org/schema/bom/1.5"><components>` + strings.Repeat(`<component/>`, many) + `</components></bom>`},
		"SPDX":                     {format.SPDXJSON, list(`{"spdxVersion":"SPDX-2.3","packages":[`, `{}`, `]}`)},
		"OpenVEX":                  {format.OpenVEXJSON, list(`{"@context":"https://openvex.dev/ns","statements":[`, `{}`, `]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(strings.NewReader(test.text), format.Options{Name: "x", Format: test.format})
			if !errors.Is(err, model.ErrTooLarge) {
				t.Errorf("%d bytes: %v", len(test.text), err)
			}
		})
	}
}

// TestSplitUploadAdvice checks that parts uploaded according to the advice do not replace each other.
func TestSplitUploadAdvice(t *testing.T) {
	list := func(head, item string) string { return head + item + strings.Repeat(","+item, 400_000) + `]}` }
	for name, c := range map[string]struct{ text, advice string }{
		"a bill of materials": {list(`{"bomFormat":"CycloneDX","specVersion":"1.5","components":[`, `{"name":"a","version":"1"}`), "files of different names, each in a separate upload"},
		"packages of SPDX":    {list(`{"spdxVersion":"SPDX-2.3","packages":[`, `{}`), "files of different names, each in a separate upload"},
		"a scanner's report":  {list(`{"results":[`, `{"check_id":"a","path":"b","extra":{}}`), "each report with its own category"},
	} {
		_, err := Read(strings.NewReader(c.text), format.Options{Name: "x.json"})
		if err == nil || !strings.HasSuffix(err.Error(), c.advice) || !strings.Contains(err.Error(), "more than 64 MiB and 40 times its ") || !strings.Contains(err.Error(), "the file was not imported") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFilesShareMemoryLimit checks that the memory limit applies to all files of an upload together.
func TestFilesShareMemoryLimit(t *testing.T) {
	const item = `{"ruleId":"a","analysisTarget":{"uri":"b"}}`
	text := `{"runs":[{"results":[` + item + strings.Repeat(","+item, 15_000) + `]}]}`
	var r Reading
	built := 0
	o := format.Options{Name: "x.sarif", Built: func(n int) error { built += n; return nil }}
	if err := r.Add(strings.NewReader(text), o); err != nil {
		t.Fatalf("the first: %v", err)
	}
	if int64(built) != r.budget.Built || built < 10<<20 {
		t.Errorf("%d of %d bytes were reported", built, r.budget.Built)
	}
	var err error
	for range 5 {
		err = errors.Join(err, r.Add(strings.NewReader(text), o))
	}
	if !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("six together: %v", err)
	}
}

// TestResultsWithoutRuleAreRejected checks that results without a rule are refused immediately.
func TestResultsWithoutRuleAreRejected(t *testing.T) {
	text := `{"runs":[{"results":[{"ruleId":"a","analysisTarget":{"uri":"b"}}` + strings.Repeat(`,{}`, 20_001) + `]}]}`
	reports, err := Read(strings.NewReader(text), format.Options{Name: "x.sarif"})
	if err != nil || len(reports[0].Refused) != model.MaxRefused || reports[0].CountRefused() != 20_001 {
		t.Errorf("%v", err)
	}
}

// TestDeepComponents checks the limit of nested components.
func TestDeepComponents(t *testing.T) {
	const deep = 500
	text := `{"bomFormat":"CycloneDX","specVersion":"1.5","components":[` + strings.Repeat(`{"type":"library","name":"a","version":"1","components":[`, deep) +
		strings.Repeat(`]}`, deep) + `]}`
	reports, err := Read(strings.NewReader(text), format.Options{Name: "x.cdx.json"})
	if err != nil || reports[0].CountRefused() != 1 || !strings.Contains(reports[0].Refused[0].Reason, "levels deep") {
		t.Fatalf("%v, %d refused", err, reports[0].CountRefused())
	}
	if item := reports[0].Refused[0].Item; strings.Count(item, ".") != bom.MaxComponentDepth {
		t.Errorf("refused at %s", item)
	}
}

// TestNestedMetavariablesAreBounded checks that nested metavariables are limited. Without a limit
// their formula would have about 10^18 bytes.
func TestNestedMetavariablesAreBounded(t *testing.T) {
	var metavars strings.Builder
	name := "$LONGNAME"
	for i := range 8 {
		next := strings.Repeat(string(rune('b'+i)), len(name)-1)
		fmt.Fprintf(&metavars, `,%q:{"abstract_content":%q}`, name, strings.Repeat(next+" ", 200))
		name = next
	}
	item := `{"check_id":"r","path":"a.py","start":{"line":1,"col":1},"end":{"line":1,"col":9},"extra":{"metadata":{},"message":"m","lines":"x","metavars":{` + metavars.String()[1:] + `}}}`
	rule := func(string) []byte { return []byte(`{"pattern":"f($LONGNAME)"}`) }
	reports, err := Read(strings.NewReader(`{"skipped_rules":[],"results":[`+item+`]}`), format.Options{Name: "x.json", RuleText: rule})
	if err != nil {
		t.Fatal(err)
	}
	if res := reports[0].Results[0]; res.MatchBasedID != "" || res.SyntacticID == "" {
		t.Errorf("the ids are %q and %q", res.MatchBasedID, res.SyntacticID)
	}
	if formula, ok := semgrep.Bind("f($X)", []semgrep.Metavar{{Name: "$X", Content: strings.Repeat("x", semgrep.MaxFormula)}}); ok || formula != "" {
		t.Error("a formula is bound beyond the bound")
	}
}

// TestSharedTextsCountPerResult checks that long texts shared by many results count for each,
// because each result stores a copy.
func TestSharedTextsCountPerResult(t *testing.T) {
	text := strings.Repeat("x", 60<<10)
	for name, test := range map[string]struct {
		format format.Format
		text   string
	}{
		"npm audit":   {format.NPMAuditJSON, `{"auditReportVersion":1,"advisories":{"1":{"id":1,"module_name":"a","overview":"` + text + `","findings":[` + manyOf(900, `{"version":"1.0.#"}`) + `]},"2":{"id":2,"module_name":"a"}}}`},
		"govulncheck": {format.GovulncheckJSON, `{"config":{}}` + "\n" + `{"osv":{"id":"O","details":"` + text + `"}}` + strings.Repeat("\n"+`{"finding":{"osv":"O","trace":[{"module":"m","version":"v1.0.0"}]}}`, 1) + "\n" + strings.ReplaceAll(manyOf(2_000, `{"finding":{"osv":"O","trace":[{"module":"m#"}]}}`), `},{"finding`, "}\n{\"finding")},
		"CycloneDX": {format.CycloneDXJSON, `{"bomFormat":"CycloneDX","specVersion":"1.5","components":[` + manyOf(2_000, `{"type":"library","bom-ref":"#","name":"a#","version":"1","purl":"pkg:npm/a#@1"}`) +
			`],"vulnerabilities":[{"id":"CVE-2026-1","description":"` + text + `","affects":[` + manyOf(2_000, `{"ref":"#"}`) + `]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r Reading
			err := r.Add(strings.NewReader(test.text), format.Options{Name: "x", Format: test.format})
			if !errors.Is(err, model.ErrTooLarge) || !strings.Contains(err.Error(), "many small items") {
				t.Errorf("%d bytes: %v", len(test.text), err)
			}
		})
	}
}
