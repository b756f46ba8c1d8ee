package conformance

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sharedMembers are the members of a finding in the contract; the value reports whether it may be
// null (docs/reference/requests.md).
var sharedMembers = map[string]bool{
	"id": false, "created_at": false, "relevant_since": false, "state_updated_at": true, "triaged_at": true, "first_seen_scan_id": false,
	"categories": false, "confidence": false, "severity": false, "ref": false, "repository": false, "location": false,
	"line_of_code_url": false, "match_based_id": false, "syntactic_id": false, "rule": false, "rule_name": false, "rule_message": true,
	"state": false, "status": false, "triage_state": false, "triage_reason": true, "triage_comment": true, "external_ticket": true,
	"review_comments": false,
}

var codeMembers = map[string]bool{"sourcing_policy": false, "click_to_fix_prs": false, "click_to_fix_failures": false, "assistant": false}

var supplyMembers = map[string]bool{
	"epss_score": true, "fix_recommendations": false, "found_dependency": false, "is_malicious": false, "reachability": false,
	"reachable_condition": true, "usage": true, "vulnerability_identifier": true,
}

func testCodeShape(t *testing.T, w *world)   { testShape(t, w, "sast", codeMembers) }
func testSupplyShape(t *testing.T, w *world) { testShape(t, w, "sca", supplyMembers) }

// testShape checks the JSON of findings. All members are present, only nullable ones are null, and
// each nullable one is null in some findings and set in others.
func testShape(t *testing.T, w *world, issueType string, own map[string]bool) {
	rows := rawFindings(t, w, issueType)
	null, set := map[string]int{}, map[string]int{}
	for _, row := range rows {
		for name, value := range row {
			_, shared := sharedMembers[name]
			if _, ok := own[name]; !ok && !shared {
				t.Fatalf("member %s does not belong to a %s finding", name, issueType)
			}
			if string(value) == "null" {
				null[name]++
			} else {
				set[name]++
			}
		}
	}
	for _, members := range []map[string]bool{sharedMembers, own} {
		for name, nullable := range members {
			checkMember(t, name, nullable, null[name], set[name], len(rows))
		}
	}
}

func checkMember(t *testing.T, name string, nullable bool, null, set, all int) {
	t.Helper()
	switch {
	case name == "assistant": // omitted when it is empty
		if null > 0 || set == 0 || set == all {
			t.Errorf("assistant is null %d times and there %d times of %d", null, set, all)
		}
	case null+set != all:
		t.Errorf("%s is absent %d times of %d", name, all-null-set, all)
	case !nullable && null > 0:
		t.Errorf("%s is null %d times", name, null)
	case nullable && set == 0 && name != "reachable_condition": // not in the reports of the tests
		t.Errorf("%s is always null", name)
	case nullable && null == 0 && name != "rule_message" && name != "vulnerability_identifier": // set in all test rules
		t.Errorf("%s is never null", name)
	}
}

// rawFindings returns findings without decoding them into structs.
func rawFindings(t *testing.T, w *world, issueType string) []map[string]json.RawMessage {
	t.Helper()
	out := get[map[string]struct{ Findings []map[string]json.RawMessage }](t, w.site, "findings?page_size=3000&issue_type="+issueType)
	return append(out["sastFindings"].Findings, out["scaFindings"].Findings...)
}

var wireTime = regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"$`)

// testTimes checks that date-times have six fractional digits and Z (docs/reference/requests.md).
func testTimes(t *testing.T, w *world) {
	for _, issueType := range []string{"sast", "sca"} {
		for _, row := range rawFindings(t, w, issueType) {
			for _, name := range []string{"created_at", "relevant_since", "state_updated_at", "triaged_at"} {
				if v := row[name]; string(v) != "null" && !wireTime.Match(v) {
					t.Fatalf("%s is %s", name, v)
				}
			}
		}
	}
	for _, path := range []string{"projects", "policies/" + w.policyID(t, "PRODUCT_TYPE_SAST")} {
		body := string(w.send(t, request{method: "GET", path: path}).body)
		for _, m := range regexp.MustCompile(`"(created_at|latest_scan_at|lastChangeAt)":("[^"]*")`).FindAllStringSubmatch(body, -1) {
			if !wireTime.MatchString(m[2]) {
				t.Fatalf("%s of %s is %s", m[1], path, m[2])
			}
		}
	}
}

// testNullConditions checks the conditions under which members are null.
func testNullConditions(t *testing.T, w *world) {
	for _, f := range w.code {
		if (f.TriagedAt == nil) != (f.TriageState == "untriaged") {
			t.Errorf("%d is %s and triaged at %v", f.ID, f.TriageState, f.TriagedAt)
		}
		if (f.TriageReason == nil) == (f.TriageState == "ignored") {
			t.Errorf("%d is %s with reason %v", f.ID, f.TriageState, f.TriageReason)
		}
		if (f.State == "fixed") && f.StateUpdatedAt == nil {
			t.Errorf("%d is fixed, but never changed", f.ID)
		}
		if want := statusOf(f.State, f.TriageState); f.Status != want {
			t.Errorf("%d is %s and %s, and shows %s, want %s", f.ID, f.State, f.TriageState, f.Status, want)
		}
		if f.Rule.Name != f.RuleName || !strings.HasPrefix(f.LineOfCodeURL, "https://") || f.SourcingPolicy == nil || f.SourcingPolicy.Slug != "code" {
			t.Errorf("%d has rule %q, link %q and policy %v", f.ID, f.Rule.Name, f.LineOfCodeURL, f.SourcingPolicy)
		}
	}
	for _, f := range w.supply {
		if rule := w.rules[f.RuleName]; f.IsMalicious != (rule.scaKind == "malicious") || deref(f.VulnerabilityIdentifier) != rule.vulnerable {
			t.Errorf("%d of %s: malicious %v, %v", f.ID, f.RuleName, f.IsMalicious, f.VulnerabilityIdentifier)
		}
		if f.FoundDependency.LockfileLineURL == nil || (f.Usage == nil) == strings.HasPrefix(f.Location.FilePath, "src/") {
			t.Errorf("%d at %s has use %v and lockfile line %v", f.ID, f.Location.FilePath, f.Usage, f.FoundDependency.LockfileLineURL)
		}
	}
}

// statusOf implements the table of docs/reference/findings.md.
func statusOf(state, triage string) string {
	switch {
	case state == "fixed":
		return "fixed"
	case state == "muted", triage == "ignored":
		return "ignored"
	case slices.Contains([]string{"reviewing", "fixing"}, triage):
		return triage
	}
	return "open"
}
