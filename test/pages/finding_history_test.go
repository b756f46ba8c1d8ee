package pages

import (
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// TestHistoryShowsPrecedent checks that the page of a finding whose line was edited after a
// decision links to the old finding.
func TestHistoryShowsPrecedent(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "eval"))
	old := firstFinding(s)
	view := s.View()
	o, err := view.Newest(t.Context(), model.FindingFilter{IssueType: model.SAST}, 1)
	if err != nil || len(o) != 1 {
		t.Fatal(o, err)
	}
	s.decide(o[0].FindingID, model.TriageFixing)
	on := s.clock.Now().UTC().Format(time.DateOnly)
	s.clock.Advance(time.Hour)
	u := branchReport(s, "main", true, "eval")
	u.Commit, u.Report.Results[0].Code = "second", "do_eval(edited)"
	scan := s.build(u).ScanID
	page := s.page("/findings/" + firstFinding(s))
	shows(t, page, `.history .precedent[data-did=fixing] a[href="/orgs/acme/findings/`+old+`"]`)
	containsAll(t, textAt(t, page, ".history .precedent .note"), on)
	containsAll(t, s.page("/scans/"+ui.Decimal(scan)), `data-count="new"`, `data-count="fixed"`)
}
