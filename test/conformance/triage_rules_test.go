package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// smallSite creates one project with findings of every type on main, and some of them on a branch.
func smallSite(t *testing.T, s *site) (code []codeRow) {
	t.Helper()
	w := &world{site: s, rules: map[string]scanRule{}}
	s.upload(t, "acme/payments", "main", "full", semgrepReport(w.matches(1, 0, 16)...))
	s.upload(t, "acme/payments", "feature/x", "full", semgrepReport(w.matches(1, 0, 4)...))
	return s.allCode(t)
}

func (s *site) triage(t testing.TB, body object) answer {
	t.Helper()
	return s.send(t, request{method: "POST", path: "/api/v1/deployments/" + s.deployment.Slug + "/triage", body: body})
}

// triaged performs a triage that must succeed.
func (s *site) triaged(t testing.TB, body object) []int64 {
	t.Helper()
	out := read[api.TriageResponse](t, s.triage(t, body))
	if out.NumTriaged != int64(len(out.TriagedIssues)) || !slices.IsSorted(out.TriagedIssues) || len(slices.Compact(slices.Clone(out.TriagedIssues))) != len(out.TriagedIssues) {
		t.Fatalf("triaged %+v: want ids ascending, each once, and their number", out)
	}
	return out.TriagedIssues
}

func (s *site) finding(t testing.TB, id int64) api.Finding {
	t.Helper()
	return get[api.FindingResponse](t, s, fmt.Sprintf("findings/%d", id)).Finding
}

func TestTriage(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		t.Run("refusals", func(t *testing.T) { testTriageRefusals(t, s, code) })
		t.Run("every state to every state", func(t *testing.T) { testTriageStates(t, s, code[0].ID) })
		t.Run("notes", func(t *testing.T) { testTriageNotes(t, s, code[1].ID) })
		t.Run("propagation", func(t *testing.T) { testTriagePropagation(t, s, code) })
		t.Run("limit and unknown ids", func(t *testing.T) { testTriageLimit(t, s, code) })
		t.Run("fixed stays fixed", func(t *testing.T) { testTriageFixed(t, s) })
		t.Run("trail", func(t *testing.T) { testTriageAuditTrail(t, s) })
		t.Run("since is a filter", func(t *testing.T) { testTriageSince(t, s) })
		t.Run("whole or not at all", func(t *testing.T) { testTriageIsAtomic(t, s) })
	})
}

func testTriageRefusals(t *testing.T, s *site, code []codeRow) {
	for name, c := range triageRefusals(code[0].ID) {
		t.Run(name, func(t *testing.T) { invalid(t, s.triage(t, c.body), c.bad...) })
	}
	for _, f := range s.allCode(t) {
		if f.TriageState != "untriaged" {
			t.Errorf("%d is %s after refusals only", f.ID, f.TriageState)
		}
	}
	defaults := object{"issue_type": "sast", "issue_ids": []int64{code[0].ID}, "new_note": "n", "include_historical": true, "limit": 3000}
	if got := s.triaged(t, defaults); !slices.Contains(got, code[0].ID) {
		t.Errorf("with the schema's own defaults %v are triaged", got)
	}
}

// triageRefusal is an invalid request with its expected error locations.
type triageRefusal struct {
	body object
	bad  []string
}

