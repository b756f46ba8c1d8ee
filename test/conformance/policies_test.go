package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// ruleOnly returns a rule of the policy for code.
func (w *world) ruleOnly(t testing.TB) string {
	t.Helper()
	out, err := w.api().ListPolicyRules(t.Context(), w.deployment.Slug, w.policyID(t, "PRODUCT_TYPE_SAST"), api.PolicyRulesQuery{Limit: 1})
	if err != nil || len(out.Rules) == 0 {
		t.Fatal("no rule: ", err)
	}
	return out.Rules[0].Path
}

// policyID returns the id of a product's policy.
func (w *world) policyID(t testing.TB, product string) string {
	t.Helper()
	out, err := w.api().ListPolicies(t.Context(), w.deployment.Slug)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range out.Policies {
		if p.ProductType == product {
			return p.ID
		}
	}
	t.Fatalf("no policy of %s", product)
	return ""
}

// testPolicyRules compares the members of each rule with the reports.
func testPolicyRules(t *testing.T, w *world) {
	seen := 0
	for _, product := range []string{"SAST", "SCA", "SECRETS"} {
		id := w.policyID(t, "PRODUCT_TYPE_"+product)
		answer := get[api.ListPolicyRulesResponse](t, w.site, "policies/"+id+"?limit=2000")
		if answer.Policy.ID != id || !answer.Policy.IsDefault || answer.Cursor != "" {
			t.Errorf("policy %+v, cursor %q", answer.Policy, answer.Cursor)
		}
		for _, r := range answer.Rules {
			rule, ok := w.rules[r.Path]
			if !ok {
				continue // of the other tool
			}
			seen++
			if rule.kind != strings.ToLower(product) || r.PolicyMode != "MODE_"+strings.ToUpper(w.mode(r.Path)) || r.Category != rule.category ||
				r.Confidence != "CONFIDENCE_"+rule.confidence || r.Source != sources[rule.origin] || r.Severity != "SEVERITY_"+severityNames[rule.severity] {
				t.Errorf("%s has %+v, want %+v", product, r, rule)
			}
			if len(r.CWECategories) != 1 || len(r.OWASPCategories) != 1 || len(r.VulnerabilityClass) != 1 || len(r.Rulesets) != 1 || r.Rulesets[0] != rule.ruleset ||
				r.URL == "" || r.LastChangeBy != "" {
				t.Errorf("%s has %+v", product, r)
			}
		}
	}
	if seen != len(w.rules) {
		t.Errorf("the policies list %d of %d rules", seen, len(w.rules))
	}
}

var (
	sources       = map[string]string{"community": "SOURCE_COMMUNITY", "pro_rules": "SOURCE_PRO", "custom": "SOURCE_CUSTOM"}
	severityNames = map[string]string{"INFO": "LOW", "WARNING": "MEDIUM", "ERROR": "HIGH", "CRITICAL": "CRITICAL"}
)

// testPolicyPagination reads the rules in pages of several sizes, and checks the range of limit.
func testPolicyPagination(t *testing.T, w *world) {
	id := w.policyID(t, "PRODUCT_TYPE_SAST")
	path := func(r api.PolicyRule) string { return r.ID + " " + r.Path }
	want := mapped(get[api.ListPolicyRulesResponse](t, w.site, "policies/"+id).Rules, path)
	for _, limit := range []int64{1, 7, 499} {
		got := mapped(all(t, w.api().PolicyRules(t.Context(), w.deployment.Slug, id, api.PolicyRulesQuery{Limit: limit})), path)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("by %d: %v, want %v", limit, got, want)
		}
	}
	for query, bad := range map[string]string{"limit=2001": "query.limit", "limit=-1": "query.limit", "limit=x": "query.limit", "cursor=x": "query.cursor"} {
		invalid(t, w.send(t, request{method: "GET", path: "policies/" + id + "?" + query}), bad)
	}
	first := get[api.ListPolicyRulesResponse](t, w.site, "policies/"+id+"?limit=1")
	if repeated := get[api.ListPolicyRulesResponse](t, w.site, "policies/"+id+"?limit=1&cursor=0"); fmt.Sprint(repeated) != fmt.Sprint(first) {
		t.Errorf("from cursor 0: %+v, want %+v", repeated, first)
	}
	other := w.policyID(t, "PRODUCT_TYPE_SCA")
	invalid(t, w.send(t, request{method: "GET", path: "policies/" + other + "?cursor=" + first.Cursor}), "query.cursor")
	for i := range first.Cursor {
		altered := []byte(first.Cursor)
		altered[i] ^= 1
		invalid(t, w.send(t, request{method: "GET", path: "policies/" + id + "?cursor=" + string(altered)}), "query.cursor")
	}
}

