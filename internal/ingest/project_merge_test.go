package ingest

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestScanOfMergedProject merges a project into another and scans the latter. Findings that the
// scan reports retain their state and decision, unreported ones are fixed, and new ones are open.
func TestScanOfMergedProject(t *testing.T) {
	eachVEXWorld(t, func(w *vexWorld) {
		report := func(packages ...string) string {
			text := ""
			for i, name := range packages {
				if i > 0 {
					text += ","
				}
				text += fmt.Sprintf(`{"name": %q, "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"], "description": "One."}]}`, name)
			}
			return `{"dependencies": [` + text + `]}`
		}
		w.imports("acme/pay", "main", report("both", "gone", "only-into"))
		w.imports("acme/old", "main", report("both", "gone", "only-from", "gone-from"))
		err := w.s.Update(w.t.Context(), w.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			old, err := tx.ProjectByName(ctx, "acme/old")
			if err != nil {
				return err
			}
			var events []model.TriageEvent
			err = tx.SupplyChainFindings(ctx, old.ID, "refs/heads/main", func(f model.IndexedFinding, _ model.Rule, l model.Lineage) error {
				after := model.Triage{State: model.TriageFixing, At: tx.Now(), By: storetest.Actor}
				events = append(events, model.TriageEvent{LineageID: l.ID, At: tx.Now(), By: storetest.Actor, Before: l.Triage, After: after})
				return nil
			})
			if err != nil {
				return err
			}
			if err := tx.UpdateTriage(ctx, events); err != nil {
				return err
			}
			_, err = tx.MergeProjects(ctx, old.ID, w.project(ctx, tx).ID)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
		w.want("merged", "acme/pay", "main", map[string]string{"both": "fixing", "gone": "fixing", "only-from": "fixing", "gone-from": "fixing", "only-into": "untriaged"})
		sum := w.imports("acme/pay", "main", report("both", "only-from", "only-into", "new"))[0]
		if sum.New != 1 || sum.Closed != 2 || sum.Unchanged != 3 {
			w.t.Errorf("the scan opened %d, closed %d and left %d", sum.New, sum.Closed, sum.Unchanged)
		}
		w.want("scanned", "acme/pay", "main", map[string]string{"both": "fixing", "only-from": "fixing", "only-into": "untriaged", "new": "untriaged"})
	})
}
