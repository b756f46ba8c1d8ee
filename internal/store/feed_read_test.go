package store_test

import (
	"context"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFeedEqualsDirectReads checks that findings and lineages from the feed equal those read
// directly. Packed numbers and untouched lineages are encoded differently.
func TestFeedEqualsDirectReads(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		writes := d.findings(d.project("acme/payments"), 40, func(i int, w *model.FindingWrite) {
			w.IssueType, w.State = model.IssueType(1+i%3), model.State(1+i%4)
			w.Severity, w.Confidence = model.Severity(1+i%4), model.Confidence(1+i%3)
			w.Reachability, w.Transitivity = model.Reachability(i%6), model.Transitivity(i%4)
			w.ValidationState = model.ValidationState(i % 5)
			w.Malicious, w.ProOnly, w.Historical, w.SeenByFull = i&1 > 0, i&2 > 0, i&4 > 0, i&8 > 0
			if i%2 == 0 {
				w.StateUpdatedAt = w.CreatedAt
				w.Package, w.SecretType = "left-pad", "AWS"
			}
		})
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.Annotate(ctx, writes[3].LineageID, func(a *model.Annotations) { a.Exploited = true })
		})
		fed := feedOf(d, 0)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			for _, w := range writes {
				o, err := tx.Finding(ctx, w.ID)
				if err != nil {
					return err
				}
				read := o.Finding
				got := fed.Findings[w.ID].Finding
				for _, f := range []*model.Finding{&read, &got} { // the feed omits fields that only scans compare
					f.Source, f.Identity, f.RuleName, f.Line = "", model.Identity{}, "", 0
					f.CodeHash, f.PatternHash, f.EdgeHash, f.Content = model.Digest{}, model.Digest{}, model.Digest{}, model.Digest{}
				}
				if diff := gocmp.Diff(read, got); diff != "" {
					t.Errorf("finding %d (-read +fed):\n%s", w.ID, diff)
				}
				if diff := gocmp.Diff(o.Lineage, fed.Lineages[w.LineageID]); diff != "" {
					t.Errorf("lineage of finding %d (-read +fed):\n%s", w.ID, diff)
				}
			}
			return nil
		})
	})
}