// TestRuleModes checks that PUT of a policy sets the mode of one rule, which the list and the audit
// trail then contain.
func TestRuleModes(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		smallSite(t, s)
		w := &world{site: s, rules: map[string]scanRule{}}
		path, rule := "policies/"+w.policyID(t, "PRODUCT_TYPE_SAST"), w.ruleOnly(t)
		for _, mode := range []string{"MODE_BLOCK", "MODE_COMMENT", "MODE_COMMENT", "MODE_MONITOR"} {
			got := read[api.UpdatePolicyResponse](t, s.send(t, request{method: "PUT", path: path, body: object{"rulePath": rule, "policyMode": mode}}))
			listed := get[api.ListPolicyRulesResponse](t, s, path).Rules
			i := slices.IndexFunc(listed, func(r api.PolicyRule) bool { return r.Path == rule })
			if got.UpdatedRule.PolicyMode != mode || got.UpdatedRule.Path != rule || "policies/"+got.PolicyID != path {
				t.Errorf("%s: %+v", mode, got)
			}
			if diff := cmp.Diff(listed[i], got.UpdatedRule); diff != "" {
				t.Errorf("%s (-listed +answered):\n%s", mode, diff)
			}
		}
		for _, bad := range []object{{}, {"rulePath": rule}, {"policyMode": "MODE_BLOCK"}, {"rulePath": rule, "policyMode": "MODE_DISABLED"}, {"rulePath": rule, "policyMode": "block"}} {
			if a := s.send(t, request{method: "PUT", path: path, body: bad}); a.status != 400 {
				t.Errorf("%v: %d %s", bad, a.status, a.body)
			}
		}
		listed := get[api.ListPolicyRulesResponse](t, s, path).Rules
		if i := slices.IndexFunc(listed, func(r api.PolicyRule) bool { return r.Path == rule }); i < 0 || listed[i].PolicyMode != "MODE_MONITOR" {
			t.Errorf("a rejected request changed the rules to %+v", listed)
		}
		refused(t, s.send(t, request{method: "PUT", path: path, body: object{"rulePath": "unknown.rule", "policyMode": "MODE_BLOCK"}}), 404, api.CodeNotFound)
	})
}

// policyOnly creates a policy that may be deleted.
func (s *site) policyOnly(t testing.TB) string {
	t.Helper()
	policies := get[api.ListPoliciesResponse](t, s, "policies").Policies
	return post[api.PolicyChangeResponse](t, s, "policies", object{"name": fmt.Sprintf("Only %d", len(policies)), "product": "sast"}).Policy.ID
}

