package conformance

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// postCondition adds a condition to the default policy of a product over HTTP, and returns its path.
func (s *site) postCondition(t *testing.T, product string, body object) string {
	t.Helper()
	path := "policies/" + (&world{site: s}).policyID(t, "PRODUCT_TYPE_"+product) + "/conditions"
	made := read[api.PolicyConditionResponse](t, s.send(t, request{method: "POST", path: path, body: body}))
	return fmt.Sprint(path, "/", made.Condition.ID)
}

// sarif returns a report of a scanner other than Semgrep, whose rules have no severity.
func sarif(results string) []byte {
	return []byte(`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"elsewhere"}},"results":[` + results + `]}]}`)
}

func sarifResult(rule, level, path string) string {
	return fmt.Sprintf(`{"ruleId":%q,%s"message":{"text":"%s"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":%q},"region":{"startLine":3,"snippet":{"text":"%s"}}}}]}`,
		rule, level, rule, path, rule)
}

// idsOf returns the ids of listed code findings, ascending.
func (s *site) idsOf(t *testing.T, query string) (ids []int64) {
	t.Helper()
	for _, f := range get[api.ListFindingsResponse](t, s, "findings?issue_type=sast&page_size=1000&"+query).SASTFindings.Findings {
		ids = append(ids, f.ID)
	}
	slices.Sort(ids)
	return ids
}

func blockingIDs(g api.ImportGate) (ids []int64) {
	for _, item := range g.Blocking {
		ids = append(ids, item.FindingID)
	}
	slices.Sort(ids)
	return ids
}

// sameIDs checks that both lists contain the same ids, and their number.
func sameIDs(t *testing.T, what string, got, want []int64, n int) {
	t.Helper()
	if !slices.Equal(got, want) || len(got) != n {
		t.Errorf("%s: %v, want %v, %d of them", what, got, want, n)
	}
}

// TestSeverityConditionsUseFindingSeverity checks that a condition of the code policy evaluates the
// severity of the finding. The scanner and the default of the rule do not matter.
func TestSeverityConditionsUseFindingSeverity(t *testing.T) {
	bandit, err := os.ReadFile("../../internal/report/testdata/real/bandit.sarif")
	if err != nil {
		t.Fatal(err)
	}
	const topic = "project=acme/app&ref=topic&full=true"
	each(t, func(t *testing.T, s *site) {
		s.gated(t, "project=acme/app&ref=main&full=true", sarif(sarifResult("first", `"level":"note",`, "a.py")))
		if got := s.gated(t, topic, bandit); got.Blocked {
			t.Fatalf("blocked without a condition: %s", got.Reason)
		}
		condition := s.postCondition(t, "SAST", object{"mode": "block", "severity": "high"})
		got := s.gated(t, topic, bandit)
		high := s.idsOf(t, "severities=high&severities=critical")
		sameIDs(t, "the gate", blockingIDs(got), high, 5)
		sameIDs(t, "policy_mode=block", s.idsOf(t, "policy_mode=block"), high, 5)
		sameIDs(t, "rule-board-block", s.idsOf(t, "policies=rule-board-block"), high, 5)
		sameIDs(t, "policy_mode=monitor", s.idsOf(t, "policy_mode=monitor"), s.idsOf(t, "severities=low&severities=medium"), 17)
		if !got.Blocked || got.Blocking[0].Condition == "" {
			t.Errorf("%+v", got)
		}
		s.modesCounted(t, map[string]int64{"block": 5, "monitor": 17})

		got = s.gated(t, topic, sarif(sarifResult("never-seen", `"level":"error",`, "n.py")+","+sarifResult("unrated", "", "u.py")))
		if len(got.Blocking) != 1 || got.Blocking[0].Rule != "never-seen" {
			t.Errorf("a new rule: %+v", got.Blocking)
		}

		if a := s.send(t, request{method: "DELETE", path: condition}); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if got := s.gated(t, topic, bandit); got.Blocked {
			t.Errorf("blocked after the condition was deleted: %s", got.Reason)
		}
		sameIDs(t, "no mode block", s.idsOf(t, "policy_mode=block"), nil, 0)
	})
}

// modesCounted compares the counts of code findings by mode.
func (s *site) modesCounted(t *testing.T, want map[string]int64) {
	t.Helper()
	got := map[string]int64{}
	for _, row := range get[api.CountFindingsResponse](t, s, "findings/counts?issue_type=sast&group_by=policy_mode").Groups[0].Values {
		got[row.Value] = row.Count
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counts by mode %v, want %v", got, want)
	}
}

// TestConfidenceConditions checks that confidence is a threshold in addition to severity.
func TestConfidenceConditions(t *testing.T) {
	bandit, err := os.ReadFile("../../internal/report/testdata/real/bandit.sarif")
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, s *site) {
		s.gated(t, "project=acme/app&ref=main&full=true", sarif(sarifResult("first", `"level":"note",`, "a.py")))
		s.postCondition(t, "SAST", object{"mode": "block", "severity": "medium", "confidence": "high"})
		got := s.gated(t, "project=acme/app&ref=topic&full=true", bandit)
		want := s.idsOf(t, "severities=medium&severities=high&severities=critical&confidence=high&ref=refs/heads/topic")
		if len(want) == 0 || len(want) == len(s.idsOf(t, "severities=medium&severities=high&ref=refs/heads/topic")) {
			t.Fatal("all or none are of high confidence, which proves nothing")
		}
		sameIDs(t, "the gate", blockingIDs(got), want, len(want))
		sameIDs(t, "policy_mode=block", s.idsOf(t, "policy_mode=block"), want, len(want))
	})
}

