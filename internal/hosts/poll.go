package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// maxPolled is the number of repositories of a connection polled in one round. Those polled the
// longest ago come first, so that all are polled in the long run.
const maxPolled = 300

// Poll queries a host for events without a webhook: heads of branches scanned on push, open change
// requests, and their replies. Repositories with a complete webhook are polled hourly, for lost
// events. An error of one repository does not stop the others, except if the host requires a wait.
func (k *Service) Poll(ctx context.Context, deploymentID int64, c model.Connection) error {
	now := k.Clock()
	h, err := k.host(deploymentID, c)
	if err != nil {
		return err
	}
	var list []model.Repository
	err = k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.RepositoriesToPoll(ctx, c.ID, now, now.Add(-checkEvery), maxPolled)
		return err
	})
	var first error
	for _, r := range list {
		if err != nil || ctx.Err() != nil {
			break
		}
		if err = k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
			return tx.NotePoll(ctx, r.ID, now)
		}); err != nil {
			break
		}
		var replies error
		if replies, err = k.poll(ctx, deploymentID, c, h, r); unknownTo(err) {
			break // further requests would only be more failed logins
		}
		if ofThisRepository(err) {
			k.Logger.InfoContext(ctx, "polling a repository failed",
				"repository", r.FullName, "cause", err)
			if !refused(err) {
				first = cmp.Or(first, err)
			}
			err = nil
		}
		first = cmp.Or(first, replies)
	}
	return errors.Join(err, first)
}

// unknownTo reports whether the host rejected our credentials.
func unknownTo(err error) bool {
	var no *scm.HostError
	return errors.As(err, &no) && no.Status == http.StatusUnauthorized
}

// refused reports whether the host rejected a request, as opposed to failing itself.
func refused(err error) bool {
	var no *scm.HostError
	return errors.As(err, &no) && no.Status < 500
}

// ofThisRepository reports whether an error concerns one repository, as if access is forbidden or
// the host fails to read it. The others are still polled.
func ofThisRepository(err error) bool {
	return errors.As(err, new(*scm.HostError)) || errors.Is(err, model.ErrNotFound)
}

// poll polls one repository. replies is the first error of reading its replies.
func (k *Service) poll(
	ctx context.Context, deploymentID int64, c model.Connection, h scm.Host, r model.Repository,
) (replies, err error) {
	if _, err := k.checkBranch(ctx, deploymentID, h, r, false); err != nil || !c.Kind.HasAPI() {
		return nil, err
	}
	open, err := h.ChangeRequests(ctx, r)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, len(open))
	err = k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
		for i, c := range open {
			numbers[i] = c.Number
			fresh, err := k.recordChangeRequest(ctx, tx, r, c)
			if err == nil && fresh {
				err = tx.NoteMissed(ctx, r, c.HeadCommit, fmt.Sprintf("change request %d at %.12s", c.Number, c.HeadCommit))
			}
			if err != nil {
				return err
			}
		}
		return tx.CloseChangeRequests(ctx, r.ID, numbers)
	})
	if err != nil {
		return nil, err
	}
	return k.pollReplies(ctx, deploymentID, c, h, r)
}