// TestPoliciesByAPI creates, previews, changes and deletes policies. The gate must match the
// preview.
func TestPoliciesByAPI(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"})
		s.depend(t, "main", "4.17.21")
		s.depend(t, "topic", "4.17.20")
		made := post[api.PolicyChangeResponse](t, s, "policies", object{"name": "Card payments", "product": "sca", "projects": []string{"other/*"}})
		id, path := made.Policy.ID, "policies/"+made.Policy.ID
		if made.Policy.Slug != "card-payments" || made.Policy.IsDefault || made.Policy.ProductType != "PRODUCT_TYPE_SCA" || !slices.Equal(made.Settings.Projects, []string{"other/*"}) {
			t.Errorf("created %+v", made)
		}
		if _, err := s.api().CreatePolicyCondition(t.Context(), s.deployment.Slug, id, api.CreatePolicyConditionRequest{Mode: "block", Severity: "high"}); err != nil {
			t.Fatal(err)
		}
		wider := object{"name": "Payments", "projects": []string{"acme/*"}, "tags": []string{}, "excludes": []string{"vendor/"}, "block_all": false}
		preview := post[api.PolicyImpact](t, s, path+"/preview", object{"projects": []string{"acme/*"}, "excludes": []string{"vendor/"}})
		if preview.Projects != 1 || preview.ProjectsNow != 0 || preview.Blocking != 1 || preview.BlockingNow != 0 || preview.Builds != 1 || preview.Branches != 2 ||
			len(preview.Changed) != 1 || preview.Changed[0] != (api.ChangedBranch{Project: "acme/shop", Ref: "refs/heads/topic", Blocking: 1}) || preview.Partial {
			t.Errorf("the preview has %+v", preview)
		}
		if got := s.depend(t, "topic", "4.17.20"); got.Blocked {
			t.Error("a preview changes the gate")
		}
		before := s.send(t, request{method: "GET", path: path + "/settings"})
		set := func(tag string) answer {
			return s.send(t, request{method: "PUT", path: path + "/settings", body: wider, header: map[string]string{"If-Match": tag}})
		}
		refused(t, set(`"another"`), 409, api.CodeConflict)
		if a := set(before.header.Get("ETag")); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if got := get[api.PolicySettingsResponse](t, s, path+"/settings"); got.Policy.Name != "Payments" || got.Policy.Slug != "card-payments" ||
			!slices.Equal(got.Settings.Projects, []string{"acme/*"}) || !slices.Equal(got.Settings.Excludes, []string{"vendor/"}) {
			t.Errorf("set %+v", got)
		}
		for mode, fails := range map[string]bool{"block": true, "comment": false} {
			tried := post[api.PolicyImpact](t, s, path+"/preview", object{"project": "acme/shop", "mode": mode, "projects": []string{"acme/*"}})
			if len(tried.Matches) != 1 || tried.MatchCount != 1 || tried.MatchesFailing > 0 != fails {
				t.Fatalf("tried in mode %s: %+v", mode, tried)
			}
			if m := tried.Matches[0]; m.Ref != "refs/heads/topic" || m.Mode != mode || m.Known || m.Fails != fails {
				t.Errorf("tried in mode %s: %+v", mode, m)
			}
		}
		if got := s.depend(t, "topic", "4.17.20"); !got.Blocked {
			t.Error("the gate differs from the preview")
		}
		for _, c := range []struct {
			branches  []string
			blocks    int64
			unmatched []string
		}{{[]string{"main", "refs/pull/**"}, 0, []string{"refs/pull/**"}}, {[]string{"top*"}, 1, nil}, {[]string{"refs/heads/*"}, 1, nil}, {[]string{"release/*"}, 0, []string{"release/*"}}, {nil, 1, nil}} {
			body := object{"name": "Payments", "projects": []string{"acme/*"}, "excludes": []string{"vendor/"}, "branches": c.branches}
			if c.branches == nil {
				delete(body, "branches")
			}
			var scanned []string
			if c.unmatched != nil {
				scanned = []string{"refs/heads/topic", "refs/heads/main"}
			}
			if got := post[api.PolicyImpact](t, s, path+"/preview", body); !slices.Equal(got.UnmatchedBranches, c.unmatched) || !slices.Equal(got.ScannedRefs, scanned) || got.Blocking != c.blocks || got.Builds != c.blocks || got.Projects != 1 {
				t.Errorf("on %v the preview has %+v", c.branches, got)
			}
			if a := s.send(t, request{method: "PUT", path: path + "/settings", body: body}); a.status != 200 {
				t.Fatalf("%v: %d %s", c.branches, a.status, a.body)
			}
			if got := get[api.PolicySettingsResponse](t, s, path+"/settings"); !slices.Equal(got.Settings.Branches, c.branches) {
				t.Errorf("set %v, got %v", c.branches, got.Settings.Branches)
			}
			if got := s.depend(t, "topic", "4.17.20"); got.Blocked != (c.blocks > 0) {
				t.Errorf("on %v a build of topic is blocked: %v", c.branches, got.Blocked)
			}
		}
		for _, c := range []struct {
			method, path string
			body         object
			want         []string
		}{
			{"PUT", path + "/settings", object{"name": "x", "branches": []string{"", "a\nb"}}, []string{"body.branches"}},
			{"POST", "policies", object{"name": " x", "product": "sast"}, []string{"body.name"}},
			{"POST", "policies", object{"name": "x", "product": "none"}, []string{"body.product"}},
			{"POST", "policies", object{"name": "x", "product": "sast", "slug": "semgrep-rule-lints"}, []string{"body.slug"}},
			{"POST", "policies", object{"name": "x", "product": "sast", "projects": []string{""}, "excludes": []string{"!x"}}, []string{"body.excludes", "body.projects"}},
			{"PUT", path + "/settings", object{"name": "x", "project": []string{"acme/*"}}, []string{"body.project"}},
			{"POST", path + "/preview", object{"excludes": []string{"!x"}}, []string{"body.excludes"}},
		} {
			invalid(t, s.send(t, request{method: c.method, path: c.path, body: c.body}), c.want...)
		}
		refused(t, s.send(t, request{method: "POST", path: path + "/preview", body: object{"project": "acme/none"}}), 404, api.CodeNotFound)
		refused(t, s.send(t, request{method: "POST", path: "policies", body: object{"name": "Card payments", "product": "sast"}}), 409, api.CodeConflict)
		code := (&world{site: s}).policyID(t, "PRODUCT_TYPE_SAST")
		refused(t, s.send(t, request{method: "DELETE", path: "policies/" + code}), 409, api.CodeConflict)
		invalid(t, s.send(t, request{method: "PUT", path: "policies/" + code + "/settings", body: object{"name": "Code", "tags": []string{"pci"}}}), "body.scope")
		if end := post[api.PolicyImpact](t, s, path+"/preview", object{"deleted": true}); end.BlockingNow != 1 || end.Blocking != 0 || end.Projects != 0 || end.ProjectsNow != 1 {
			t.Errorf("for its expiry the preview has %+v", end)
		}
		if gone, err := s.api().DeletePolicy(t.Context(), s.deployment.Slug, id); err != nil || gone.Policy.ID != id {
			t.Errorf("%+v, %v", gone, err)
		}
		refused(t, s.send(t, request{method: "GET", path: path + "/settings"}), 404, api.CodeNotFound)
		if got := s.depend(t, "topic", "4.17.20"); got.Blocked {
			t.Error("a deleted policy blocks")
		}
	})
}

