package hosts

import (
	"context"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
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

// How long one connection may be asked for each of these: repositories, what is new in them,
// and tickets. One that takes all its time leaves the others theirs.
const followFor = 4 * time.Minute

// Background follows what hosts have until the context ends: new repositories, renamed
// and archived ones, and change requests. Each host of each deployment is asked by itself, so
// that one that answers slowly holds up no other.
func (k *Keeper) Background(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var asking sync.WaitGroup
	defer asking.Wait()
	var rounds rounds
	for {
		all := k.byHost(store.Long(ctx)) // people go first
		k.forget(all)
		for of, list := range all {
			if rounds.begin(of) {
				asking.Go(func() {
					defer rounds.end(of)
					for _, f := range list {
						rounds.enter(of) // for one connection, as others wait for the place
						k.follow(store.Long(ctx), f)
						rounds.leave(of)
					}
				})
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// forgetAfter is for how long something is remembered of a connection by which nothing is
// asked: longer than it takes until one that is there is asked again.
const forgetAfter = 2 * checkEvery

// forget drops what is in memory of connections that are gone, of deployments that were deleted
// among them.
func (k *Keeper) forget(there map[askedHost][]followed) {
	now := k.Clock()
	k.Hosts.Forget(now.Add(-forgetAfter))
	hosts := map[string]bool{}
	for of := range there {
		hosts[of.host] = true
	}
	k.turns.forget(hosts, now)
}

// followed is a connection of a deployment.
type followed struct {
	deployment redoubt.Deployment
	connection redoubt.Connection
}

// byHost lists all connections by whose they are and where they ask.
func (k *Keeper) byHost(ctx context.Context) map[askedHost][]followed {
	out := map[askedHost][]followed{}
	all, err := k.Store.Deployments(ctx)
	if err != nil && ctx.Err() == nil {
		k.Logger.ErrorContext(ctx, "cannot follow code hosts", "error", err)
	}
	for _, d := range all {
		var list []redoubt.Connection
		err := k.Store.View(ctx, d.ID, func(ctx context.Context, tx *store.Tx) (err error) {
			list, err = tx.Connections(ctx)
			return err
		})
		for _, c := range list {
			of := askedHost{d.ID, hostOf(c)}
			out[of] = append(out[of], followed{d, c})
		}
		if err != nil && ctx.Err() == nil {
			k.Logger.ErrorContext(ctx, "cannot follow code hosts", "deployment", d.Slug, "error", err)
		}
	}
	return out
}

// follow asks for each thing in a time of its own, by the connection as it is by now. What
// fails is tried again next time.
func (k *Keeper) follow(ctx context.Context, f followed) {
	d := f.deployment
	c, err := k.connection(ctx, d.ID, f.connection.ID)
	if err != nil { // it was removed, or the database says so to whoever asks next
		return
	}
	within := func(what string, ask func(context.Context) error) bool {
		ctx, cancel := context.WithTimeout(ctx, followFor)
		defer cancel()
		err := ask(ctx)
		if err != nil {
			k.Logger.WarnContext(ctx, "a code host cannot be followed", "deployment", d.Slug, "connection", c.Name, "asked_for", what, "cause", err)
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

// propose keeps a change request, and has it scanned where it is new or has another head.
func (k *Keeper) propose(ctx context.Context, tx *store.Tx, r redoubt.Repository, c redoubt.ChangeRequest) (fresh bool, err error) {
	c.RepositoryID = r.ID
	if fresh, err = tx.SaveChangeRequest(ctx, c); err != nil || !fresh || k.Proposed == nil {
		return fresh, err
	}
	return true, k.Proposed(ctx, tx, r, c)
}

// hearOf is propose of what a host told. What is beside its head may be of the branch alone,
// so that is told again.
func (k *Keeper) hearOf(ctx context.Context, tx *store.Tx, r redoubt.Repository, c redoubt.ChangeRequest) (fresh bool, err error) {
	if fresh, err = k.propose(ctx, tx, r, c); err != nil || !fresh {
		return false, err
	}
	return true, tx.QueueTelling(ctx, r.ProjectID, c.HeadCommit)
}
