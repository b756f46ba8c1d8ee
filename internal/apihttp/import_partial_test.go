package apihttp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// page is a scanner's report for t.html: matches of acme.script by line, with different code, and
// an error.
type page struct {
	code  map[int]string
	error string
	sarif bool
}

func (p page) report() string {
	var results []string
	form := `{"check_id":"acme.script","path":"t.html","start":{"line":%d,"col":1},"end":{"line":%[1]d,"col":8},"extra":{"severity":"ERROR","message":"x","metadata":{},"lines":%q}}`
	if p.sarif {
		form = `{"ruleId":"acme.script","message":{"text":"x"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"t.html"},"region":{"startLine":%d,"startColumn":1,"snippet":{"text":%q}}}}]}`
	}
	for line, code := range p.code {
		results = append(results, fmt.Sprintf(form, line, code))
	}
	all := strings.Join(results, ",")
	if p.sarif {
		return `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Semgrep OSS","rules":[{"id":"acme.script"}]}},"results":[` + all + `],
			"invocations":[{"executionSuccessful":true,"toolExecutionNotifications":[` + p.error + `]}]}]}`
	}
	return `{"version":"1.180.0","errors":[` + p.error + `],"paths":{"scanned":["t.html"]},"results":[` + all + `]}`
}

// partialParse returns Semgrep's error for a file with ranges of lines that could not be parsed.
func partialParse(ranges ...[2]int) string {
	var spans []string
	for _, r := range ranges {
		spans = append(spans, fmt.Sprintf(`{"file":"t.html","start":{"line":%d,"col":1},"end":{"line":%d,"col":9}}`, r[0], r[1]))
	}
	return `{"code":3,"level":"warn","type":["PartialParsing",[]],"path":"t.html","spans":[` + strings.Join(spans, ",") + `]}`
}

func failure(kind string) string {
	return `{"code":3,"level":"warn","type":"` + kind + `","path":"t.html"}`
}

func notice(kind, text string) string {
	return fmt.Sprintf(`{"descriptor":{"id":%q},"level":"warning","message":{"text":%q}}`, kind, text)
}

// TestPartialParseFixesOnlyParsedLines checks that missing findings of a partially parsed file are
// fixed, except on the unparsed lines. Rules that do not parse code are not affected.
func TestPartialParseFixesOnlyParsedLines(t *testing.T) {
	before := map[int]string{2: "script b", 5: "script a", 7: "script d"}
	after := map[int]string{5: "script c"}
	syntax := notice("Syntax error", "Syntax error at line t.html:1:\n `{%` was unexpected")
	for name, test := range map[string]struct {
		language string // language of the policy's rule; empty if no policy has the rule
		error    string
		sarif    bool
		want     []int64 // lines of open findings
	}{
		"nothing failed":                     {"", "", false, []int64{5}},
		"an unknown rule":                    {"", partialParse([2]int{1, 2}, [2]int{6, 6}), false, []int64{2, 5}},
		"a rule that parses":                 {"html", partialParse([2]int{1, 2}, [2]int{6, 6}), false, []int64{2, 5}},
		"in the other span":                  {"html", partialParse([2]int{1, 1}, [2]int{6, 7}), false, []int64{5, 7}},
		"two errors":                         {"html", partialParse([2]int{1, 2}) + "," + partialParse([2]int{6, 7}), false, []int64{2, 5, 7}},
		"a regex":                            {"regex", partialParse([2]int{1, 2}, [2]int{6, 6}), false, []int64{5}},
		"a generic rule":                     {"generic", partialParse([2]int{1, 99}), false, []int64{5}},
		"no spans":                           {"regex", partialParse(), false, []int64{2, 5, 5, 7}},
		"a span without lines":               {"regex", partialParse([2]int{0, 0}), false, []int64{2, 5, 5, 7}},
		"a timeout":                          {"regex", failure("Timeout"), false, []int64{2, 5, 5, 7}},
		"a lexical error":                    {"regex", failure("Lexical error"), false, []int64{2, 5, 5, 7}},
		"a syntax error":                     {"regex", failure("Syntax error"), false, []int64{2, 5, 5, 7}},
		"a timeout besides":                  {"regex", partialParse([2]int{1, 2}) + "," + failure("Timeout"), false, []int64{2, 5, 5, 7}},
		"SARIF: an unknown rule":             {"", syntax, true, []int64{2, 5, 5, 7}},
		"SARIF: a rule that parses":          {"html", syntax, true, []int64{2, 5, 5, 7}},
		"SARIF: a regex":                     {"regex", syntax, true, []int64{5}},
		"SARIF: a regex that took its time":  {"regex", notice("Timeout", "Timeout when running acme.script on t.html:\n "), true, []int64{2, 5, 5, 7}},
		"SARIF: a regex with a timeout also": {"regex", syntax + "," + notice("Timeout", "Timeout when running acme.script on t.html:\n "), true, []int64{2, 5, 5, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			if test.language != "" {
				text := "rules: [{id: acme.script, languages: [" + test.language + "], severity: ERROR, message: x, pattern: x}]"
				if _, err := h.client.AddPolicyRules(t.Context(), "acme", h.policyOf("PRODUCT_TYPE_SAST"), api.AddPolicyRulesRequest{Text: text}); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range []page{{code: before, sarif: test.sarif}, {code: after, error: test.error, sarif: test.sarif}} {
				if a := h.send(http.MethodPost, imports+"?project=acme/shop&ref=main&full=true", p.report()); a.status != http.StatusOK {
					t.Fatalf("%d %s", a.status, a.body)
				}
			}
			if got := h.openLines(); !slices.Equal(got, test.want) {
				t.Errorf("open on lines %v, want %v", got, test.want)
			}
		})
	}
}

// openLines returns the lines of open code findings, ascending.
func (h *harness) openLines() (lines []int64) {
	h.t.Helper()
	list, err := h.client.ListFindings(h.t.Context(), "acme", api.FindingsQuery{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range list.SASTFindings.Findings {
		if f.State == "unresolved" {
			lines = append(lines, f.Location.Line)
		}
	}
	slices.Sort(lines)
	return lines
}