// triageRefusals are changes of a valid request.
func triageRefusals(id int64) map[string]triageRefusal {
	ids := []int64{id}
	set := func(members ...any) object {
		body := object{"issue_type": "sast", "issue_ids": ids, "new_triage_state": "ignored"}
		for i := 0; i < len(members); i += 2 {
			body[members[i].(string)] = members[i+1]
			if members[i+1] == nil {
				delete(body, members[i].(string))
			}
		}
		return body
	}
	return map[string]triageRefusal{
		"no type":                {set("issue_type", nil), []string{"body.issue_type"}},
		"other type":             {set("issue_type", "ai_sast"), []string{"body.issue_type"}},
		"nothing to change":      {set("new_triage_state", nil), []string{"body.new_triage_state"}},
		"unknown state":          {set("new_triage_state", "untriaged"), []string{"body.new_triage_state"}},
		"reason alone":           {set("new_triage_state", nil, "new_triage_reason", "no_time", "new_note", "n"), []string{"body.new_triage_reason"}},
		"reason of reviewing":    {set("new_triage_state", "reviewing", "new_triage_reason", "no_time"), []string{"body.new_triage_reason"}},
		"unknown reason":         {set("new_triage_reason", "bored"), []string{"body.new_triage_reason"}},
		"limit 0":                {set("limit", 0), []string{"body.limit"}},
		"limit 3001":             {set("limit", 3001), []string{"body.limit"}},
		"limit -1":               {set("limit", -1), []string{"body.limit"}},
		"limit of another kind":  {set("limit", "many"), []string{"body.limit"}},
		"a long note":            {set("new_note", strings.Repeat("ü", 3001)), []string{"body.new_note"}},
		"neither ids nor filter": {set("issue_ids", nil), []string{"body.issue_ids"}},
		"no ids in the list":     {set("issue_ids", []int{}), []string{"body.issue_ids"}},
		"no values in filters":   {set("issue_ids", nil, "rules", []string{}, "severities", []string{}), []string{"body.issue_ids"}},
		"a filter by default":    {set("issue_type", "secrets", "issue_ids", nil, "include_historical", true), []string{"body.issue_ids"}},
		"an invalid filter":      {set("issue_ids", nil, "ref", "_default"), []string{"body.issue_ids"}},
		"a misspelt filter":      {set("severity", []string{"low"}), []string{"body.severity"}},
		"several faults":         {set("issue_type", "x", "limit", 0, "wrong", 1), []string{"body.issue_type", "body.limit", "body.wrong"}},
		"sca of sast":            {set("dependencies", []string{"a"}, "epss_probability", []string{"low"}, "exposures", []string{"reachable"}, "transitivities", []string{"direct"}), []string{"body.dependencies", "body.epss_probability", "body.exposures", "body.transitivities"}},
		"secrets of sast":        {set("include_historical", false, "repository_visibility", []string{"public"}, "secret_types", []string{"AWS"}, "validation_state", []string{"valid"}), []string{"body.include_historical", "body.repository_visibility", "body.secret_types", "body.validation_state"}},
		"sast of sca":            {set("issue_type", "sca", "pro_only", true), []string{"body.pro_only"}},
		"sast of secrets":        {set("issue_type", "secrets", "pro_only", false), []string{"body.pro_only"}},
		"unknown words":          {set("severities", []string{"low", "urgent"}, "status", "gone"), []string{"body.severities[1]", "body.status"}},
		"another deployment":     {set("deploymentSlug", "noise"), []string{"body.deploymentSlug"}},
		"no epoch":               {set("since", "yesterday"), []string{"body.since"}},
	}
}

// testTriageStates checks all transitions between two states.
func testTriageStates(t *testing.T, s *site, id int64) {
	shows := map[string]string{"ignored": "ignored", "reviewing": "reviewing", "fixing": "fixing", "reopened": "open"}
	for from := range shows {
		for to, status := range shows {
			s.clock.Advance(time.Minute)
			s.triaged(t, object{"issue_type": "sast", "issue_ids": []int64{id}, "new_triage_state": from})
			body := object{"issue_type": "sast", "issue_ids": []int64{id}, "new_triage_state": to}
			if to == "ignored" {
				body["new_triage_reason"] = "no_time"
			}
			s.clock.Advance(time.Minute)
			before := s.finding(t, id)
			if got := s.triaged(t, body); !slices.Contains(got, id) {
				t.Fatalf("%s to %s matches %v", from, to, got)
			}
			f := s.finding(t, id)
			if f.TriageState != to || f.Status != status || deref(f.TriageReason) != deref(reasonOf(to)) || f.State != "unresolved" {
				t.Errorf("%s to %s: %s, %s, %s, %v", from, to, f.TriageState, f.Status, f.State, f.TriageReason)
			}
			if from != to && !f.TriagedAt.After(before.TriagedAt.Time) || !f.RelevantSince.Equal(before.RelevantSince.Time) {
				t.Errorf("%s to %s: triaged at %v after %v, relevant since %v after %v", from, to, f.TriagedAt, before.TriagedAt, f.RelevantSince, before.RelevantSince)
			}
		}
	}
}

func reasonOf(state string) *string {
	if state != "ignored" {
		return nil
	}
	reason := "no_time"
	return &reason
}

