// Package queue runs durable jobs, which are stored as rows with leases, within limits per kind,
// deployment and key. One poller per process claims due jobs; an expired lease frees a job for
// another worker. Package queue contains no SQL and no business rules: cmd/redoubt registers the
// kinds.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Store stores the jobs of all deployments.
type Store interface {
	// DueJobs returns deployments with jobs of the kinds that may be due within the duration, the
	// least recently checked deployment first.
	DueJobs(ctx context.Context, kinds []string, within time.Duration) ([]model.JobDue, error)
	// ClaimJob leases the oldest due job of a deployment and kind, except jobs with a busy key.
	// It returns nil without such a job.
	ClaimJob(ctx context.Context, due model.JobDue, busy []string, lease time.Duration) (*model.Job, error)
	// RenewJob extends a lease. It returns model.ErrConflict if the lease was lost.
	RenewJob(ctx context.Context, j model.Job, lease time.Duration) error
	// FinishJob stores the result of a leased job.
	FinishJob(ctx context.Context, j model.Job, result []byte, mediaType string) error
	// RetryJob makes a leased job due again after the wait.
	RetryJob(ctx context.Context, j model.Job, wait time.Duration) error
	// ReleaseJob makes a leased job due after the wait without counting the attempt.
	ReleaseJob(ctx context.Context, j model.Job, wait time.Duration) error
	// FailJob ends a leased job permanently, with a text for users.
	FailJob(ctx context.Context, j model.Job, text string) error
}

// Work runs a job and returns its result and media type. A PermanentError fails the job
// immediately. Other errors are retried and count as an attempt, except for database outages (see
// Outage).
type Work func(ctx context.Context, j model.Job) (result []byte, mediaType string, err error)

// Do returns work without a result. It decodes the JSON input of each job.
func Do[In any](work func(ctx context.Context, j model.Job, in In) error) Work {
	return func(ctx context.Context, j model.Job) (result []byte, mediaType string, err error) {
		var in In
		if err := json.Unmarshal(j.Input, &in); err != nil {
			return nil, "", PermanentError{Reason: "the job cannot be read"}
		}
		return nil, "", work(ctx, j, in)
	}
}

// Kind defines how jobs of one kind run. Zero fields use the defaults.
type Kind struct {
	Work     Work
	Attempts int           // maximum, including attempts of processes that died; default 5
	Lease    time.Duration // default 1 minute
	// MaxRunning limits running jobs of the kind in this process; default 2.
	MaxRunning int
	// MaxPerDeployment and MaxPerKey limit running jobs of one deployment, and of one key in all
	// deployments; default MaxRunning. Jobs without a key share no limit.
	MaxPerDeployment, MaxPerKey int
	// Accepts reports whether this process runs jobs of a deployment; nil accepts all. It must
	// not block.
	Accepts func(deploymentID int64) bool
	// Ordered runs the jobs of a deployment one at a time in the order of their creation, in all
	// processes. A retried job loses its position.
	Ordered bool
	// DuringShutdown continues to start jobs during a graceful shutdown, for requests that wait for
	// them.
	DuringShutdown bool
	// Abandoned is called before a job fails without a result of its Work, for example because
	// the process died in the last attempt. It receives a reason for users and may be called
	// repeatedly; after an error the job is claimed again. Nil does nothing.
	Abandoned func(ctx context.Context, j model.Job, reason string) error
}

// Options configure a queue.
type Options struct {
	Clock  func() time.Time // the store's clock; required
	Logger *slog.Logger     // nil logs nothing
	// Poll is the interval between checks for jobs without a notification, for example jobs of
	// another process on SQLite; default 2.9 seconds.
	Poll time.Duration
}

// Queue claims jobs from a store and runs them.
type Queue struct {
	store   Store
	kinds   map[string]Kind
	options Options
	wake    chan struct{}

	lastError string // of claiming jobs; the same error is logged once

	mu     sync.Mutex
	counts map[slot]int
}

// slot identifies a limit: of a kind, of a kind and deployment, or of a kind and key.
type slot struct {
	kind       string
	deployment int64
	key        string
}

