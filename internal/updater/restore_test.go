package updater

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/advisorytest"
)

// TestRestoredDeploymentIsPending checks that a deployment whose match progress is reset counts as
// pending again. A restored backup may contain the advisories but not the matches.
func TestRestoredDeploymentIsPending(t *testing.T) {
	st := advisorytest.OpenData(t, t.TempDir())
	d := advisorytest.ManyRefs(t, st, 1)
	if err := st.PutAdvisories(t.Context(), []model.Advisory{}, advisory.Regroup); err != nil {
		t.Fatal(err)
	}
	if err := st.PutScores(t.Context(), func(func(model.EPSSScore) error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	s := &Jobs{Store: st}
	pending := func() bool {
		t.Helper()
		behind, err := s.MatchingPending(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return behind
	}
	if !pending() {
		t.Error("no job is queued for advisories that were not followed")
	}
	if err := MatchDeployments(t.Context(), st, advisory.NewLibrary(command.AdvisoryOrders), nil, func(model.Deployment, advisory.SweepResult) {}); err != nil {
		t.Fatal(err)
	}
	if pending() {
		t.Fatal("something waits after all have followed")
	}
	err := st.Update(t.Context(), d.ID, advisoriesActor, func(ctx context.Context, tx *store.Tx) error {
		return tx.SaveAdvisoryMatch(ctx, model.AdvisoryProgress{}, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	if !pending() {
		t.Fatal("the deployment is not marked as behind")
	}
}
