package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// user creates a user with a role in a deployment.
func (s *site) user(t *testing.T, deployment int64, name string) (u model.User) {
	t.Helper()
	err := s.store.Update(t.Context(), deployment, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, model.User{Name: name}, model.RoleTriager)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestTriageAssigneeAndExpiry checks both extensions of a triage on both engines.
func TestTriageAssigneeAndExpiry(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		rival, err := s.store.CreateDeployment(t.Context(), "rival", "", storetest.Actor)
		if err != nil {
			t.Fatal(err)
		}
		s.user(t, s.deployment.ID, "ada")
		s.user(t, s.deployment.ID, "bob")
		s.user(t, rival.ID, "mallory")
		t.Run("assignee", func(t *testing.T) { testAssignee(t, s, code) })
		t.Run("refusals", func(t *testing.T) { testAssigneeRefusals(t, s, code[0].ID) })
		t.Run("end", func(t *testing.T) { testDecisionExpiry(t, s) })
	})
}

func (s *site) assigned(t *testing.T, names ...string) []int64 {
	t.Helper()
	page, err := s.api().ListFindings(t.Context(), s.deployment.Slug, api.FindingsQuery{IssueType: "sast", PageSize: 3000, Assignees: names})
	if err != nil {
		t.Fatal(err)
	}
	ids := []int64{}
	for _, f := range page.SASTFindings.Findings {
		ids = append(ids, f.ID)
	}
	slices.Sort(ids)
	return ids
}

