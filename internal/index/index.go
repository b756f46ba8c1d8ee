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

// Options tune an Index.
type Options struct {
	// BodyCache bounds the bytes of finding bodies in memory, all deployments
	// together. Bodies beyond it come from Source.Bodies; 0 keeps none.
	BodyCache int64

	// Checkpoints are files to start from; none by default.
	Checkpoints Checkpoints
	// Memory bounds the bytes of all deployments but for their bodies, estimated: those
	// that nobody asked for the longest leave memory. 0 sets no bound.
	Memory int64
	Clock  func() time.Time // for the log, how old checkpoints are, and what is overdue; nil tells none of it
	Logger *slog.Logger     // nil logs nothing
}

// Index holds the read models of all deployments that were asked for. It is
// safe for concurrent use.
type Index struct {
	src    Source
	bodies budget

	checkpoints Checkpoints
	memory      int64
	commits     commits
	starting    atomic.Int32
	grown       chan struct{} // holds one: a deployment came into memory
	follows     atomic.Bool   // what is committed, in the background
	uses        atomic.Int64  // counts what was asked for
	clock       func() time.Time
	log         *slog.Logger

	loads    atomic.Int64
	rebuilds atomic.Int64

	mu          sync.Mutex
	deployments map[int64]*deployment
	saved       map[int64]*saved // of all deployments that were asked for, in memory or not
}

// New returns an index of what the source holds. Deployments load on first use.
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

// Deployment returns a view of a deployment that is at least as new as its
// newest commit. The first use loads it; callers that come meanwhile wait for
// the same load. Errors are the source's.
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
		d = &deployment{id: id, x: x, turn: make(chan struct{}, 1), state: &state{version: -1}, saved: x.saved[id]}
		x.deployments[id] = d
	}
	return d
}

// Drop forgets a deployment and gives its memory back. Asked for again, it
// loads again.
func (x *Index) Drop(id int64) {
	x.mu.Lock()
	d := x.deployments[id]
	delete(x.deployments, id)
	x.mu.Unlock()
	if d == nil {
		return
	}
	d.turn <- struct{}{}
	defer d.give()
	d.swap(&state{version: -1})
}

// Stats says what an index holds, for metrics.
type Stats struct {
	Deployments int
	Partitions  int // of deployments and issue types that have findings
	Findings    int
	Bytes       int64 // rows, bitmaps and bodies; dictionaries are not counted
	BodyBytes   int64 // of these, bodies
	Loads       int64 // from the store, so far
	Rebuilds    int64 // of single partitions, so far
}

// Stats counts what the index holds now.
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

// Source is what the index is built from.
type Source interface {
	// Version is that of the deployment's newest commit. It grows, unless commits are
	// lost; then others have other versions.
	Version(ctx context.Context, deploymentID int64) (int64, error)
	// Versions are those of several deployments, without those that there are not.
	Versions(ctx context.Context, deploymentIDs []int64) (map[int64]int64, error)
	// Feed hands over everything when since is 0, else what changed after that
	// version, in batches that are all of one state of the store, and returns
	// its version. Dictionaries (projects, rules, policies, lineages) come
	// before the findings that need them. When since is 0, several batches may come
	// at the same time. A feed pruned past since, or of another history, answers
	// stale = true and hands over nothing: build anew.
	Feed(ctx context.Context, deploymentID, since int64, take func(*model.Batch) error) (
		version int64, stale bool, err error,
	)
	// Bodies reads bodies by finding id, for those that do not fit in memory.
	Bodies(ctx context.Context, deploymentID int64, ids []int64) (map[int64][]byte, error)
}
