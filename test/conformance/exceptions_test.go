package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// exceptionOnly returns an exception that covers nothing, and creates it once.
func (s *site) exceptionOnly(t testing.TB) int64 {
	t.Helper()
	for _, e := range get[api.ListExceptionsResponse](t, s, "exceptions").Exceptions {
		if e.Target == "nothing-is-called-so" {
			return e.ID
		}
	}
	made := post[api.ExceptionChangeResponse](t, s, "exceptions", object{"target": "nothing-is-called-so", "reason": "x", "forever": true})
	return made.Exception.ID
}

// conditionOnly returns a condition that fails no build, and creates it once.
func (s *site) conditionOnly(t testing.TB, policyID string) int64 {
	t.Helper()
	path := "policies/" + policyID + "/conditions"
	if list := get[api.ListPolicyConditionsResponse](t, s, path).Conditions; len(list) > 0 {
		return list[0].ID
	}
	return post[api.PolicyConditionResponse](t, s, path, object{"mode": "monitor", "malicious": true}).Condition.ID
}

// TestExceptionsByAPI creates, reads and deletes exceptions, and checks their effect on findings
// and the gate, and their visibility.
func TestExceptionsByAPI(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"})
		s.condition(t, false, model.PolicyCondition{Mode: model.ModeBlock, Severity: model.SeverityHigh})
		s.depend(t, "main", "4.17.21")
		if got := s.depend(t, "topic", "4.17.20"); !got.Blocked {
			t.Fatalf("before: %+v", got)
		}
		last := s.clock.Now().UTC().AddDate(0, 0, 3)
		made := post[api.ExceptionChangeResponse](t, s, "exceptions", object{
			"target": "ghsa-1", "reason": "build tools only", "projects": []string{"ACME/*"}, "paths": []string{"package-lock.json"}, "until": last.Format(time.DateOnly),
		})
		e := made.Exception
		end := last.Truncate(24*time.Hour).AddDate(0, 0, 1)
		if made.Changed != 1 || e.Ignores != 1 || e.State != "active" || e.TriageReason != "acceptable_risk" || e.Until == nil || !e.Until.Equal(end) ||
			!slices.Equal(e.Projects, []string{"ACME/*"}) || !strings.HasPrefix(e.CreatedBy, "token:") {
			t.Errorf("created %+v", made)
		}
		wants(t, "ignored", s.supply(t, "status=ignored"), "1 lodash@4.17.20 CVE-2021-23337 ignored")
		if got := s.depend(t, "topic", "4.17.20"); got.Blocked || len(got.Noted) > 0 {
			t.Errorf("during the exception: %+v", got)
		}
		one := get[api.ExceptionResponse](t, s, "exceptions/"+itoa(e.ID)).Exception
		list := get[api.ListExceptionsResponse](t, s, "exceptions").Exceptions
		if len(list) != 1 || list[0].ID != one.ID || list[0].Ignores != 1 || one.Reason != "build tools only" {
			t.Errorf("%+v in %+v", one, list)
		}
		globbed := s.newToken(t, model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: model.ProjectGlobs{"other/*"}})
		if got := get[api.ListExceptionsResponse](t, &site{url: s.url, client: s.client, deployment: s.deployment, token: globbed}, "exceptions"); len(got.Exceptions) != 0 {
			t.Errorf("behind the globs: %+v", got)
		}
		for projects, status := range map[string]int{"": 404, "acme/shop": 404, "other/**": 404, "other/x": 200, "other/*": 200} {
			body := object{"target": "no-such-rule", "reason": "x", "forever": true}
			if projects != "" {
				body["projects"] = []string{projects}
			}
			if a := s.send(t, request{method: "POST", path: "exceptions", token: globbed, body: body}); a.status != status {
				t.Errorf("a token for other/* and projects %q: %d %s", projects, a.status, a.body)
			}
		}
		gone := read[api.ExceptionChangeResponse](t, s.send(t, request{method: "DELETE", path: "exceptions/" + itoa(e.ID)}))
		if gone.Changed != 1 || gone.Exception.ID != e.ID {
			t.Errorf("gone: %+v", gone)
		}
		refused(t, s.send(t, request{method: "DELETE", path: "exceptions/" + itoa(e.ID)}), 404, api.CodeNotFound)
		wants(t, "reopened", s.supply(t, "status=open&ref=topic"), "1 lodash@4.17.20 CVE-2021-23337 open")
		if got := s.depend(t, "topic", "4.17.20"); !got.Blocked {
			t.Errorf("afterwards: %+v", got)
		}
	})
}

