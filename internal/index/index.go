package index

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Options configures an Index.
type Options struct {
	// BodyCache limits the bytes of finding bodies in memory across all deployments. Other bodies
	// are read with Source.Bodies. 0 caches no bodies.
	BodyCache int64

	// Checkpoints configures files to start from. The zero value disables them.
	Checkpoints Checkpoints
	// Memory limits the estimated bytes of all deployments, excluding bodies. The least recently
	// used deployments are evicted. 0 means no limit.
	Memory int64
	Clock  func() time.Time // for log durations, checkpoint intervals and overdue dates; may be nil
	Logger *slog.Logger     // nil disables logging
}

// Index contains the read models of all deployments in use. It is safe for concurrent use.
type Index struct {
	src    Source
	bodies budget

	checkpoints Checkpoints
	memory      int64
	commits     commits
	starting    atomic.Int32
	grown       chan struct{} // capacity 1; signals that a deployment was loaded
	follows     atomic.Bool   // whether commits are followed in the background
	uses        atomic.Int64  // logical clock of requests
	clock       func() time.Time
	log         *slog.Logger

	loads    atomic.Int64
	rebuilds atomic.Int64

	mu          sync.Mutex
	deployments map[int64]*deployment
	saved       map[int64]*saved // by deployment, including evicted ones
}

// New returns an index of the source. Deployments are loaded on first use.
func New(src Source, o Options) *Index {
	x := &Index{
		src: src, bodies: budget{limit: o.BodyCache}, checkpoints: o.Checkpoints,
		memory: o.Memory, clock: o.Clock, log: o.Logger,
		deployments: map[int64]*deployment{}, saved: map[int64]*saved{},
		commits: commits{last: map[int64]int64{}, unread: map[int64]bool{}, wake: make(chan struct{}, 1)},
		grown:   make(chan struct{}, 1),
	}
	if x.clock == nil {
		x.clock = func() time.Time { return time.Time{} }
	}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	return x
}

// Deployment returns a view of a deployment that includes its newest commit. The first call loads
// the deployment; concurrent callers wait for the same load. It returns errors from the source.
func (x *Index) Deployment(ctx context.Context, id int64) (*View, error) {
	version, err := x.src.Version(ctx, id)
	if err != nil {
		return nil, err
	}
	for {
		d := x.deployment(id)
		d.used.Store(x.uses.Add(1))
		if d.version() > version {
			version, err = d.recheckVersion(ctx)
		}
		if err == nil {
			if d.version() >= version {
				return &View{d: d, version: version, now: x.clock()}, nil
			}
			err = d.refresh(ctx, version)
		}
		if err != nil && !errors.Is(err, errEvicted) {
			return nil, err
		}
		err = nil
	}
}

func (x *Index) deployment(id int64) *deployment {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.deployments[id]
	if d == nil {
		if x.saved[id] == nil {
			x.saved[id] = &saved{}
		}
		d = &deployment{id: id, x: x, semaphore: make(chan struct{}, 1), state: &state{version: -1}, saved: x.saved[id]}
		x.deployments[id] = d
	}
	return d
}

// Drop removes a deployment from memory. It is loaded again on its next use.
func (x *Index) Drop(id int64) {
	x.mu.Lock()
	d := x.deployments[id]
	delete(x.deployments, id)
	x.mu.Unlock()
	if d == nil {
		return
	}
	d.semaphore <- struct{}{}
	defer d.release()
	d.swap(&state{version: -1})
}

// Stats contains statistics of an index for metrics.
type Stats struct {
	Deployments int
	Partitions  int // with findings, over all deployments and issue types
	Findings    int
	Bytes       int64 // rows, bitmaps and bodies, without dictionaries
	BodyBytes   int64 // bodies only; included in Bytes
	Loads       int64 // from the store, since the start
	Rebuilds    int64 // of single partitions, since the start
}

// Stats returns the current statistics.
func (x *Index) Stats() Stats {
	all := x.loaded()
	out := Stats{Deployments: len(all), BodyBytes: x.bodies.inUse(), Loads: x.loads.Load(), Rebuilds: x.rebuilds.Load()}
	out.Bytes = out.BodyBytes
	for _, d := range all {
		d.stats(&out)
	}
	return out
}

func (d *deployment) stats(out *Stats) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, p := range d.state.parts {
		if p == nil || len(p.where) == 0 {
			continue
		}
		out.Partitions++
		out.Findings += len(p.where)
		out.Bytes += p.size()
	}
}

// Source provides the data from which the index is built.
type Source interface {
	// Version returns the version of the deployment's newest commit. Versions increase unless
	// commits are lost. After a loss, the remaining commits may have other versions.
	Version(ctx context.Context, deploymentID int64) (int64, error)
	// Versions returns the versions of several deployments and omits missing deployments.
	Versions(ctx context.Context, deploymentIDs []int64) (map[int64]int64, error)
	// Feed passes batches to take and returns the version of the store that they represent. It
	// passes everything if since is 0, and the changes after that version otherwise. Dictionaries
	// (projects, rules, policies, lineages) precede the findings that refer to them. If since is 0,
	// take may be called concurrently. If the feed was pruned after since, or has another history,
	// Feed returns stale = true without calling take, and the index must be rebuilt.
	Feed(ctx context.Context, deploymentID, since int64, take func(*model.Batch) error) (
		version int64, stale bool, err error,
	)
	// Bodies returns bodies by finding ID, for findings whose bodies are not cached.
	Bodies(ctx context.Context, deploymentID int64, ids []int64) (map[int64][]byte, error)
}