// ruleText returns a file with one rule.
func ruleText(id, pattern string) string {
	return fmt.Sprintf("rules:\n- id: %s\n  message: Do not.\n  severity: ERROR\n  languages: [go]\n  pattern: %s\n", id, pattern)
}

// policyRule creates a rule of the policy for code and returns both ids.
func (s *site) policyRule(t testing.TB, name string) map[string]string {
	t.Helper()
	id := (&world{site: s}).policyID(t, "PRODUCT_TYPE_SAST")
	made := post[api.AddPolicyRulesResponse](t, s, "policies/"+id+"/rules", object{"text": ruleText("a-rule-to-be-"+name, "x")})
	return map[string]string{"policyId": id, "policyRuleId": made.Rules[0].ID}
}

// TestRulesByAPI adds several rules atomically, reads their texts and removes them.
func TestRulesByAPI(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		id := (&world{site: s}).policyID(t, "PRODUCT_TYPE_SAST")
		path := "policies/" + id + "/rules"
		made := post[api.AddPolicyRulesResponse](t, s, path, object{"text": ruleText("own", "$X.first"), "mode": "block"}).Rules
		repeated, err := s.api().AddPolicyRules(t.Context(), s.deployment.Slug, id, api.AddPolicyRulesRequest{Text: ruleText("own", "$X.second")})
		want := api.AddedRule{ID: made[0].ID, Path: "own", Mode: "block", Version: 2}
		if err != nil || len(repeated.Rules) != 1 || repeated.Rules[0] != want || made[0].Version != 1 {
			t.Errorf("added %+v, then %+v, %v", made, repeated, err)
		}
		one, err := s.api().GetPolicyRule(t.Context(), s.deployment.Slug, id, made[0].ID)
		if err != nil || one.Rule.Path != "own" || !one.Served || len(one.Versions) != 2 || !strings.Contains(one.Versions[0].Text, "pattern: $X.second") ||
			!strings.Contains(one.Versions[1].Text, "pattern: $X.first") || one.Versions[0].Checked || !strings.HasPrefix(one.Versions[0].AddedBy, "token:") {
			t.Errorf("%+v, %v", one, err)
		}
		for _, text := range []string{"x", "rules: []", "rules:\n- {id: secret, message: m, severity: ERROR, languages: [go], pattern: x, metadata: {product: secrets}}"} {
			invalid(t, s.send(t, request{method: "POST", path: path, body: object{"text": text}}), "body.text")
		}
		if a := s.send(t, request{method: "POST", path: path, body: object{"text": ruleText("fine", "x") + "- {id: not fine}\n"}}); a.status != 400 || strings.Count(string(a.body), `"location":"body.text","message":"rules[1].`) != 5 {
			t.Errorf("several errors: %d %s", a.status, a.body)
		}
		if rules := get[api.ListPolicyRulesResponse](t, s, "policies/"+id+"?limit=2000").Rules; slices.ContainsFunc(rules, func(r api.PolicyRule) bool { return r.Path == "fine" }) {
			t.Error("a rule of an invalid file is stored")
		}
		other := (&world{site: s}).policyID(t, "PRODUCT_TYPE_SECRETS")
		refused(t, s.send(t, request{method: "GET", path: "policies/" + other + "/rules/" + made[0].ID}), 404, api.CodeNotFound)
		if gone, err := s.api().RemovePolicyRule(t.Context(), s.deployment.Slug, id, made[0].ID); err != nil || gone.Rule.Path != "own" {
			t.Errorf("%+v, %v", gone, err)
		}
		refused(t, s.send(t, request{method: "GET", path: path + "/" + made[0].ID}), 404, api.CodeNotFound)
	})
}

