package projects

import (
	"context"
	"errors"
	"net/http"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// scanNow queues a full run of a project.
func scanNow(req *ui.Request) error {
	var run model.Run
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.Project(ctx, req.PathID)
		if err != nil {
			return err
		}
		if run, err = tx.FullRun(ctx, p, model.RunByHand); errors.Is(err, model.ErrNotFound) {
			return model.Invalid("project",
				"no connection includes this repository: an administrator can add one in Settings, Connections")
		}
		if err == nil {
			run, err = tx.QueueRun(ctx, run)
		}
		return err
	})
	if message, ok := ui.InputError(err); ok {
		return showProjectWith(req, http.StatusConflict, message)
	}
	return ui.RedirectAfter(req, err, "/runs/"+ui.Decimal(run.ID))
}
