package store_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestGateQueriesReturnOnlyRelevantRows checks that each query of the gate returns exactly the relevant rows and
// only the required fields.
func TestGateQueriesReturnOnlyRelevantRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/app")
		states := []model.State{model.Unresolved, model.Muted, model.Fixed, model.StateRemoved, model.Unresolved, model.Unresolved, model.Unresolved}
		writes := d.findings(p, len(states), func(i int, w *model.FindingWrite) {
			w.Ref, w.Source, w.State, w.Malicious, w.CodeHash = "refs/heads/main", "gosec", states[i], i == 0, model.Digest{byte(i + 1)}
			switch i {
			case 5:
				w.Ref = "refs/heads/topic"
			case 6:
				w.Source = "bandit"
			}
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			all, err := tx.Findings(ctx, p.ID, "refs/heads/main", "gosec")
			if err != nil {
				return err
			}
			live, err := tx.UnresolvedFindings(ctx, p.ID, "refs/heads/main", "gosec")
			if err != nil {
				return err
			}
			brief := func(f model.Finding) model.Finding {
				return model.Finding{ID: f.ID, Identity: f.Identity, LineageID: f.LineageID, Path: f.Path, CodeHash: f.CodeHash}
			}
			same(t, "unresolved findings", live, []model.Finding{brief(all[0]), brief(all[4])})

			open, err := tx.OpenFindings(ctx, p.ID, "refs/heads/main", "gosec")
			if err != nil {
				return err
			}
			same(t, "open findings", open, []model.Finding{gateFields(all[0]), gateFields(all[4])})

			occurrences, err := tx.Occurrences(ctx, p.ID, "refs/heads/main", "gosec", []model.Identity{
				writes[0].Identity, writes[2].Identity, writes[5].Identity, {Kind: writes[1].Identity.Kind + 1, Hash: writes[1].Identity.Hash},
			})
			if err != nil {
				return err
			}
			occurrenceFields := func(f model.Finding) model.Finding {
				return model.Finding{ID: f.ID, Identity: f.Identity, LineageID: f.LineageID, State: f.State, RelevantSince: f.RelevantSince}
			}
			same(t, "occurrences", occurrences, map[model.Identity]model.Finding{writes[0].Identity: occurrenceFields(all[0]), writes[2].Identity: occurrenceFields(all[2])})
			none, err := tx.Occurrences(ctx, p.ID, "refs/heads/main", "gosec", nil)
			same(t, "occurrences of nothing", none, map[model.Identity]model.Finding{})
			if err != nil {
				return err
			}

			lineages, err := tx.LineagesOfFindings(ctx, p.ID, []int64{all[3].ID, all[0].ID, 1 << 40})
			same(t, "lineages", lineages, map[int64]int64{all[3].ID: writes[3].LineageID, all[0].ID: writes[0].LineageID})
			if err != nil {
				return err
			}
			byLineage, err := tx.LiveOfLineages(ctx, p.ID, []int64{writes[0].LineageID, writes[1].LineageID, writes[2].LineageID, writes[5].LineageID})
			refs := map[int64]string{}
			for lineage, list := range byLineage {
				for _, f := range list {
					refs[lineage] += f.Ref + " " + f.Source
				}
			}
			same(t, "live findings of lineages", refs, map[int64]string{
				writes[0].LineageID: "refs/heads/main gosec", writes[1].LineageID: "refs/heads/main gosec", writes[5].LineageID: "refs/heads/topic gosec",
			})
			return err
		})
	})
}

// gateFields returns the fields of a finding that the gate uses.
func gateFields(f model.Finding) model.Finding {
	return model.Finding{
		ID: f.ID, Identity: f.Identity, IssueType: f.IssueType, RuleName: f.RuleName, Path: f.Path, Line: f.Line, State: f.State,
		Severity: f.Severity, Confidence: f.Confidence, Reachability: f.Reachability, Transitivity: f.Transitivity, Malicious: f.Malicious,
	}
}