// TestRulesOfOtherPolicies adds known rules and starter rules to a policy, and lists its served
// rules.
func TestRulesOfOtherPolicies(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		made := post[api.PolicyChangeResponse](t, s, "policies", object{"name": "Other", "product": "sast"}).Policy
		own := s.policyRule(t, "shared")
		path := "policies/" + made.ID + "/rules"
		added := post[api.AddPolicyRulesResponse](t, s, path, object{"rule": "a-rule-to-be-shared", "mode": "comment"}).Rules
		if len(added) != 1 || added[0].Mode != "comment" || added[0].Version != 1 || added[0].ID == own["policyRuleId"] {
			t.Errorf("added %+v", added)
		}
		post[api.AddPolicyRulesResponse](t, s, path, object{"starter": true})
		post[api.AddPolicyRulesResponse](t, s, path, object{"text": ruleText("checked", "x"), "checked": true})
		served, err := s.api().ListServedRules(t.Context(), s.deployment.Slug, made.ID, api.ServedRulesQuery{Texts: true})
		if err != nil {
			t.Fatal(err)
		}
		starters := 0
		for _, r := range served.Rules {
			if r.Starter {
				starters++
			}
			if r.Text == "" || r.Checked == (r.Path == "a-rule-to-be-shared") {
				t.Errorf("%s: checked %v, text %q", r.Path, r.Checked, r.Text)
			}
		}
		if starters == 0 || len(served.Rules) != starters+2 {
			t.Errorf("%d rules, of them %d starter rules", len(served.Rules), starters)
		}
		if bare := get[api.ListServedRulesResponse](t, s, "policies/"+made.ID+"/served-rules"); bare.Rules[0].Text != "" {
			t.Errorf("a text that was not requested: %+v", bare.Rules[0])
		}
		refused(t, s.send(t, request{method: "POST", path: path, body: object{"rule": "none"}}), 404, api.CodeNotFound)
		secrets := "policies/" + (&world{site: s}).policyID(t, "PRODUCT_TYPE_SECRETS") + "/rules"
		refused(t, s.send(t, request{method: "POST", path: secrets, body: object{"rule": "a-rule-to-be-shared"}}), 409, api.CodeConflict)
		for _, body := range []object{{}, {"rule": "a", "starter": true}, {"text": "x", "starter": true}, {"text": "x", "rule": "a"}} {
			invalid(t, s.send(t, request{method: "POST", path: path, body: body}), "body.text")
		}
	})
}
