package hosts

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// checkEvery is the interval between listings of a host's repositories.
const checkEvery = time.Hour

// following is the actor of automatic changes in the audit log.
var following = model.Actor{Kind: "system", Name: "connections"}

// followFor is the timeout of each step of a poll: repositories, their news, and tickets. Each step
// has its own timeout, so that a slow one does not shorten the others.
const followFor = 4 * time.Minute

// forgetAfter is the retention of cached data of a connection without requests.
const forgetAfter = 2 * checkEvery

// Follow runs a store.FollowJob: it polls a connection for repositories, pushes and change
// requests, and adds the next job.
func (k *Service) Follow(ctx context.Context, j model.Job, in store.Following) error {
	c, d := model.Connection{}, model.Deployment{}
	err := k.Store.View(ctx, j.DeploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		d = tx.Deployment()
		c, err = tx.Connection(ctx, in.ConnectionID)
		return err
	})
	if errors.Is(err, model.ErrNotFound) { // the connection was deleted
		return nil
	}
	if err != nil {
		return err
	}
	k.Hosts.Forget(k.Clock().Add(-forgetAfter))
	if k.follow(store.Long(ctx), d, c); ctx.Err() != nil { // after short writes
		return ctx.Err()
	}
	return k.Store.Update(ctx, d.ID, following, func(ctx context.Context, tx *store.Tx) error {
		return tx.QueueFollowing(ctx, c, tx.Now().Add(store.FollowEvery))
	})
}

// EnsureFollowed adds missing jobs for the connections of a deployment.
func (k *Service) EnsureFollowed(ctx context.Context, deploymentID int64) error {
	return k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Connections(ctx)
		for _, c := range list {
			if err == nil {
				err = tx.EnsureFollowing(ctx, c)
			}
		}
		return err
	})
}

// follow polls repositories, pushes and tickets, each with its own timeout. The next job repeats
// failed requests.
func (k *Service) follow(ctx context.Context, d model.Deployment, c model.Connection) {
	within := func(what string, run func(context.Context) error) bool {
		ctx, cancel := context.WithTimeout(ctx, followFor)
		defer cancel()
		err := run(ctx)
		if err != nil {
			k.Logger.WarnContext(ctx, "polling a code host failed", "deployment", d.Slug, "connection", c.Name,
				"asked_for", what, "cause", err)
		}
		return err == nil
	}
	if k.Clock().Sub(c.CheckedAt) >= checkEvery {
		check := func(ctx context.Context) error { _, err := k.Check(ctx, d.ID, following, c.ID); return err }
		if !within("repositories", check) {
			return
		}
	}
	if c.Problem != "" {
		return
	}
	within("pushes and change requests", func(ctx context.Context) error { return k.Poll(ctx, d.ID, c) })
	if c.Kind.HasAPI() {
		within("tickets", func(ctx context.Context) error { return k.FollowTickets(ctx, d, c, k.Clock().Add(-ticketsEvery)) })
	}
}

// propose stores a change request and requests a scan if it is new or has another head.
func (k *Service) propose(
	ctx context.Context, tx *store.Tx, r model.Repository, c model.ChangeRequest,
) (fresh bool, err error) {
	c.RepositoryID = r.ID
	if fresh, err = tx.SaveChangeRequest(ctx, c); err != nil || !fresh || k.Proposed == nil {
		return fresh, err
	}
	return true, k.Proposed(ctx, tx, r, c)
}

// recordChangeRequest stores a change request reported by the host. If it is new or has another
// head, the commit status is sent again, because the current status may only reflect the branch.
func (k *Service) recordChangeRequest(
	ctx context.Context, tx *store.Tx, r model.Repository, c model.ChangeRequest,
) (fresh bool, err error) {
	if fresh, err = k.propose(ctx, tx, r, c); err != nil || !fresh {
		return false, err
	}
	return true, tx.EnqueueStatusUpdate(ctx, r.ProjectID, c.HeadCommit)
}
