package pages

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

var firstBlockCells = regexp.MustCompile(`<tr data-product="(\w+)" data-matches="(\d+)" data-blocking="(\d+)"`)

// lowerRuleSeverities lowers the severity of a report's rules below that of its findings. Scanners that only
// state a severity for each result send such reports.
func lowerRuleSeverities(u ingest.Upload) ingest.Upload {
	for _, rule := range u.Report.Rules {
		rule.Severity = model.SeverityMedium
	}
	return u
}

// TestFirstStartBlocksBySeverity checks that the step adds conditions, whose preview matches the
// gate. They apply by the severity of findings and to rules that are first reported later.
func TestFirstStartBlocksBySeverity(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	s.build(lowerRuleSeverities(branchReport(s, "main", true, "old")))
	s.build(lowerRuleSeverities(branchReport(s, "topic", true, "old", "fresh")))
	containsAll(t, s.page(ui.StartPath), ui.StartPath+"/block?severity=high", ui.StartPath+"/block?severity=critical")
	page := s.page(ui.StartPath + "/block?severity=high")
	rows := map[string][]string{}
	for _, m := range firstBlockCells.FindAllStringSubmatch(page, -1) {
		rows[m[1]] = m[2:]
	}
	if len(rows) != 3 || !slices.Equal(rows["sast"], []string{"2", "1"}) || !slices.Equal(rows["secrets"], []string{"0", "0"}) {
		t.Fatalf("the preview has %v:\n%s", rows, page)
	}
	form := formOf(page)
	for range 2 { // repeating it changes nothing
		shows(t, s.follow(ui.StartPath+"/block", form), "[data-say=blocks-severity]")
		s.change(func(ctx context.Context, tx *store.Tx) error {
			policies, err := tx.Policies(ctx)
			for _, p := range policies {
				if len(p.Conditions) != 1 || p.Conditions[0].Mode != model.ModeBlock || p.Conditions[0].Severity != model.SeverityHigh {
					t.Errorf("%s has the conditions %+v", p.Slug, p.Conditions)
				}
			}
			return err
		})
	}
	if n := s.blockedIn(s.build(lowerRuleSeverities(branchReport(s, "topic", true, "old", "fresh"))).ScanID); n != 1 {
		t.Errorf("the gate blocks on %d, the preview showed 1", n)
	}
	u := lowerRuleSeverities(branchReport(s, "other", true, "old", "never-seen", "medium"))
	u.Report.Results[2].Severity = model.SeverityMedium
	if n := s.blockedIn(s.build(u).ScanID); n != 1 {
		t.Errorf("the gate blocks on %d of a rule that is new and one of medium severity", n)
	}
	if n := s.blocking(); n != 0 {
		t.Errorf("%d rules changed their mode", n)
	}
	if a := s.post(ui.StartPath+"/block", url.Values{"severity": {"grave"}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("no severity: %s", a.Status)
	}
	s.as(model.RoleTriager)
	if a := s.post(ui.StartPath+"/block", form); a.StatusCode != http.StatusForbidden {
		t.Errorf("a triager: %s", a.Status)
	}
	if a := s.get(ui.StartPath + "/block?severity=high"); a.StatusCode != http.StatusForbidden {
		t.Errorf("a triager sees it: %s", a.Status)
	}
}

// TestNewPoliciesIncludeImportedRules checks that a policy that copies the rules of the default policy
// includes rules known only from imports. It blocks on them as its preview shows.
func TestNewPoliciesIncludeImportedRules(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	s.build(branchReport(s, "main", true, "old"))
	s.build(branchReport(s, "topic", true, "old", "fresh"))
	s.serve("code", "served")
	page := s.sent("/policies/new/preview", url.Values{"name": {"Gate"}, "product": {"sast"}, "projects": {"acme/*"}, "take": {"block"}})
	if got := previewByTopic(page)["blocking"]; got[:6] != "1 of 3" {
		t.Errorf("the preview shows %q", got)
	}
	s.follow("/policies/new", wouldForm(t, page))
	modes := func(slug string) map[string]model.PolicyMode {
		out := map[string]model.PolicyMode{}
		s.change(func(ctx context.Context, tx *store.Tx) error {
			policies, err := tx.Policies(ctx)
			at := slices.IndexFunc(policies, func(p model.Policy) bool { return p.Slug == slug })
			rules, _, err2 := tx.PolicyRules(ctx, policies[at].ID, 0, 1000)
			for _, r := range rules {
				out[r.Rule.Name] = r.Mode
			}
			if err == nil {
				err = err2
			}
			return err
		})
		return out
	}
	own, all := modes("gate"), modes("code")
	for name := range all {
		if own[name] != model.ModeBlock {
			t.Errorf("%s is in mode %v", name, own[name])
		}
	}
	if len(own) != len(all) || len(all) != 3 {
		t.Errorf("%d of %d rules", len(own), len(all))
	}
	if n := s.blockedIn(s.build(branchReport(s, "topic", true, "old", "fresh")).ScanID); n != 1 {
		t.Errorf("the gate blocks on %d, the preview showed 1", n)
	}
}