// New returns a queue for the given kinds of jobs.
func New(store Store, kinds map[string]Kind, o Options) *Queue {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Poll = or(o.Poll, 2900*time.Millisecond)
	q := &Queue{store: store, kinds: map[string]Kind{}, options: o, wake: make(chan struct{}, 1), counts: map[slot]int{}}
	for name, k := range kinds {
		k.Attempts, k.MaxRunning = or(k.Attempts, 5), or(k.MaxRunning, 2)
		k.MaxPerDeployment, k.MaxPerKey = or(k.MaxPerDeployment, k.MaxRunning), or(k.MaxPerKey, k.MaxRunning)
		k.Lease = or(k.Lease, time.Minute)
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

// Wake notifies the queue that a job may be due. The store calls it after a commit with a new job,
// and for notifications of PostgreSQL.
func (q *Queue) Wake() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run runs jobs until ctx ends, and kinds with DuringShutdown until shutdown ends. Then it waits
// for running jobs to stop. Unfinished jobs become due at once and use no attempt.
func (q *Queue) Run(ctx, shutdown context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	stopped := ctx.Done()
	for shutdown.Err() == nil {
		wait := q.startDue(ctx, shutdown, &working)
		select {
		case <-shutdown.Done():
		case <-stopped:
			stopped = nil
		case <-q.wake:
		case <-time.After(wait):
		}
	}
}

// startDue starts the due jobs within the limits. It returns the duration until the next check, at
// most Options.Poll.
func (q *Queue) startDue(ctx, shutdown context.Context, working *sync.WaitGroup) time.Duration {
	open := q.open(ctx)
	if len(open) == 0 {
		return q.options.Poll
	}
	due, err := q.store.DueJobs(shutdown, open, q.options.Poll)
	defer func() { q.logError(shutdown, err) }()
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
		if !free || shutdown.Err() != nil || k.Accepts != nil && !k.Accepts(d.DeploymentID) {
			continue
		}
		d.Ordered = k.Ordered
		j, failed := q.store.ClaimJob(shutdown, d, busy, k.Lease)
		err = errors.Join(err, failed)
		if j != nil {
			began = true
			q.count(*j, 1)
			within := ctx
			if k.DuringShutdown {
				within = shutdown
			}
			working.Go(func() {
				defer q.Wake() // a limit may be free
				defer q.count(*j, -1)
				q.process(within, k, *j)
			})
		}
	}
	if began { // more jobs may be due
		return 0
	}
	return wait
}

// logError logs an error of claiming jobs, unless the previous check had the same error.
func (q *Queue) logError(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != q.lastError && ctx.Err() == nil {
		q.options.Logger.Error("cannot claim a job", "error", err)
	}
	q.lastError = text
}

// open returns the kinds below their limit.
func (q *Queue) open(ctx context.Context) (kinds []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, k := range q.kinds {
		if q.counts[slot{kind: name}] < k.MaxRunning && (k.DuringShutdown || ctx.Err() == nil) {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// busy returns the keys of a kind at their limit, and whether the kind and deployment are below
// theirs.
func (q *Queue) busy(d model.JobDue) (keys []string, free bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.kinds[d.Kind]
	for s, n := range q.counts {
		if s.kind == d.Kind && s.key != "" && n >= k.MaxPerKey {
			keys = append(keys, s.key)
		}
	}
	slices.Sort(keys)
	free = q.counts[slot{kind: d.Kind}] < k.MaxRunning && q.counts[slot{d.Kind, d.DeploymentID, ""}] < k.MaxPerDeployment
	return keys, free
}

// count adds a started job, or removes an ended one.
func (q *Queue) count(j model.Job, by int) {
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

// Outage reports whether an error is a database outage that no job can cause, such as a full disk.
// The attempt then does not count. Broken connections, canceled statements, lack of memory and
// damage may be caused by the job and count.
func Outage(err error) bool {
	if !errors.Is(err, model.ErrUnavailable) {
		return false
	}
	switch model.OutageOf(err) {
	case model.ErrOutOfMemory, model.ErrDamaged, model.ErrUnreachable, model.ErrCancelled:
		return false
	case model.ErrBusy, model.ErrDiskFull, model.ErrDiskFailed, model.ErrReadOnly, model.ErrOutOfFiles,
		model.ErrReplaced:
	}
	return true
}
