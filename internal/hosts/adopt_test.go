package hosts_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestCommentsThatAreAdopted are of lineages of the project: what another server wrote with
// the same account stays as it is.
func TestCommentsThatAreAdopted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		w.host.open = []redoubt.ChangeRequest{{Number: 3, State: redoubt.ChangeOpen, HeadCommit: first, HeadRef: "fix"}}
		ours, foreign := w.find("rule-a", 4), w.findIn("acme/web", "rule-b", 5)
		mark := func(lineage int64) string { return fmt.Sprintf("<!-- redoubt:lineage:%d -->", lineage) }
		for i, lineage := range []int64{ours.LineageID, foreign.LineageID, 999999} {
			w.host.comments = append(w.host.comments, scm.Comment{ID: fmt.Sprint(i + 1), Author: "bot", Path: "a.go", Line: 4, Body: mark(lineage)})
		}
		w.must(w.tell(w.scan(first, ours)))
		same(t, "comments, with the summary", len(w.host.comments), 4)
		same(t, "of another project", w.host.comments[1].Body, mark(foreign.LineageID))
		same(t, "of nothing here", w.host.comments[2].Body, mark(999999))
		w.view(func(ctx context.Context, tx *store.Tx) error {
			r, err := tx.RepositoryByHostID(ctx, c.ID, "1")
			w.must(err)
			known, err := tx.ChangeComments(ctx, r.ID, 3)
			kept := map[int64]string{}
			for _, n := range known {
				kept[n.LineageID] = n.HostID
			}
			same(t, "kept", fmt.Sprint(kept), fmt.Sprintf("map[0:4 %d:1]", ours.LineageID))
			return err
		})
	})
}
