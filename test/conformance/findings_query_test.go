package conformance

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testListSyntax checks that each list may be repeated, comma-separated or sent with brackets
// (docs/reference/requests.md).
func testListSyntax(t *testing.T, w *world) {
	lists := map[string][2]string{
		"repos": {"acme/payments", "zeta/last"}, "repository_ids": {fmt.Sprint(w.projects[0].ID), fmt.Sprint(w.projects[3].ID)},
		"status": {"open", "fixing"}, "triage_reasons": {"no_time", "acceptable_risk"}, "severities": {"low", "critical"},
		"policies": {"rule-board-audit", "rule-board-block"}, "rules": {"python.lang.rule-04", "python.lang.rule-09"},
		"categories": {"security", "correctness"}, "confidence": {"low", "high"}, "component_tags": {"payments", "authentication"},
		"exposures": {"reachable", "unknown"}, "transitivities": {"direct", "unknown"}, "click_to_fix_pr_state": {"open", "merged"},
	}
	for name, v := range lists {
		issueType := "sast"
		if name == "exposures" || name == "transitivities" {
			issueType = "sca"
		}
		want := w.count(t, issueType, name+"="+url.QueryEscape(v[0])) + w.count(t, issueType, name+"="+url.QueryEscape(v[1]))
		if name == "click_to_fix_pr_state" {
			want = w.count(t, issueType, name+"=open&"+name+"=merged") // some have both
		}
		a, b := url.QueryEscape(v[0]), url.QueryEscape(v[1])
		for _, spelling := range []string{
			name + "=" + a + "&" + name + "=" + b,
			name + "=" + a + "," + b,
			name + "=+" + a + ",%20" + b + "+",
			name + "[]=" + a + "&" + name + "[]=" + b,
			name + "[0]=" + a + "&" + name + "[1]=" + b,
			name + "=" + a + "&" + name + "%5B%5D=" + b + "," + a,
		} {
			if got := w.count(t, issueType, spelling); got != want || got == 0 {
				t.Errorf("%s returns %d, want %d", spelling, got, want)
			}
		}
	}
}

// count returns the number of findings of a query.
func (w *world) count(t *testing.T, issueType, query string) int {
	t.Helper()
	out := get[struct {
		SAST struct{ Findings []any } `json:"sastFindings"`
		SCA  struct{ Findings []any } `json:"scaFindings"`
	}](t, w.site, "findings?page_size=3000&issue_type="+issueType+"&"+query)
	return len(out.SAST.Findings) + len(out.SCA.Findings)
}

// testRefForms checks that a ref may be short or full, and that _default sets no filter
// (docs/reference/finding-queries.md).
func testRefForms(t *testing.T, w *world) {
	all := w.count(t, "sast", "")
	for _, c := range []struct {
		spelling, same string
		want           int
	}{
		{"ref=main", "ref=refs/heads/main", -1},
		{"ref=feature/x", "ref=refs%2Fheads%2Ffeature%2Fx", -1},
		{"ref=_default", "", all},
		{"ref=", "", all},
		{"ref=refs/pull/7/merge", "ref=refs%2Fpull%2F7%2Fmerge", -1},
		{"ref=nowhere", "", 0},
		{"ref=pull/7/merge", "", 0},
		{"ref=HEAD", "", 0},
	} {
		got := w.count(t, "sast", c.spelling)
		if c.want >= 0 && got != c.want {
			t.Errorf("%s returns %d, want %d", c.spelling, got, c.want)
		}
		if c.want < 0 && (got == 0 || got == all || got != w.count(t, "sast", c.same)) {
			t.Errorf("%s returns %d of %d, %s another number", c.spelling, got, all, c.same)
		}
	}
}

