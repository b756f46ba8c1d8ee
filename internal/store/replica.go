package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redoubt/redoubt"
)

const (
	// replicaWait is how long a replica may take to come to what the primary has
	// committed, and to say so.
	replicaWait = time.Second
	// replicaLook is how long to wait until a replica that is behind is asked again.
	replicaLook = 5 * time.Millisecond
	// replicaRest is how long the primary is read after its replica failed or was behind.
	replicaRest = 10 * time.Second
)

// Replica is a store whose feed is read from a replica of it: a PostgreSQL that
// replays what the primary commits. All else is the primary's. It is safe for
// concurrent use.
//
// What it hands over is never older than the primary was when it was asked: where the
// replica is behind, of another history, or does not answer, the primary is read.
type Replica struct {
	*Store  // the primary
	replica *Store
	log     *slog.Logger

	wait, rest time.Duration
	resting    atomic.Bool
	fed        [2]atomic.Int64 // see Fed
}

// NewReplica has the feed of a store read from the database of a URL, which need not
// answer yet. Only PostgreSQL has replicas. The logger hears of one that fails.
func NewReplica(primary *Store, databaseURL string, timeout time.Duration, log *slog.Logger) (*Replica, error) {
	if primary.Engine() != "postgres" {
		return nil, errors.New("only a PostgreSQL has a replica")
	}
	e, _, err := newPostgres(databaseURL, cmp.Or(timeout, DefaultTimeout))
	if err != nil {
		return nil, fmt.Errorf("the replica: %w", err)
	}
	e.schema = primary.engine.schema // which it replays
	return &Replica{Store: primary, replica: &Store{engine: e, clock: primary.clock}, log: log, wait: replicaWait, rest: replicaRest}, nil
}

// Close lets go of the replica. The primary stays open.
func (r *Replica) Close() error { return r.replica.engine.close() }

// Fed returns how many feeds the replica has handed over, and how many the primary.
func (r *Replica) Fed() (replica, primary int64) { return r.fed[0].Load(), r.fed[1].Load() }

// errBehind says that a replica has not come to a version, or never will.
var errBehind = errors.New("it is behind the primary")

// Feed is Store.Feed from the replica, or from the primary. An error of
// redoubt.ErrReplicaLost says that the replica failed once something was handed over:
// who asks again is answered by the primary.
func (r *Replica) Feed(ctx context.Context, deploymentID, since int64, take func(*redoubt.Batch) error) (version int64, stale bool, err error) {
	if !r.resting.Load() {
		newest, err := r.Version(ctx, deploymentID)
		if err != nil {
			return 0, false, err
		}
		a := &attempt{newest: newest, take: take}
		version, stale, err = a.feed(ctx, r, deploymentID, since)
		switch {
		case err == nil:
			r.fed[0].Add(1)
			return version, stale, nil
		case ctx.Err() != nil || a.refused.Load() && !errors.Is(err, redoubt.ErrDamaged): // a replica's damage is its own
			return version, stale, err
		}
		r.relieve(err)
		if a.handed.Load() {
			return 0, false, fmt.Errorf("%w: %w", redoubt.ErrReplicaLost, err)
		}
	}
	r.fed[1].Add(1)
	return r.Store.Feed(ctx, deploymentID, since, take)
}

// relieve has the primary read for a while.
func (r *Replica) relieve(err error) {
	if !r.resting.Swap(true) {
		r.log.Warn("the index is read from the primary for a while: its replica could not be read", "error", err, "for", r.rest)
		time.AfterFunc(r.rest, func() { r.resting.Store(false) })
	}
}

// attempt is one feed from a replica.
type attempt struct {
	newest  int64 // version of the primary, which the replica has to have
	take    func(*redoubt.Batch) error
	handed  atomic.Bool // something, to take
	refused atomic.Bool // by take
}

// feed reads the replica, once it has come to the newest version.
func (a *attempt) feed(ctx context.Context, r *Replica, deploymentID, since int64) (version int64, stale bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(r.wait, func() { cancel(fmt.Errorf("%w, or did not answer, for %s", errBehind, r.wait)) })
	defer late.Stop()
	look := func(ctx context.Context, tx *Tx) error {
		has, err := tx.has(ctx, a.newest)
		if err == nil && (!has || !late.Stop()) {
			err = errBehind
		}
		return err
	}
	for {
		version, stale, err = r.replica.feedOf(ctx, deploymentID, since, look, a.hand)
		// A deployment that is new may not be there yet.
		if !errors.Is(err, errBehind) && !errors.Is(err, redoubt.ErrNotFound) || a.handed.Load() {
			return version, stale, err
		}
		select {
		case <-ctx.Done():
			return 0, false, context.Cause(ctx)
		case <-time.After(replicaLook):
		}
	}
}

func (a *attempt) hand(b *redoubt.Batch) error {
	a.handed.Store(true)
	err := a.take(b)
	if err != nil {
		a.refused.Store(true)
	}
	return err
}

// has reports whether a version is among the commits of the state that is read. One of
// another history is not, however many commits that has.
func (tx *Tx) has(ctx context.Context, version int64) (bool, error) {
	if redoubt.Commits(tx.Version()) < redoubt.Commits(version) {
		return false, nil
	}
	return tx.knows(ctx, version)
}
