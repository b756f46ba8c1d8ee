package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// scanNow queues a full run of a project.
func scanNow(req *request) error {
	var run model.Run
	err := req.update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.Project(ctx, req.pathID)
		if err != nil {
			return err
		}
		if run, err = tx.FullRun(ctx, p, model.RunByHand); errors.Is(err, model.ErrNotFound) {
			return model.Invalid("project",
				"no connection to a code host has this repository: an administrator adds one under Settings, Connections")
		}
		if err == nil {
			run, err = tx.QueueRun(ctx, run)
		}
		return err
	})
	if said, ok := sayable(err); ok {
		return showProjectWith(req, http.StatusConflict, said)
	}
	return then(req, err, "/runs/"+decimal(run.ID))
}
