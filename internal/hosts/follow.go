package hosts

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

const (
	// pollEvery is how often hosts are asked for change requests.
	pollEvery = 5 * time.Minute
	// checkEvery is how often they are asked for their repositories.
	checkEvery = time.Hour
)

// following is who follows in the trail.
var following = redoubt.Actor{Kind: "system", Name: "connections"}

// Background follows what hosts have until the context ends: new repositories, renamed
// and archived ones, and change requests.
func (k *Keeper) Background(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		k.round(store.Long(ctx)) // people go first
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// round goes through all connections once. What fails is tried again next time.
func (k *Keeper) round(ctx context.Context) {
	all, err := k.Store.Deployments(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.Logger.ErrorContext(ctx, "cannot follow code hosts", "error", err)
		}
		return
	}
	for _, d := range all {
		var list []redoubt.Connection
		err := k.Store.View(ctx, d.ID, func(ctx context.Context, tx *store.Tx) (err error) {
			list, err = tx.Connections(ctx)
			return err
		})
		for _, c := range list {
			if err == nil && ctx.Err() == nil {
				k.follow(ctx, d, c)
			}
		}
		if err != nil && ctx.Err() == nil {
			k.Logger.ErrorContext(ctx, "cannot follow code hosts", "deployment", d.Slug, "error", err)
		}
	}
}

func (k *Keeper) follow(ctx context.Context, d redoubt.Deployment, c redoubt.Connection) {
	if k.Clock().Sub(c.CheckedAt) >= checkEvery {
		if _, err := k.Check(ctx, d.ID, following, c.ID); err != nil {
			k.Logger.WarnContext(ctx, "a connection does not work", "deployment", d.Slug, "connection", c.Name, "cause", err)
			return
		}
	}
	if !c.Kind.HasAPI() || c.Problem != "" {
		return
	}
	if err := k.Poll(ctx, d.ID, c); err != nil {
		k.Logger.WarnContext(ctx, "change requests cannot be followed", "deployment", d.Slug, "connection", c.Name, "cause", err)
	}
	if err := k.FollowTickets(ctx, d, c, k.Clock().Add(-ticketsEvery)); err != nil {
		k.Logger.WarnContext(ctx, "tickets cannot be followed", "deployment", d.Slug, "connection", c.Name, "cause", err)
	}
}

// Poll asks a host for the open change requests of the repositories that are projects.
func (k *Keeper) Poll(ctx context.Context, deploymentID int64, c redoubt.Connection) error {
	h, err := k.host(deploymentID, c)
	if err != nil {
		return err
	}
	var list []redoubt.Repository
	err = k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.Repositories(ctx, c.ID)
		return err
	})
	for _, r := range list {
		if err != nil {
			return err
		}
		if r.ProjectID == 0 || !r.Scannable() {
			continue
		}
		if err = k.poll(ctx, deploymentID, h, r); refused(err) { // one that is forbidden holds up no other
			k.Logger.InfoContext(ctx, "change requests of a repository cannot be followed", "repository", r.FullName, "cause", err)
			err = nil
		}
	}
	return err
}

// refused reports whether the host said no, and not that it cannot answer.
func refused(err error) bool {
	var no *scm.HostError
	return errors.As(err, &no) && no.Status < 500
}

func (k *Keeper) poll(ctx context.Context, deploymentID int64, h scm.Host, r redoubt.Repository) error {
	open, err := h.ChangeRequests(ctx, r)
	if err != nil {
		return err
	}
	numbers := make([]int64, len(open))
	return k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
		for i, c := range open {
			numbers[i] = c.Number
			if err := k.propose(ctx, tx, r, c); err != nil {
				return err
			}
		}
		return tx.CloseChangeRequests(ctx, r.ID, numbers)
	})
}

// propose keeps a change request, and has it scanned where it is new.
func (k *Keeper) propose(ctx context.Context, tx *store.Tx, r redoubt.Repository, c redoubt.ChangeRequest) error {
	c.RepositoryID = r.ID
	fresh, err := tx.SaveChangeRequest(ctx, c)
	if err != nil || !fresh || k.Proposed == nil {
		return err
	}
	return k.Proposed(ctx, tx, r, c)
}
