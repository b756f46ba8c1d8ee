package index

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// othersEvery is the interval of checks for commits of other processes.
const othersEvery = 10 * time.Second

// followers is how many deployments follow their stores at a time. Readers who need
// another one meanwhile have it follow themselves.
const followers = 2

// commits are the newest versions that this process committed and no follower took
// up yet, by deployment.
type commits struct {
	mu     sync.Mutex
	last   map[int64]int64
	wake   chan struct{}  // holds one
	unread map[int64]bool // deployments that were written to and are not in memory
}

// Committed says that this process brought a deployment to a version. What is loaded
// of it follows in the background, so that the next reader need not wait. It never
// blocks.
func (x *Index) Committed(deployment, version int64) {
	x.commits.mu.Lock()
	x.commits.last[deployment] = max(version, x.commits.last[deployment])
	x.commits.mu.Unlock()
	select {
	case x.commits.wake <- struct{}{}:
	default: // somebody is about to look
	}
}

func (c *commits) take() map[int64]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.last
	c.last = map[int64]int64{}
	return out
}

// leave marks a deployment that was written to for loadWritten.
func (c *commits) leave(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread[id] = true
}

func (c *commits) takeUnread() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := slices.Sorted(maps.Keys(c.unread))
	clear(c.unread)
	return ids
}

// loadWritten loads deployments that this process wrote to and that nobody has asked for,
// while memory has room. Otherwise the first reader, or the first one after a restart,
// would wait until all of their findings are read. A deployment that was removed from
// memory is loaded again only for a reader: otherwise each commit would read all of it.
func (x *Index) loadWritten(ctx context.Context) {
	for _, id := range x.commits.takeUnread() {
		if ctx.Err() != nil || x.full() {
			return
		}
		if x.wasEvicted(id) {
			continue
		}
		if err := x.load(ctx, x.deployment(id)); err != nil {
			x.log.Warn("the index is loaded when somebody asks for it", "deployment_id", id, "cause", err)
		}
	}
}

// wasEvicted reports whether a deployment was in memory and was removed for lack of room.
func (x *Index) wasEvicted(id int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.saved[id] != nil && x.saved[id].evicted.Load()
}

// load brings a deployment into memory at its newest version.
func (x *Index) load(ctx context.Context, d *deployment) error {
	version, err := x.src.Version(ctx, d.id)
	if err != nil {
		return err
	}
	return d.refresh(ctx, version)
}

// follow has what is loaded follow the commits of this process as they come, and
// those of other processes every ten seconds: each answer checks the version too.
func (x *Index) follow(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, followers)
	x.follows.Store(true)
	defer x.follows.Store(false)
	look := time.NewTicker(othersEvery)
	defer look.Stop()
	for {
		var newest map[int64]int64
		select {
		case <-ctx.Done():
			return
		case <-x.commits.wake:
			newest = x.commits.take()
		case <-look.C:
			var gone []*deployment
			newest, gone = x.newest(ctx)
			for _, d := range gone {
				all.Go(func() { x.forget(ctx, d) })
			}
		}
		for _, id := range slices.Sorted(maps.Keys(newest)) {
			d := x.known(id)
			if d == nil || d.version() < 0 {
				x.commits.leave(id)
				continue
			}
			if d.version() >= newest[id] {
				continue
			}
			room <- struct{}{}
			all.Go(func() {
				defer func() { <-room }()
				_ = d.refresh(ctx, newest[id]) // who asks next tries again, and is told what is wrong
			})
		}
	}
}

// known returns a deployment that was asked for, or nil.
func (x *Index) known(id int64) *deployment {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.deployments[id]
}

// newest asks for the versions of what was asked for, and returns what is there no
// more, which nobody finds from then on. A store that does not answer is asked again a
// second later.
func (x *Index) newest(ctx context.Context) (versions map[int64]int64, gone []*deployment) {
	var ids []int64
	all := x.loaded()
	for _, d := range all {
		ids = append(ids, d.id)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	versions, err := x.src.Versions(ctx, ids)
	if err != nil {
		return nil, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range all {
		if _, there := versions[d.id]; !there && x.deployments[d.id] == d {
			delete(x.deployments, d.id)
			gone = append(gone, d)
		}
	}
	return versions, gone
}

// Settle waits until a deployment that is loaded has followed what was committed by
// now, if commits are followed in the background at all. It gives up with the context.
func (x *Index) Settle(ctx context.Context, deployment int64) {
	d := x.known(deployment)
	if d == nil || d.version() < 0 || !x.follows.Load() {
		return
	}
	version, err := x.src.Version(ctx, deployment)
	if err != nil || d.version() >= version {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = d.refresh(ctx, version) // who asks next tries again, and is told what is wrong
	}()
	select {
	case <-done:
	case <-ctx.Done(): // what was begun goes on
	}
}
