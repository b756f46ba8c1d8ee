package conformance

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TestTwoServers writes through one of two servers on one database and reads through the other at
// once.
func TestTwoServers(t *testing.T) {
	each(t, func(t *testing.T, a *site) {
		b := a.another(t)
		agree := func(what string) []codeRow {
			t.Helper()
			here, other := a.allCode(t), b.allCode(t)
			if diff := cmp.Diff(here, other); diff != "" {
				t.Errorf("after %s (-one +other):\n%s", what, diff)
			}
			return here
		}
		if n := len(agree("nothing")); n != 0 {
			t.Fatalf("%d findings before the test", n)
		}
		w := &world{site: a, rules: map[string]scanRule{}}
		a.upload(t, "acme/payments", "main", "full", semgrepReport(w.matches(1, 0, 12)...))
		rows := agree("an import here")
		b.upload(t, "acme/payments", "feature/x", "full", semgrepReport(w.matches(1, 0, 12)...))
		if more := agree("an import there"); len(more) != 2*len(rows) || len(rows) == 0 {
			t.Errorf("%d findings, then %d", len(rows), len(more))
		}
		b.triaged(t, object{"issue_type": "sast", "issue_ids": []int64{rows[0].ID}, "new_triage_state": "fixing"})
		if got := a.finding(t, rows[0].ID).Status; got != "fixing" {
			t.Errorf("triaged on server b, server a shows %s", got)
		}
		patch[api.FindingResponse](t, a, "findings/"+itoa(rows[1].ID), object{"assistant": object{"component": object{"tag": "here", "risk": "low"}}})
		if n := len(b.findings(t, url.Values{"component_tags": {"here"}}).SASTFindings.Findings); n != 2 {
			t.Errorf("tagged on server a, server b returns %d", n)
		}
		patch[api.ProjectResponse](t, b, payments, object{"primary_branch": "feature/x", "tags": "new"})
		for _, f := range a.findings(t, url.Values{"dedup": {"true"}}).SASTFindings.Findings {
			if f.Ref != "refs/heads/feature/x" {
				t.Errorf("primary branch set on server b, with dedup server a shows %s", f.Ref)
			}
		}
		if got := a.triaged(t, object{"issue_type": "sast", "project_tags": []string{"NEW"}, "new_note": "n"}); len(got) != 2*len(rows) {
			t.Errorf("tagged on server b, server a returns %d", len(got))
		}
		agree("all of it")
		read[api.DeleteProjectResponse](t, b.send(t, request{method: "DELETE", path: payments}))
		if n := len(agree("a delete there")); n != 0 {
			t.Errorf("%d findings remain after their project was deleted", n)
		}
	})
}

// TestTokenRevokedByCommandLine checks that a running server recognizes tokens that a command creates
// or revokes within a second.
func TestTokenRevokedByCommandLine(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		command := s.another(t)
		token := command.newToken(t, model.Token{Name: "short", Scopes: []model.Scope{model.ScopeWebAPI}, ExpiresAt: s.clock.Now().Add(time.Hour)})
		listProjects := func() answer { return s.send(t, request{method: "GET", path: "projects", token: token}) }
		if a := listProjects(); a.status != 200 {
			t.Fatalf("a new token: %s", a.body)
		}
		command.revoke(t, "short")
		s.clock.Advance(time.Second)
		refused(t, listProjects(), 401, api.CodeUnauthenticated)

		token = command.newToken(t, model.Token{Name: "expiring", Scopes: []model.Scope{model.ScopeWebAPI}, ExpiresAt: s.clock.Now().Add(time.Minute)})
		s.clock.Advance(time.Minute - time.Microsecond)
		if a := listProjects(); a.status != 200 {
			t.Errorf("before its end: %s", a.body)
		}
		s.clock.Advance(time.Microsecond)
		refused(t, listProjects(), 401, api.CodeUnauthenticated)
	})
}