// testFindingsLimits checks the limits of page and page_size: values out of range are rejected and
// not clamped (docs/reference/requests.md).
func testFindingsLimits(t *testing.T, w *world) {
	for query, bad := range map[string]string{
		"page_size=99": "query.page_size", "page_size=3001": "query.page_size", "page_size=0": "query.page_size",
		"page_size=-1": "query.page_size", "page_size=many": "query.page_size", "page_size=100.5": "query.page_size",
		"page=-1": "query.page", "page=first": "query.page", "page=4294967296": "query.page",
		"dedup=perhaps": "query.dedup", "since=yesterday": "query.since", "since=NaN": "query.since", "since=Inf": "query.since",
		"repository_ids=one": "query.repository_ids", "issue_type=secrets": "query.issue_type", "issue_type=SAST": "query.issue_type",
		"severities=low,urgent": "query.severities[1]", "status=removed": "query.status[0]", "autotriage_verdict=maybe": "query.autotriage_verdict",
		"click_to_fix_pr_state=closed": "query.click_to_fix_pr_state[0]", "confidence=certain": "query.confidence[0]",
		"policies=block": "query.policies[0]", "triage_reasons=duplicate": "query.triage_reasons[0]",
		"issue_type=sca&exposures=often": "query.exposures[0]", "issue_type=sca&transitivities=all": "query.transitivities[0]",
		"issue_type=sca&is_malicious=very": "query.is_malicious",
	} {
		t.Run(query, func(t *testing.T) { invalid(t, w.send(t, request{method: "GET", path: "findings?" + query}), bad) })
	}
	for _, query := range []string{"page_size=100", "page_size=3000", "page=0", "page=4294967295", "page_size=&page=", "unknown=1&pagesize=5", "SEVERITIES=none"} {
		if a := w.send(t, request{method: "GET", path: "findings?" + query}); a.status != 200 {
			t.Errorf("%s returns %d: %s", query, a.status, a.body)
		}
	}
}

// testAllErrorsReported checks that all invalid parameters are reported at once.
func testAllErrorsReported(t *testing.T, w *world) {
	invalid(t, w.send(t, request{method: "GET", path: "findings?page=-1&page_size=5&severities=x&status=y&issue_type=sca&rules=a"}),
		"query.page", "query.page_size", "query.severities[0]", "query.status[0]", "query.rules")
}

// testOtherIssueTypeFilters checks that a filter of the other issue type is rejected
// (docs/reference/finding-queries.md).
func testOtherIssueTypeFilters(t *testing.T, w *world) {
	for query, bad := range map[string]string{
		"issue_type=sca&policies=rule-board-block": "query.policies", "issue_type=sca&rules=a": "query.rules",
		"issue_type=sca&categories=security": "query.categories", "issue_type=sca&confidence=high": "query.confidence",
		"issue_type=sca&autotriage_verdict=true_positive": "query.autotriage_verdict",
		"exposures=reachable":                             "query.exposures", "transitivities=direct": "query.transitivities", "is_malicious=false": "query.is_malicious",
		"issue_type=sast&is_malicious=true": "query.is_malicious",
	} {
		t.Run(query, func(t *testing.T) { invalid(t, w.send(t, request{method: "GET", path: "findings?" + query}), bad) })
	}
}

// testDefaults checks the contract's defaults of absent parameters.
func testDefaults(t *testing.T, w *world) {
	plain := w.findings(t, url.Values{})
	spelt := w.findings(t, url.Values{"issue_type": {"sast"}, "page": {"0"}, "page_size": {"100"}, "dedup": {"false"}, "since": {"0"}})
	if diff := cmp.Diff(spelt, plain); diff != "" {
		t.Error(diff)
	}
	if n := len(plain.SASTFindings.Findings); n != 100 {
		t.Errorf("a page by default has %d findings, want 100", n)
	}
}

// testListsAlwaysPresent checks that both lists are always present (docs/reference/requests.md), byte by
// byte, since some clients stop at a short response.
func testListsAlwaysPresent(t *testing.T, w *world) {
	const empty = `{"sastFindings":{"findings":[]},"scaFindings":{"findings":[]}}`
	for _, query := range []string{"ref=nowhere", "issue_type=sca&ref=nowhere", "page=9999", "issue_type=sca&page=9999"} {
		if got := strings.TrimSpace(string(w.send(t, request{method: "GET", path: "findings?" + query}).body)); got != empty {
			t.Errorf("%s returns %s, want %s", query, got, empty)
		}
	}
	for query, start := range map[string]string{"": `{"sastFindings":{"findings":[{`, "issue_type=sca": `{"sastFindings":{"findings":[]},"scaFindings":{"findings":[{`} {
		if got := w.send(t, request{method: "GET", path: "findings?" + query}).body; !strings.HasPrefix(string(got), start) {
			t.Errorf("%s begins with %.60s, want %s", query, got, start)
		}
	}
}
