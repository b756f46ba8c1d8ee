// Package queue runs durable work: what a request stored and answered for, what waits for
// others, as receivers and code hosts, and what comes round by itself (semantics §11).
//
// A job is a row with a lease. One poller per process claims what is due, within limits per
// kind, deployment and key; the job renews its lease while it works, and a lease that ran out
// frees the job for another worker or the next process. Of one kind and subject at most one
// job works at a time, whatever the process. This package knows neither SQL nor what the work
// is about: kinds of work are registered by whoever wires.
package queue

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
)

// Store keeps the jobs. Its methods look across deployments: a queue serves all, and every
// job names its own.
type Store interface {
	// DueJobs lists the deployments that may have work of some kinds that is due within a
	// time, those first that were looked at the longest ago.
	DueJobs(ctx context.Context, kinds []string, within time.Duration) ([]redoubt.JobDue, error)
	// ClaimJob leases the oldest due job of a deployment and kind whose key is none of those
	// that are busy, nil when none is.
	ClaimJob(ctx context.Context, due redoubt.JobDue, busy []string, lease time.Duration) (*redoubt.Job, error)
	// RenewJob prolongs a lease; redoubt.ErrConflict when it was lost.
	RenewJob(ctx context.Context, j redoubt.Job, lease time.Duration) error
	// FinishJob stores the result of a leased job.
	FinishJob(ctx context.Context, j redoubt.Job, result []byte, mediaType string) error
	// RetryJob makes a leased job due again after the wait.
	RetryJob(ctx context.Context, j redoubt.Job, wait time.Duration) error
	// ReleaseJob makes a leased job due after the wait, as if this attempt had not been.
	ReleaseJob(ctx context.Context, j redoubt.Job, wait time.Duration) error
	// FailJob ends a leased job for good, with a text for people.
	FailJob(ctx context.Context, j redoubt.Job, text string) error
}

// Work does a job and returns its result and media type. An error that wraps
// PermanentError ends the job at once; any other is tried again, and counts, but for
// an outage of the database (see Outage).
type Work func(ctx context.Context, j redoubt.Job) (result []byte, mediaType string, err error)

// Kind says how jobs of one kind are done; zero members take the defaults.
type Kind struct {
	Work     Work
	Attempts int           // before a job fails for good, those that a dead process left among them; 5
	Lease    time.Duration // 1 minute
	// Most are how many work at once in this process: 2.
	Most int
	// OfOne are how many of these are of one deployment, OfKey of one key of all
	// deployments; as many as Most. An empty key has no limit of its own.
	OfOne, OfKey int
	// May reports whether this process does the work of a deployment; nil: of all. It must not
	// block.
	May func(deploymentID int64) bool
	// Ordered kinds do the jobs of a deployment one after the other, as they came, also where a
	// process died with one; one that fails and is tried again is passed.
	Ordered bool
	// Late kinds go on after a stop was asked for: requests under way wait for them.
	Late bool
	// Abandoned is called before a job fails for good whose work could not say so, as its
	// last attempt lost its lease when the process died. It ends what waits for the job, with
	// a reason for people, and may be called again. Nil does nothing; after an error the job
	// is claimed once more.
	Abandoned func(ctx context.Context, j redoubt.Job, reason string) error
}

// Options are what a queue is made of.
type Options struct {
	Clock  func() time.Time // that of the store; required
	Logger *slog.Logger     // nil logs nothing
	// Poll is how often the queue looks for work that nothing announced, as of another process
	// where the database sends no notifications: 2.9 seconds.
	Poll time.Duration
}

// Queue takes jobs from the store and has them done.
type Queue struct {
	store   Store
	kinds   map[string]Kind
	options Options
	wake    chan struct{}

	trouble string // why jobs could not be claimed last, which is logged once

	mu     sync.Mutex
	counts map[slot]int
}

// slot is what has a limit: a kind, a deployment's share of it, or a key's.
type slot struct {
	kind       string
	deployment int64
	key        string
}

// New makes a queue for the given kinds of work.
func New(store Store, kinds map[string]Kind, o Options) *Queue {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Poll = or(o.Poll, 2900*time.Millisecond)
	q := &Queue{store: store, kinds: map[string]Kind{}, options: o, wake: make(chan struct{}, 1), counts: map[slot]int{}}
	for name, k := range kinds {
		k.Attempts, k.Most = or(k.Attempts, 5), or(k.Most, 2)
		k.OfOne, k.OfKey, k.Lease = or(k.OfOne, k.Most), or(k.OfKey, k.Most), or(k.Lease, time.Minute)
		q.kinds[name] = k
	}
	return q
}

