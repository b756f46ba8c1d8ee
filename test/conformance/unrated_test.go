package conformance

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestMigrationMarksUnratedFindings checks findings that an older version stored without
// severity_unrated. The migration matches them against all advisories again, and the changes are
// part of the feed.
func TestMigrationMarksUnratedFindings(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1111-1111-1111", name: "lodash", fixed: "4.17.21"}, record{id: "GHSA-2222-2222-2222", name: "left-pad", severity: "MODERATE"})
		s.inventory(t, "main", "4.17.20")
		before := s.unratedBy(t)
		s.restoreOldRatings(t)
		cursor := get[api.FindingChangesResponse](t, s, "findings/changes").Cursor
		for name, unrated := range s.unratedBy(t) {
			if unrated || len(before) != 2 {
				t.Fatalf("of %d findings, %s is marked as unrated", len(before), name)
			}
		}
		s.clock.Advance(1e9)
		s.sweep(t)
		if got := s.unratedBy(t); !got["GHSA-1111-1111-1111"] || got["GHSA-2222-2222-2222"] {
			t.Errorf("after following: %v", got)
		}
		changed := get[api.FindingChangesResponse](t, s, "findings/changes?cursor="+cursor).Changed
		if len(changed) != 1 || !changed[0].Unrated {
			t.Errorf("the feed contains %v", changed)
		}
		counts := get[api.CountFindingsResponse](t, s, "findings/counts?issue_type=sca&group_by=severity,severity_unrated")
		want := map[string]map[string]int64{"severity": {"medium": 2}, "severity_unrated": {"true": 1, "false": 1}}
		if diff := cmp.Diff(want, valuesOf(counts)); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
		for _, f := range get[api.ListFindingsResponse](t, s, "findings?issue_type=sca").SCAFindings.Findings {
			if f.Severity != "medium" || !f.RelevantSince.Before(s.clock.Now()) {
				t.Errorf("finding %d is %s, relevant since %v", f.ID, f.Severity, f.RelevantSince)
			}
		}
	})
}

// unratedBy returns by vulnerability whether its finding is unrated.
func (s *site) unratedBy(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, f := range get[api.ListFindingsResponse](t, s, "findings?issue_type=sca").SCAFindings.Findings {
		out[*f.VulnerabilityIdentifier] = f.Unrated
	}
	return out
}

// restoreOldRatings restores the findings and the match position of the older version.
func (s *site) restoreOldRatings(t *testing.T) {
	t.Helper()
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		var writes []model.FindingWrite
		for id := int64(1); id <= 2; id++ {
			o, err := tx.Finding(ctx, id)
			if err != nil {
				return err
			}
			w := model.FindingWrite{Finding: o.Finding, Body: bytes.Replace(o.Body, []byte(`"severity_unrated":true,`), nil, 1), Evidence: o.Evidence}
			if len(w.Body) != len(o.Body) {
				w.Content[0]++
			}
			writes = append(writes, w)
		}
		if err := tx.UpdateFindings(ctx, writes); err != nil {
			return err
		}
		return tx.SaveAdvisoryMatch(ctx, model.AdvisoryProgress{}, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
}