func testAssignee(t *testing.T, s *site, code []codeRow) {
	all := s.assigned(t, model.AssigneeNone)
	if len(all) != len(code) {
		t.Fatalf("%d of %d findings are unassigned", len(all), len(code))
	}
	before := s.finding(t, code[0].ID)
	hers := s.triaged(t, object{"issue_type": "sast", "issue_ids": []int64{code[0].ID}, "new_assignee": " Ada "})
	if got := s.finding(t, code[0].ID); got.Assignee != "ada" || got.TriageState != before.TriageState || got.TriagedAt != before.TriagedAt {
		t.Errorf("assigned to %q, %s, triaged at %v", got.Assignee, got.TriageState, got.TriagedAt)
	}
	if diff := cmp.Diff(hers, s.assigned(t, "ada")); diff != "" {
		t.Errorf("hers (-triaged +listed):\n%s", diff)
	}
	his := s.triaged(t, object{"issue_type": "sast", "issue_ids": all, "assignees": []string{model.AssigneeNone}, "new_triage_state": "fixing", "new_assignee": "bob"})
	if len(his)+len(hers) != len(all) || slices.Contains(his, code[0].ID) {
		t.Errorf("unassigned are %v, hers are %v of %v", his, hers, all)
	}
	if got := s.assigned(t, "ada", "bob"); !slices.Equal(got, all) {
		t.Errorf("theirs are %v, want %v", got, all)
	}
	u, err := s.store.User(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.DisableUser(t.Context(), u.ID, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	if got := s.assigned(t, "bob"); !slices.Equal(got, his) {
		t.Errorf("after he was disabled his are %v, want %v", got, his)
	}
	invalid(t, s.triage(t, object{"issue_type": "sast", "assignees": []string{"ada"}, "new_assignee": "bob"}), "body.new_assignee")
	if got := s.triaged(t, object{"issue_type": "sast", "assignees": []string{"ada", "bob"}, "new_assignee": ""}); !slices.Equal(got, all) {
		t.Errorf("unassigned from %v, want %v", got, all)
	}
	if got := s.assigned(t, model.AssigneeNone); !slices.Equal(got, all) {
		t.Errorf("unassigned are %v, want all", got)
	}
}

func testAssigneeRefusals(t *testing.T, s *site, id int64) {
	set := func(member string, value any) object {
		return object{"issue_type": "sast", "issue_ids": []int64{id}, "new_triage_state": "ignored", member: value}
	}
	var words []string
	for _, name := range []string{"unknown-user", "mallory"} { // users of another tenant are rejected like unknown ones
		a := s.triage(t, set("new_assignee", name))
		words = append(words, refused(t, a, 400, api.CodeInvalidArgument, "body.new_assignee").Errors[0].Message[len(name)+2:])
	}
	if words[0] != words[1] {
		t.Errorf("a stranger is refused with %q, another tenant's user with %q", words[0], words[1])
	}
	for name, body := range map[string]object{
		"no day":      set("new_triage_until", "soon"),
		"no such day": set("new_triage_until", "2027-02-30"),
		"a time":      set("new_triage_until", "2027-01-31T00:00:00Z"),
		"too far":     set("new_triage_until", "9999-12-31"),
		"too early":   set("new_triage_until", "0000-12-31"),
		"yesterday":   set("new_triage_until", s.clock.Now().AddDate(0, 0, -1).Format(time.DateOnly)),
	} {
		t.Run(name, func(t *testing.T) { invalid(t, s.triage(t, body), "body.new_triage_until") })
	}
	reopened := set("new_triage_until", "2097-01-31")
	reopened["new_triage_state"] = "reopened"
	invalid(t, s.triage(t, reopened), "body.new_triage_until")
	if f := s.finding(t, id); f.Status == "ignored" || f.Assignee != "" {
		t.Errorf("refusals left %s, %q", f.Status, f.Assignee)
	}
}

// testDecisionExpiry checks that a decision ends at the end of its day in UTC. An upload ends it at
// once, otherwise the housekeeping does. A newer decision is not affected.
func testDecisionExpiry(t *testing.T, s *site) {
	w := &world{site: s, rules: map[string]scanRule{}}
	s.upload(t, "acme/end", "main", "full", semgrepReport(w.matches(1, 0, 6)...))
	rows := filterSlice(s.allCode(t), func(f codeRow) bool { return f.Repository.Name == "acme/end" && f.State == "unresolved" })
	if len(rows) < 3 {
		t.Fatalf("only %d findings to triage", len(rows))
	}
	today := s.clock.Now().UTC().Format(time.DateOnly)
	ids := []int64{rows[0].ID, rows[1].ID, rows[2].ID}
	s.triaged(t, object{"issue_type": "sast", "issue_ids": ids[:2], "new_triage_state": "ignored", "new_triage_reason": "no_time", "new_note": "n", "new_triage_until": today, "new_assignee": "ada"})
	s.triaged(t, object{"issue_type": "sast", "issue_ids": ids[2:], "new_triage_state": "ignored", "new_triage_until": today})
	if f := s.finding(t, ids[0]); f.TriageUntil != today || f.Status != "ignored" {
		t.Fatalf("%s until %q, want today", f.Status, f.TriageUntil)
	}
	s.clock.Advance(time.Minute)
	s.triaged(t, object{"issue_type": "sast", "issue_ids": ids[2:], "new_triage_state": "fixing"})
	end, _ := model.EndOfDay(today)
	s.clock.Advance(end.Sub(s.clock.Now()) - time.Hour)
	s.upload(t, "acme/end", "other", "full", semgrepReport(w.matches(1, 0, 5)...))
	if f := s.finding(t, ids[0]); f.Status != "ignored" {
		t.Errorf("an hour before the end: %s", f.Status)
	}
	s.clock.Advance(time.Hour)
	s.upload(t, "acme/other", "main", "full", semgrepReport(w.matches(1, 8, 9)...))
	for i, want := range []string{"open", "open", "fixing"} {
		f := s.finding(t, ids[i])
		if f.Status != want || f.TriageUntil != "" || i < 2 && (f.TriageState != "reopened" || f.Assignee != "ada" || deref(f.TriageComment) != "n") {
			t.Errorf("after the end %d is %s, %s until %q, assigned to %q", i, f.Status, f.TriageState, f.TriageUntil, f.Assignee)
		}
	}
	s.readTrailOfEnd(t, ids[0])
}

func (s *site) readTrailOfEnd(t *testing.T, id int64) {
	t.Helper()
	err := s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.Finding(ctx, id)
		if err != nil {
			return err
		}
		trail, err := tx.TriageTrail(ctx, found.LineageID)
		if err != nil {
			return err
		}
		last := trail[len(trail)-1]
		if len(trail) != 2 || last.By.Kind != "system" || last.Note != "ignored until "+model.LastDay(last.Before.Until)+" (UTC) expired" {
			t.Errorf("the trail ends with %+v", last)
		}
		over, err := tx.CountExpiredDecisions(ctx)
		if over != 0 {
			t.Errorf("%d expired decisions are still shown", over)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
