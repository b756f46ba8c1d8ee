package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// wouldBlock returns the preview of a mode: the numbers of blocked and of all findings, and of
// blocked and of all branches.
func wouldBlock(t *testing.T, page string) string {
	t.Helper()
	would := document(t, page).Find("p[data-would]")
	counts := would.AttrOr("data-would", "")
	if shown := visibleNumbers(would.Text()); !strings.HasPrefix(shown, counts+" ") {
		t.Errorf("for %q the text is %q", counts, shown)
	}
	return counts
}

// TestModesPreviewBlockedFindings checks that the preview of a mode matches the gate.
func TestModesPreviewBlockedFindings(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	s.build(branchReport(s, "main", true, "old", "older"))
	s.build(branchReport(s, "topic", true, "old", "older", "fresh", "fresher"))
	s.build(branchReport(s, "calm", true, "old"))
	modes := "/policies/" + policyOf(s, "code") + "/modes"
	page := s.page(modes + "?severity=low&mode=block")
	if counts := wouldBlock(t, page); counts != "2 7 1 3" {
		t.Fatalf("the page shows %q:\n%s", counts, page)
	}
	form := formOf(page)
	for name, change := range map[string]func(url.Values){
		"other rules than were seen": func(f url.Values) { f.Set("sum", "0") }, "no severity": func(f url.Values) { f.Del("severity") }, "no mode": func(f url.Values) { f.Set("mode", "explode") },
	} {
		bad := formOf(page)
		change(bad)
		if a := s.post(modes, bad); a.StatusCode != http.StatusConflict && a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, a.Status)
		}
	}
	if n := s.blocking(); n != 0 {
		t.Fatalf("%d rules block already", n)
	}
	shows(t, s.follow(modes, form), "[data-say=modes-set][data-mode=block][data-count='4'] a[href*='/modes?']")
	if n := s.blocking(); n != 4 {
		t.Errorf("%d rules block, want 4", n)
	}
	if gate := s.blockedIn(s.build(branchReport(s, "topic", true, "old", "older", "fresh", "fresher")).ScanID); gate != 2 {
		t.Errorf("the gate blocks on %d, the page showed 2", gate)
	}
	shows(t, s.page(modes+"?severity=low&mode=block"), "[data-say=no-rule-changes]")
	shows(t, s.follow(modes, formOf(s.page(modes+"?severity=low&mode=monitor"))), "[data-say=modes-set][data-mode=monitor][data-count='4']")
	if n := s.blocking(); n != 0 {
		t.Errorf("%d rules block after all were set back", n)
	}
	s.as(model.RoleTriager)
	if a := s.post(modes, form); a.StatusCode != http.StatusForbidden {
		t.Errorf("a triager sets modes: %s", a.Status)
	}
	shows(t, s.steps(), `li.done a[href*="/scans/"]`)
}

// TestPolicyModeCountsOnlyItsProjects checks that findings of the same rules in other projects are
// not counted.
func TestPolicyModeCountsOnlyItsProjects(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	var own model.Policy
	s.change(func(ctx context.Context, tx *store.Tx) (err error) {
		own, err = tx.CreatePolicy(ctx, model.Policy{Name: "Shop", Product: model.SAST})
		for _, name := range []string{"old", "fresh"} {
			rule := model.Rule{Name: name, Message: "Do not.", IssueType: model.SAST, Severity: model.SeverityHigh, Confidence: model.ConfidenceHigh}
			_, failed := tx.ServeRule(ctx, store.Serving{Rule: rule, Text: fmt.Appendf(nil, `{"id":%q,"pattern":"$X"}`, name), Mode: model.ModeMonitor, PolicyID: own.ID})
			err = errors.Join(err, failed)
		}
		return err
	})
	for _, project := range []string{"acme/app", "acme/shop"} {
		for _, ref := range []string{"main", "topic"} {
			u := branchReport(s, ref, true, "old")
			if ref == "topic" {
				u = branchReport(s, ref, true, "old", "fresh")
			}
			u.Project.Name = project
			s.build(u)
			s.build(u) // only the newest scan counts
		}
	}
	for _, c := range []struct {
		scope model.PolicyScope
		want  string
	}{
		{model.PolicyScope{}, "2 6 2 4"},
		{model.PolicyScope{Projects: model.ProjectGlobs{"acme/shop"}}, "1 3 1 2"},
		{model.PolicyScope{Tags: []string{"none"}}, "0 0 0 0"},
	} {
		s.change(func(ctx context.Context, tx *store.Tx) error {
			own.Scope = c.scope
			_, err := tx.UpdatePolicy(ctx, own)
			return err
		})
		page := s.page("/policies/" + ui.Decimal(own.ID) + "/modes?severity=low&mode=block")
		if counts := wouldBlock(t, page); counts != c.want {
			t.Errorf("for a policy for %+v the page shows %q, want %s", c.scope, counts, c.want)
		}
		hides(t, page, "[data-say=part]")
	}
}

// TestGateInputIsBounded checks that a branch that is too large is not counted, and that
// the others are.
func TestGateInputIsBounded(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	s.build(branchReport(s, "main", true, "old"))
	s.build(branchReport(s, "topic", true, "old", "fresh"))
	s.build(branchReport(s, "large", true, "a", "b", "c", "d", "e", "f"))
	s.change(func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		if err != nil {
			return err
		}
		for _, p := range policies {
			if p.Slug == "code" && err == nil {
				var rules []model.PolicyRule
				rules, _, err = tx.PolicyRules(ctx, p.ID, 0, 100)
				for i := range rules {
					rules[i].Mode = model.ModeBlock
				}
				w, failed := policy.Preview(ctx, tx, policy.Proposal{Policy: p, Rules: rules, MaxFindings: 5})
				err = errors.Join(err, failed)
				if w.Large != 1 || w.Branches != 2 || w.Open != 3 || w.Blocking != 1 {
					t.Errorf("%+v", w)
				}
			}
		}
		return err
	})
}

// blocking counts the rules in mode block.
func (s *site) blocking() (n int) {
	s.t.Helper()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		rules, err := tx.BlockingRules(ctx)
		n = len(rules)
		return err
	})
	return n
}

// blockedIn counts the findings on which a scan failed its build.
func (s *site) blockedIn(scan int64) (n int) {
	s.t.Helper()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		a, err := tx.ScanAccount(ctx, scan)
		if a.Gate != nil {
			n = len(a.Gate.Blocking)
		}
		return err
	})
	return n
}
