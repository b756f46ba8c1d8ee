package store_test

import (
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestAdvisorySummaryIsDroppedOnRecordChange checks that the summary of a group is dropped when one of its records
// is changed, added or moved.
func TestAdvisorySummaryIsDroppedOnRecordChange(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		cards := func() (shown []string) {
			t.Helper()
			d.check(s.EachAdvisorySummary(t.Context(), func(c model.AdvisorySummary) { shown = append(shown, c.Shown) }))
			return shown
		}
		fill := func(want int) {
			t.Helper()
			made, err := advisory.FillSummaries(t.Context(), s)
			if err != nil || made != want {
				t.Errorf("%d cards made, want %d: %v", made, want, err)
			}
		}
		putAdvisories(t, s, record("GHSA-1", []string{"npm/a"}), record("GHSA-2", []string{"npm/b"}), record("GHSA-3", []string{"npm/c"}))
		fill(3)
		fill(0)
		same(t, "cards", cards(), []string{"GHSA-1", "GHSA-2", "GHSA-3"})
		putAdvisories(t, s, record("GHSA-2", []string{"npm/b", "npm/z"})) // changed
		fill(1)
		putAdvisories(t, s, record("OSV-9", []string{"npm/a"}, "GHSA-1", "GHSA-2")) // merges two groups
		same(t, "cards", cards(), []string{"GHSA-3"})
		fill(1)
		same(t, "cards", cards(), []string{"GHSA-1", "GHSA-3"})

		full := model.AdvisorySummary{
			Group: 1, Shown: "CVE-1", Names: []string{"CVE-1", "GHSA-1"}, Packages: []string{"npm/a", "gomod/x.org/y z"}, Summary: "Words\x00 of it",
			Severity: model.SeverityHigh, Score: 7.5, Malicious: true, Withdrawn: true, Modified: storetest.Epoch.Add(time.Hour),
		}
		d.check(s.PutAdvisorySummaries(t.Context(), []model.AdvisorySummary{full}))
		full.Summary = "Words\uFFFD of it"
		d.check(s.EachAdvisorySummary(t.Context(), func(c model.AdvisorySummary) {
			if c.Group == 1 {
				same(t, "card", c, full)
			}
		}))
	})
}
