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

// Bounds of a round: hosts that are asked at once, of all and of one deployment, and how long
// one connection may take. One deployment whose hosts all are slow leaves others their
// places; four such hold up all, until the first of their connections has had its time.
const (
	hostsAtOnce = 32
	hostsOfOne  = 8
	followFor   = 4 * time.Minute
)

// Background follows what hosts have until the context ends: new repositories, renamed
// and archived ones, and change requests. Each host of each deployment is asked by itself, so
// that one that answers slowly holds up no other.
func (k *Keeper) Background(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var asking sync.WaitGroup
	defer asking.Wait()
	rounds := rounds{room: make(chan struct{}, hostsAtOnce), rooms: map[int64]chan struct{}{}, busy: map[askedHost]bool{}}
	for {
		for of, list := range k.byHost(store.Long(ctx)) { // people go first
			if room, free := rounds.begin(of); free {
				asking.Go(func() {
					defer rounds.end(of)
					room <- struct{}{} // each gives its places back within the time of its connections
					defer func() { <-room }()
					rounds.room <- struct{}{}
					defer func() { <-rounds.room }()
					k.followAll(store.Long(ctx), list)
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

// askedHost is a host that a deployment has connections to.
type askedHost struct {
	deployment int64
	host       string
}

// rounds are those under way, each of a host of a deployment.
type rounds struct {
	room  chan struct{} // of all
	mu    sync.Mutex
	rooms map[int64]chan struct{} // of each deployment
	busy  map[askedHost]bool
}

// begin reports whether a host is free to be asked, not while the last round of it goes on,
// and the room of its deployment.
func (r *rounds) begin(of askedHost) (room chan struct{}, free bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rooms[of.deployment] == nil {
		r.rooms[of.deployment] = make(chan struct{}, hostsOfOne)
	}
	free = !r.busy[of]
	r.busy[of] = true
	return r.rooms[of.deployment], free
}

func (r *rounds) end(of askedHost) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, of)
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

// followAll follows connections of one host. What fails is tried again next time.
func (k *Keeper) followAll(ctx context.Context, list []followed) {
	for _, f := range list {
		if ctx.Err() == nil {
			ctx, cancel := context.WithTimeout(ctx, followFor)
			k.follow(ctx, f.deployment, f.connection)
			cancel()
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
	if c.Problem != "" {
		return
	}
	if err := k.Poll(ctx, d.ID, c); err != nil {
		k.Logger.WarnContext(ctx, "pushes and change requests cannot be followed", "deployment", d.Slug, "connection", c.Name, "cause", err)
	}
	if !c.Kind.HasAPI() {
		return
	}
	if err := k.FollowTickets(ctx, d, c, k.Clock().Add(-ticketsEvery)); err != nil {
		k.Logger.WarnContext(ctx, "tickets cannot be followed", "deployment", d.Slug, "connection", c.Name, "cause", err)
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