// testTriageNotes checks that a note alone does not change the state, and that its limit is 3,000
// characters, not bytes.
func testTriageNotes(t *testing.T, s *site, id int64) {
	s.triaged(t, object{"issue_type": "sast", "issue_ids": []int64{id}, "new_triage_state": "ignored", "new_triage_reason": "acceptable_risk", "new_note": "first"})
	before := s.finding(t, id)
	note := strings.Repeat("ü", 3000)
	s.clock.Advance(time.Minute)
	s.triaged(t, object{"issue_type": "sast", "issue_ids": []string{fmt.Sprint(id)}, "new_note": note})
	after := s.finding(t, id)
	if deref(before.TriageComment) != "first" || deref(after.TriageComment) != note {
		t.Errorf("comment %q, then %.20q", deref(before.TriageComment), deref(after.TriageComment))
	}
	before.TriageComment, after.TriageComment = nil, nil
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the note changed more (-before +after):\n%s", diff)
	}
	s.triaged(t, object{"issue_type": "sast", "issue_ids": []int64{id}, "new_triage_state": "reopened"})
	if f := s.finding(t, id); f.TriageReason != nil || f.Status != "open" {
		t.Errorf("reopened shows %s for %v", f.Status, f.TriageReason)
	}
}

// testTriagePropagation checks that a decision applies to the finding on all refs, even with a ref
// filter.
func testTriagePropagation(t *testing.T, s *site, code []codeRow) {
	refs := map[string][]int64{}
	for _, f := range code {
		refs[f.MatchBasedID] = append(refs[f.MatchBasedID], f.ID)
	}
	for _, f := range code {
		want := slices.Sorted(slices.Values(refs[f.MatchBasedID]))
		if f.Ref != "refs/heads/feature/x" {
			continue
		}
		if len(want) != 2 {
			t.Fatalf("%v are one finding, want two of them", want)
		}
		body := object{"issue_type": "sast", "issue_ids": want, "ref": "feature/x", "limit": 1, "new_triage_state": "fixing"}
		if got := s.triaged(t, body); !slices.Equal(got, want) {
			t.Errorf("matches %v, want %v, beyond the limit and the ref", got, want)
		}
		for _, id := range want {
			if got := s.finding(t, id).Status; got != "fixing" {
				t.Errorf("%d is %s", id, got)
			}
		}
	}
	// A new occurrence inherits the decision.
	w := &world{site: s, rules: map[string]scanRule{}}
	s.upload(t, "acme/payments", "release", "full", semgrepReport(w.matches(1, 0, 4)...))
	for _, f := range s.allCode(t) {
		if f.Ref == "refs/heads/release" && f.Status != "fixing" && f.State != "muted" {
			t.Errorf("%d on a new ref is %s", f.ID, f.Status)
		}
	}
}

// testTriageLimit checks that the newest matches are selected and unknown ids ignored.
func testTriageLimit(t *testing.T, s *site, code []codeRow) {
	onMain := filterSlice(s.allCode(t), func(f codeRow) bool { return f.Ref == "refs/heads/main" })
	ids := mapped(onMain, func(f codeRow) int64 { return f.ID })
	one := s.triaged(t, object{"issue_type": "sast", "ref": "main", "limit": 1, "new_note": "newest"})
	if !slices.Contains(one, ids[0]) || slices.Contains(one, ids[len(ids)-1]) {
		t.Errorf("the newest is %d, reached are %v", ids[0], one)
	}
	if got := s.triaged(t, object{"issue_type": "sast", "issue_ids": append(ids, 4000000000, 999999), "limit": 3000, "new_note": "all"}); !containsAll(got, ids) || slices.Contains(got, 999999) {
		t.Errorf("matches %v, want at least %v", got, ids)
	}
	if got := s.triaged(t, object{"issue_type": "sast", "issue_ids": []int64{4000000000, 999999}, "new_triage_state": "ignored"}); len(got) != 0 {
		t.Errorf("unknown ids match %v", got)
	}
	if got := s.triaged(t, object{"issue_type": "sca", "issue_ids": ids, "new_triage_state": "ignored"}); len(got) != 0 {
		t.Errorf("code findings as sca match %v", got)
	}
	if got := s.triaged(t, object{"issue_type": "sast", "issue_ids": []int64{code[0].ID}, "rules": []string{"no-such-rule"}, "new_triage_state": "ignored"}); len(got) != 0 {
		t.Errorf("ids with a filter that excludes them match %v", got)
	}
}