func or[T int | time.Duration](given, otherwise T) T {
	if given == 0 {
		return otherwise
	}
	return given
}

// Wake has the queue look now: the store calls it when a job was added, by this process or,
// where the database notifies, by another one.
func (q *Queue) Wake() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends, late kinds until late does, and then waits for the jobs under
// way to let go; what they did not finish is due again at once, and no attempt is used up.
func (q *Queue) Run(ctx, late context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	stopped := ctx.Done()
	for late.Err() == nil {
		wait := q.look(ctx, late, &working)
		select {
		case <-late.Done():
		case <-stopped:
			stopped = nil
		case <-q.wake:
		case <-time.After(wait):
		}
	}
}

// look begins the jobs that are due and within the limits, and returns for how long nothing
// more is: at most Options.Poll.
func (q *Queue) look(ctx, late context.Context, working *sync.WaitGroup) time.Duration {
	open := q.open(ctx)
	if len(open) == 0 {
		return q.options.Poll
	}
	due, err := q.store.DueJobs(late, open, q.options.Poll)
	defer func() { q.log(late, err) }()
	if err != nil {
		return q.options.Poll
	}
	wait, began := q.options.Poll, false
	for _, d := range due {
		if until := d.At.Sub(q.options.Clock()); until > 0 {
			wait = min(wait, until)
			continue
		}
		k := q.kinds[d.Kind]
		busy, free := q.busy(d)
		if !free || late.Err() != nil || k.May != nil && !k.May(d.DeploymentID) {
			continue
		}
		d.Ordered = k.Ordered
		j, failed := q.store.ClaimJob(late, d, busy, k.Lease)
		err = errors.Join(err, failed)
		if j != nil {
			began = true
			q.count(*j, 1)
			within := ctx
			if k.Late {
				within = late
			}
			working.Go(func() {
				defer q.Wake() // its place is free
				defer q.count(*j, -1)
				q.process(within, k, *j)
			})
		}
	}
	if began { // there may be more
		return 0
	}
	return wait
}

// log logs that jobs cannot be claimed, once as long as the reason is the same.
func (q *Queue) log(ctx context.Context, err error) {
	trouble := ""
	if err != nil {
		trouble = err.Error()
	}
	if trouble != "" && trouble != q.trouble && ctx.Err() == nil {
		q.options.Logger.Error("cannot claim a job", "error", err)
	}
	q.trouble = trouble
}

// open are the kinds of which another job may begin.
func (q *Queue) open(ctx context.Context) (kinds []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, k := range q.kinds {
		if q.counts[slot{kind: name}] < k.Most && (k.Late || ctx.Err() == nil) {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// busy are the keys of a kind of which no other job may begin; free is whether any job of the
// deployment may.
func (q *Queue) busy(d redoubt.JobDue) (keys []string, free bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.kinds[d.Kind]
	for s, n := range q.counts {
		if s.kind == d.Kind && s.key != "" && n >= k.OfKey {
			keys = append(keys, s.key)
		}
	}
	slices.Sort(keys)
	return keys, q.counts[slot{kind: d.Kind}] < k.Most && q.counts[slot{d.Kind, d.DeploymentID, ""}] < k.OfOne
}

// count counts a job that begins or has ended.
func (q *Queue) count(j redoubt.Job, by int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	slots := []slot{{kind: j.Kind}, {j.Kind, j.DeploymentID, ""}}
	if j.Key != "" {
		slots = append(slots, slot{kind: j.Kind, key: j.Key})
	}
	for _, s := range slots {
		if q.counts[s] += by; q.counts[s] <= 0 {
			delete(q.counts, s)
		}
	}
}

// Outage reports whether an error is the database's fault whatever a job is, so that the
// attempt does not count. A connection that breaks, a statement that the database ends, a
// lack of memory and damage may come of the job itself: they count, or it would be tried for
// ever.
func Outage(err error) bool {
	if !errors.Is(err, redoubt.ErrUnavailable) {
		return false
	}
	switch redoubt.OutageOf(err) {
	case redoubt.ErrOutOfMemory, redoubt.ErrDamaged, redoubt.ErrUnreachable, redoubt.ErrCancelled:
		return false
	case redoubt.ErrBusy, redoubt.ErrDiskFull, redoubt.ErrDiskFailed, redoubt.ErrReadOnly, redoubt.ErrOutOfFiles, redoubt.ErrReplaced:
	}
	return true
}
