package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestRunsByHandAreBounded(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		projects := addProjects(t, w.Store, w.d, "acme/payments", "acme/web")
		request := func(p model.Project, ref string, cause model.RunCause) (r model.Run, err error) {
			err = w.Update(t.Context(), w.d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				r, err = tx.QueueRun(ctx, model.Run{ProjectID: p.ID, Ref: ref, Kind: model.RunFull, Cause: cause})
				return err
			})
			return r, err
		}
		var first model.Run
		for i := range model.MaxRunsByHand {
			r, err := request(projects[0], fmt.Sprint("refs/heads/", i), model.RunByHand)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = r
			}
		}
		for what, c := range map[string]struct {
			project  model.Project
			ref      string
			cause    model.RunCause
			accepted bool
		}{
			"one more":          {projects[0], "refs/heads/more", model.RunByHand, false},
			"one that waits":    {projects[0], first.Ref, model.RunByHand, true},
			"of a push":         {projects[0], "refs/heads/pushed", model.RunByPush, true},
			"of another":        {projects[1], "refs/heads/more", model.RunByHand, true},
			"of another's push": {projects[1], "refs/heads/pushed", model.RunByPush, true},
		} {
			if _, err := request(c.project, c.ref, c.cause); (err == nil) != c.accepted || err != nil && !errors.Is(err, model.ErrConflict) {
				t.Errorf("%s: %v", what, err)
			}
		}
		update(t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error { return tx.CancelRun(ctx, first.ID, model.RunStopped) })
		if _, err := request(projects[0], "refs/heads/more", model.RunByHand); err != nil {
			t.Errorf("one more once another ended: %v", err)
		}
	})
}
