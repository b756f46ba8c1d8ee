package hosts

import (
	"context"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// watched returns the branch of a repository whose pushes are scanned, or "" if there is none.
func (k *Service) watched(ctx context.Context, tx *store.Tx, r model.Repository) (string, error) {
	if k.Watched == nil || k.Pushed == nil || !r.Scannable() {
		return "", nil
	}
	return k.Watched(ctx, tx, r)
}

// checkBranch queries the newest commit of the branch that is scanned on push, and requests a scan if
// it changed. It returns a description of the outcome. Webhooks arrive late, repeatedly and out of
// order, so they only trigger the query. Unless byWebhook is set, a new commit is recorded as missed by
// the webhook.
func (k *Service) checkBranch(
	ctx context.Context, deploymentID int64, h scm.Host, r model.Repository, byWebhook bool,
) (what string, err error) {
	branch := ""
	err = k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		branch, err = k.watched(ctx, tx, r)
		return err
	})
	if err != nil || branch == "" {
		return "no action required", err
	}
	commit, err := h.Branch(ctx, r, branch)
	if errors.Is(err, model.ErrNotFound) {
		return "branch " + branch + " does not exist", nil
	}
	if err != nil {
		return "", err
	}
	fresh := false
	err = k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
		now, err := k.watched(ctx, tx, r)
		if err != nil || now != branch { // the setting was changed in the meantime
			return err
		}
		of, before, err := tx.Head(ctx, r.ID)
		if err != nil {
			return err
		}
		if fresh, err = tx.NoteHead(ctx, r.ID, branch, commit); err != nil || !fresh {
			return err
		}
		if !byWebhook && of == branch && before != "" {
			if err := tx.NoteMissed(ctx, r, commit, fmt.Sprintf("the push of %.12s to %s", commit, branch)); err != nil {
				return err
			}
		}
		return k.Pushed(ctx, tx, r, branch, commit)
	})
	if fresh {
		return "push to " + branch, err
	}
	return fmt.Sprintf("no change: %s is at %.12s", branch, commit), err
}
