package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// checked is what the checks of the engine and of a deployment find.
func checked(t *testing.T, s *store.Store, d tenant) (faults string, checks int) {
	t.Helper()
	tell := func(check string, found []string) {
		checks++
		for _, f := range found {
			faults += check + ": " + f + "\n"
		}
	}
	if err := s.CheckEngine(t.Context(), tell); err != nil {
		t.Fatal(err)
	}
	d.view(func(ctx context.Context, tx *store.Tx) error { return tx.CheckRows(ctx, tell) })
	return faults, checks
}

// TestCheckFindsWhatIsMissing writes past all rules, and has it said.
func TestCheckFindsWhatIsMissing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/a")
		d.findings(p, 3, nil)
		if faults, checks := checked(t, s, d); faults != "" || checks < 5 {
			t.Errorf("%d checks of a whole database find:\n%s", checks, faults)
		}
		for statement, want := range map[string]string{
			`DELETE FROM finding_body WHERE deployment_id = %d AND finding_id = 1`:                                                       "finding has rows with the id 1, which finding_body has not",
			`DELETE FROM lineage WHERE deployment_id = %d AND id = (SELECT MAX(id) FROM lineage)`:                                        "which lineage has not",
			`DELETE FROM change WHERE deployment_id = %[1]d AND version = (SELECT MAX(version) FROM change WHERE deployment_id = %[1]d)`: "the feed has -1 versions more",
			`UPDATE finding SET project_id = 4711 WHERE deployment_id = %d AND id = 2`:                                                   "project_id 4711, which project has not",
		} {
			if err := s.ExecRaw(t.Context(), fmt.Sprintf(statement, d.id)); err != nil {
				t.Fatal(err)
			}
			if faults, _ := checked(t, s, d); !strings.Contains(faults, want) {
				t.Errorf("%q is not in:\n%s", want, faults)
			}
		}
	})
}

// TestCountFindings counts by project, type and status.
func TestCountFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/a")
		d.findings(p, 3, func(i int, w *redoubt.FindingWrite) {
			if i == 0 {
				w.State = redoubt.Fixed
			}
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.CountFindings(ctx)
			same(t, "counts", got, map[store.FindingCount]int{
				{ProjectID: p.ID, IssueType: redoubt.SAST, Status: redoubt.StatusOpen}:  2,
				{ProjectID: p.ID, IssueType: redoubt.SAST, Status: redoubt.StatusFixed}: 1,
			})
			return err
		})
	})
}