// TestStricterOfRuleAndConditionWins checks that a condition does not weaken a rule, and that the
// response contains its policy if it is stricter.
func TestStricterOfRuleAndConditionWins(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.gated(t, "project=acme/app&ref=main&full=true", sarif(sarifResult("other", `"level":"note",`, "a.py")))
		report := sarif(sarifResult("mild", `"level":"note",`, "m.py") + "," + sarifResult("grave", `"level":"error",`, "g.py"))
		s.gated(t, "project=acme/app&ref=topic&full=true", report)
		s.blockImported(t, "mild")
		made := read[api.PolicyChangeResponse](t, s.send(t, request{method: "POST", path: "policies", body: object{"name": "Strict", "product": "sast"}}))
		path := "policies/" + made.Policy.ID + "/conditions"
		read[api.PolicyConditionResponse](t, s.send(t, request{method: "POST", path: path, body: object{"mode": "comment", "severity": "low"}}))
		sources := map[string]string{}
		for _, f := range get[api.ListFindingsResponse](t, s, "findings?issue_type=sast&ref=refs/heads/topic").SASTFindings.Findings {
			sources[f.RuleName] = f.SourcingPolicy.Slug
		}
		if sources["mild"] != "code" || sources["grave"] != "strict" {
			t.Errorf("sourcing policies %v", sources)
		}
		s.modesCounted(t, map[string]int64{"block": 1, "comment": 2})
		got := s.gated(t, "project=acme/app&ref=topic&full=true", report)
		if len(got.Blocking) != 1 || got.Blocking[0].Rule != "mild" || len(got.Noted) != 1 || got.Noted[0].Rule != "grave" || got.Noted[0].Mode != "comment" {
			t.Errorf("the gate: %+v", got)
		}
		rules := get[api.ListPolicyRulesResponse](t, s, "policies/"+(&world{site: s}).policyID(t, "PRODUCT_TYPE_SAST")+"?limit=2000").Rules
		at := slices.IndexFunc(rules, func(r api.PolicyRule) bool { return r.Path == "grave" })
		if rules[at].PolicyMode != "MODE_MONITOR" {
			t.Errorf("the rule's own mode is %s", rules[at].PolicyMode)
		}
	})
}

// TestConditionsOfSecrets checks that the API of secrets and the gate apply conditions to secrets.
func TestConditionsOfSecrets(t *testing.T) {
	leak := func(rules ...string) []byte {
		text := ""
		for i, rule := range rules {
			if i > 0 {
				text += ","
			}
			text += sarifResult(rule, `"level":"error",`, rule+".env")
		}
		return []byte(`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"gitleaks"}},"results":[` + text + `]}]}`)
	}
	each(t, func(t *testing.T, s *site) {
		s.gated(t, "project=acme/app&ref=main&full=true", leak("old"))
		s.postCondition(t, "SECRETS", object{"mode": "block", "severity": "high"})
		got := s.gated(t, "project=acme/app&ref=topic&full=true", leak("old", "fresh"))
		if len(got.Blocking) != 1 || got.Blocking[0].Rule != "fresh" {
			t.Errorf("the gate: %+v", got)
		}
		for _, secret := range get[api.ListSecretsResponse](t, s, "secrets").Findings {
			if secret.Mode != "MODE_BLOCK" {
				t.Errorf("%s is in mode %s", secret.RuleHashID, secret.Mode)
			}
		}
	})
}

// TestConditionsByProduct checks that attributes of dependencies are rejected for other products.
func TestConditionsByProduct(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := &world{site: s}
		for member, value := range map[string]any{"reachable": true, "epss": 0.5, "exploited": true, "malicious": true, "fixable": true, "direct": true} {
			for _, product := range []string{"SAST", "SECRETS"} {
				path := "policies/" + w.policyID(t, "PRODUCT_TYPE_"+product) + "/conditions"
				invalid(t, s.send(t, request{method: "POST", path: path, body: object{"mode": "block", "severity": "high", member: value}}), "body."+member)
			}
			s.postCondition(t, "SCA", object{"mode": "monitor", member: value})
		}
		made := s.send(t, request{method: "POST", path: "policies/" + w.policyID(t, "PRODUCT_TYPE_SECRETS") + "/conditions", body: object{
			"mode": "comment", "severity": "low", "confidence": "medium", "grace_days": 3, "projects": []string{"acme/*"}, "branches": []string{"main"},
		}})
		c := read[api.PolicyConditionResponse](t, made).Condition
		if c.IssueType != "secrets" || c.Confidence == nil || *c.Confidence != "medium" || c.GraceDays != 3 {
			t.Errorf("%+v", c)
		}
	})
}