// testTriageSince checks that any time is a filter, even 0.
func testTriageSince(t *testing.T, s *site) {
	supply := slices.Sorted(slices.Values(mapped(s.allSupply(t), func(f api.SupplyChainFinding) int64 { return f.ID })))
	for _, since := range []any{"0", 0, "1", -1, 0.5} {
		if got := s.triaged(t, object{"issue_type": "sca", "since": since, "new_note": fmt.Sprint("since ", since)}); len(supply) == 0 || !slices.Equal(got, supply) {
			t.Errorf("since %#v matches %v, want all of %v", since, got, supply)
		}
	}
	if got := s.triaged(t, object{"issue_type": "sca", "since": "99999999999", "new_note": "later"}); len(got) != 0 {
		t.Errorf("since a later day matches %v", got)
	}
	for _, none := range []object{{}, {"since": ""}} {
		none["issue_type"], none["new_note"] = "sca", "all"
		invalid(t, s.triage(t, none), "body.issue_ids")
	}
	invalid(t, s.triage(t, object{"issue_type": "sca", "new_note": "all", "repos": nil}), "body.issue_ids", "body.repos")
}

func containsAll(list, part []int64) bool {
	for _, v := range part {
		if !slices.Contains(list, v) {
			return false
		}
	}
	return true
}

// testTriageFixed checks that a fixed finding can be triaged and remains fixed.
func testTriageFixed(t *testing.T, s *site) {
	w := &world{site: s, rules: map[string]scanRule{}}
	s.upload(t, "acme/payments", "main", "full", semgrepReport(w.matches(1, 4, 16)...))
	fixed := filterSlice(s.allCode(t), func(f codeRow) bool { return f.State == "fixed" })
	if len(fixed) == 0 {
		t.Fatal("nothing is fixed")
	}
	id := fixed[0].ID
	s.triaged(t, object{"issue_type": "sast", "issue_ids": []int64{id}, "new_triage_state": "reviewing"})
	if f := s.finding(t, id); f.Status != "fixed" || f.TriageState != "reviewing" {
		t.Errorf("a fixed finding under review shows %s, %s", f.Status, f.TriageState)
	}
}

// testTriageAuditTrail checks the trail of three changes and of a request without a change.
func testTriageAuditTrail(t *testing.T, s *site) {
	id := s.allSupply(t)[0].ID
	for _, change := range []object{
		{"new_triage_state": "ignored", "new_triage_reason": "no_time", "new_note": "later"},
		{"new_triage_state": "ignored", "new_triage_reason": "no_time", "new_note": "later"}, // no change
		{"new_note": "really"},
		{"new_triage_state": "fixing"},
	} {
		change["issue_type"], change["issue_ids"] = "sca", []int64{id}
		s.triaged(t, change)
	}
	var got []string
	err := s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		f, err := tx.Finding(ctx, id)
		if err != nil {
			return err
		}
		trail, err := tx.TriageTrail(ctx, f.LineageID)
		for _, e := range trail {
			got = append(got, fmt.Sprintf("%s %s%s > %s%s %s", e.By, e.Before.State, e.Before.Reason, e.After.State, e.After.Reason, e.Note))
		}
		return err
	})
	want := []string{"token:main untriaged > ignoredno_time later", "token:main ignoredno_time > ignoredno_time really", "token:main ignoredno_time > fixing "}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, trail (-want +got):\n%s", err, diff)
	}
}

// testTriageIsAtomic breaks the trail and checks that nothing is triaged.
func testTriageIsAtomic(t *testing.T, s *site) {
	before := s.allCode(t)
	s.without(t, "triage_event", func() {
		body := object{"issue_type": "sast", "repos": []string{"acme/payments"}, "new_triage_state": "ignored", "new_note": "half"}
		refused(t, s.triage(t, body), 500, api.CodeInternal)
	})
	if diff := cmp.Diff(before, s.allCode(t)); diff != "" {
		t.Errorf("a triage that failed changed (-before +after):\n%s", diff)
	}
}

// TestTriageRequiresWriteAccess checks that a read-only token is rejected.
func TestTriageRequiresWriteAccess(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.token = s.newToken(t, model.Token{Name: "reader", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}})
		refused(t, s.triage(t, object{"issue_type": "sast", "issue_ids": []int{1}, "new_triage_state": "ignored"}), 403, api.CodePermissionDenied)
	})
}