func TestInvalidExceptionsAndConditions(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := &world{site: s}
		chain, code := "policies/"+w.policyID(t, "PRODUCT_TYPE_SCA")+"/conditions", "policies/"+w.policyID(t, "PRODUCT_TYPE_SAST")+"/conditions"
		for _, c := range []struct {
			path string
			body object
			want []string
		}{
			{"exceptions", object{"target": "x", "reason": "y"}, []string{"body.until"}},
			{"exceptions", object{"target": "x", "reason": "y", "until": "2999-01-01", "forever": true}, []string{"body.until"}},
			{"exceptions", object{"target": "x", "reason": "y", "until": "soon"}, []string{"body.until"}},
			{"exceptions", object{"target": "x", "reason": "y", "until": "2001-01-01"}, []string{"body.until"}},
			{"exceptions", object{"target": "x", "reason": "y", "until": "9999-12-31"}, []string{"body.until"}},
			{"exceptions", object{"target": "x", "reason": "y", "until": "9999-12-31T23:59:59-01:00"}, []string{"body.until"}},
			{"exceptions", object{"target": " a b", "reason": " ", "forever": true, "paths": []string{"!x"}, "projects": []string{""}}, []string{"body.paths", "body.projects", "body.reason", "body.target"}},
			{"exceptions", object{"target": "x", "reason": "y", "forever": true, "triage_reason": "bored"}, []string{"body.triage_reason"}},
			{chain, object{"mode": "block"}, []string{"body.severity"}},
			{chain, object{"mode": "shout", "direct": true}, []string{"body.mode"}},
			{chain, object{"mode": "block", "severity": "huge"}, []string{"body.severity"}},
			{chain, object{"mode": "block", "epss": 2}, []string{"body.epss"}},
			{chain, object{"mode": "block", "grace_days": -1}, []string{"body.grace_days"}},
			{chain, object{"mode": "block", "direct": true, "branches": []string{""}}, []string{"body.branches"}},
			{code, object{"mode": "block", "direct": true}, []string{"body.direct"}},
		} {
			invalid(t, s.send(t, request{method: "POST", path: c.path, body: c.body}), c.want...)
		}
		if list := get[api.ListExceptionsResponse](t, s, "exceptions").Exceptions; len(list) > 0 {
			t.Errorf("created nevertheless: %+v", list)
		}
	})
}

// TestConditionsByAPI creates, reads and deletes conditions.
func TestConditionsByAPI(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := &world{site: s}
		id := w.policyID(t, "PRODUCT_TYPE_SCA")
		path := "policies/" + id + "/conditions"
		made := post[api.PolicyConditionResponse](t, s, path, object{
			"mode": "block", "severity": "high", "fixable": true, "grace_days": 14, "projects": []string{"acme/*"}, "tags": []string{"pci"}, "branches": []string{"main"},
		})
		if made.Policy.ID != id || made.Condition.ID != 1 || *made.Condition.Severity != "high" || !made.Condition.Fixable || made.Condition.GraceDays != 14 ||
			made.Condition.Text != "blocks when severity is high or worse, a fix exists and it has been known for 14 days or more, in acme/*, tagged pci, on main" {
			t.Errorf("%+v", made)
		}
		second, err := s.api().CreatePolicyCondition(t.Context(), s.deployment.Slug, id, api.CreatePolicyConditionRequest{Mode: "comment", EPSS: 0.5, Exploited: true})
		if err != nil || second.Condition.ID != 2 {
			t.Fatalf("%+v, %v", second, err)
		}
		if _, err := s.api().DeletePolicyCondition(t.Context(), s.deployment.Slug, id, 1); err != nil {
			t.Error(err)
		}
		left, err := s.api().ListPolicyConditions(t.Context(), s.deployment.Slug, id)
		if err != nil || len(left.Conditions) != 1 || left.Conditions[0].ID != 2 || left.Conditions[0].Mode != "comment" || left.Conditions[0].Severity != nil || left.Conditions[0].EPSS != 0.5 {
			t.Errorf("%+v, %v", left, err)
		}
		refused(t, s.send(t, request{method: "DELETE", path: path + "/1"}), 404, api.CodeNotFound)
		bound := s.newToken(t, model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: model.ProjectGlobs{"**"}})
		refused(t, s.send(t, request{method: "POST", path: path, token: bound, body: object{"mode": "block", "direct": true}}), 404, api.CodeNotFound)
		if got := s.audited(t, "policy.update"); len(got) != 3 || !strings.Contains(got[2], "high") || got[2] == got[0] {
			t.Errorf("in the audit log: %q", got)
		}
	})
}

// audited returns the audit events of an action, with the states before and after.
func (s *site) audited(t testing.TB, action string) (out []string) {
	t.Helper()
	err := s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		events, err := tx.AuditEvents(ctx, 0, 10_000)
		for _, e := range events {
			if e.Action == action {
				out = append(out, e.Before+" then "+e.After)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
