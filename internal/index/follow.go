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

// followers is the maximum number of deployments that follow their stores concurrently. A reader of
// another deployment refreshes it.
const followers = 2

// commits contains, by deployment, the newest committed versions of this process that are not yet
// followed.
type commits struct {
	mu     sync.Mutex
	last   map[int64]int64
	wake   chan struct{}  // capacity 1
	unread map[int64]bool // deployments with commits that are not in memory
}

// Committed reports that this process committed a version of a deployment. If the deployment is
// loaded, it is refreshed in the background, so that the next reader need not wait. Committed never
// blocks.
func (x *Index) Committed(deployment, version int64) {
	x.commits.mu.Lock()
	x.commits.last[deployment] = max(version, x.commits.last[deployment])
	x.commits.mu.Unlock()
	select {
	case x.commits.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

func (c *commits) drain() map[int64]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.last
	c.last = map[int64]int64{}
	return out
}

// leave marks a deployment with commits for loadWritten.
func (c *commits) leave(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread[id] = true
}

func (c *commits) drainUnread() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := slices.Sorted(maps.Keys(c.unread))
	clear(c.unread)
	return ids
}

// loadWritten loads deployments that this process wrote to but that were never read, while memory
// permits. Otherwise their first reader would wait until all findings are read. An evicted
// deployment is loaded again only by a reader: otherwise each commit would reload it.
func (x *Index) loadWritten(ctx context.Context) {
	for _, id := range x.commits.drainUnread() {
		if ctx.Err() != nil || x.full() {
			return
		}
		if x.wasEvicted(id) {
			continue
		}
		if err := x.load(ctx, x.deployment(id)); err != nil {
			x.log.Warn("the index is loaded on the next request", "deployment_id", id, "cause", err)
		}
	}
}

// wasEvicted reports whether a deployment was evicted for lack of memory.
func (x *Index) wasEvicted(id int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.saved[id] != nil && x.saved[id].evicted.Load()
}

// load loads a deployment at its newest version.
func (x *Index) load(ctx context.Context, d *deployment) error {
	version, err := x.src.Version(ctx, d.id)
	if err != nil {
		return err
	}
	return d.refresh(ctx, version)
}

// follow refreshes loaded deployments after commits of this process, and checks for commits of
// other processes every othersEvery. Queries check the version too.
func (x *Index) follow(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, followers)
	x.follows.Store(true)
	defer x.follows.Store(false)
	ticker := time.NewTicker(othersEvery)
	defer ticker.Stop()
	for {
		var newest map[int64]int64
		select {
		case <-ctx.Done():
			return
		case <-x.commits.wake:
			newest = x.commits.drain()
		case <-ticker.C:
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
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				_ = d.refresh(ctx, newest[id]) // the next query retries and returns the error
			})
		}
	}
}

// known returns a deployment in use, or nil.
func (x *Index) known(id int64) *deployment {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.deployments[id]
}

// newest returns the versions of all deployments in use. It removes deleted deployments from the
// index and returns them as gone. If the store fails, it returns nothing, and the next check
// retries.
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
		if _, exists := versions[d.id]; !exists && x.deployments[d.id] == d {
			delete(x.deployments, d.id)
			gone = append(gone, d)
		}
	}
	return versions, gone
}

// AwaitCommits waits until a loaded deployment includes all commits made before the call, if commits are
// followed in the background. It stops waiting when ctx ends.
func (x *Index) AwaitCommits(ctx context.Context, deployment int64) {
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
		_ = d.refresh(ctx, version) // the next query retries and returns the error
	}()
	select {
	case <-done:
	case <-ctx.Done(): // the refresh continues
	}
}
