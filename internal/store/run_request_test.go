package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

func TestRunsByHandAreBounded(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		projects := addProjects(t, w.Store, w.d, "acme/payments", "acme/web")
		ask := func(p redoubt.Project, ref string, cause redoubt.RunCause) (r redoubt.Run, err error) {
			err = w.Update(t.Context(), w.d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				r, err = tx.QueueRun(ctx, redoubt.Run{ProjectID: p.ID, Ref: ref, Kind: redoubt.RunFull, Cause: cause})
				return err
			})
			return r, err
		}
		var first redoubt.Run
		for i := range redoubt.MaxRunsByHand {
			r, err := ask(projects[0], fmt.Sprint("refs/heads/", i), redoubt.RunByHand)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = r
			}
		}
		for what, c := range map[string]struct {
			project redoubt.Project
			ref     string
			cause   redoubt.RunCause
			taken   bool
		}{
			"one more":          {projects[0], "refs/heads/more", redoubt.RunByHand, false},
			"one that waits":    {projects[0], first.Ref, redoubt.RunByHand, true},
			"of a push":         {projects[0], "refs/heads/pushed", redoubt.RunByPush, true},
			"of another":        {projects[1], "refs/heads/more", redoubt.RunByHand, true},
			"of another's push": {projects[1], "refs/heads/pushed", redoubt.RunByPush, true},
		} {
			if _, err := ask(c.project, c.ref, c.cause); (err == nil) != c.taken || err != nil && !errors.Is(err, redoubt.ErrConflict) {
				t.Errorf("%s: %v", what, err)
			}
		}
		update(t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error { return tx.CancelRun(ctx, first.ID, redoubt.RunStopped) })
		if _, err := ask(projects[0], "refs/heads/more", redoubt.RunByHand); err != nil {
			t.Errorf("one more once another ended: %v", err)
		}
	})
}
