// Package job runs durable work: what a request stored and answered for, and
// what must survive a crash and a restart (semantics §11).
//
// A job is a row with a lease. A worker claims it, renews the lease while it
// works, and stores the result; a lease that ran out frees the job for another
// worker or the next process. This package knows neither SQL nor what the work
// is about: kinds of work are registered by whoever wires.
package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
)

// Store keeps the jobs. Its methods look across deployments: a worker serves
// all, and every job names its own.
type Store interface {
	// ClaimJob leases the oldest due job of one of the kinds, nil when none is. A lease
	// that ran out in the outage waits for its end, and then costs no attempt.
	ClaimJob(ctx context.Context, kinds []string, lease time.Duration, outage redoubt.JobOutage) (*redoubt.Job, error)
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

// PermanentError marks an error that another try cannot mend. Its text is shown to
// whoever asked for the job.
type PermanentError struct{ Reason string }

// Error returns the reason.
func (p PermanentError) Error() string { return p.Reason }

// WaitError has a job wait, and counts no attempt: what it needs is busy, or is not there
// yet. A job that has waited for a day in all fails instead.
type WaitError struct {
	Wait   time.Duration
	Reason string // for people, once it has waited too long
}

// Error returns the reason.
func (w WaitError) Error() string { return w.Reason }

// waitAtMost is how old a job may get by waiting.
const waitAtMost = 24 * time.Hour

// Options are the pace of a runner; zero members take the defaults.
type Options struct {
	Workers  int              // at once; 2
	Lease    time.Duration    // 1 minute
	Poll     time.Duration    // how often idle workers look; 1 second
	Attempts int              // before a job fails for good, those that a dead process left among them; 5
	Outages  int              // in which the connection broke under a job, or the database ended its statement, in a row, before each counts as an attempt; 10
	Clock    func() time.Time // that of the store; required
	Logger   *slog.Logger
	// Abandoned is called before a job fails for good whose work could not say so:
	// its last attempt lost its lease, as when the job kills its process, or met its
	// last outage, as when it kills the database's process. It ends
	// what waits for the job, with a reason for people, and may be called again.
	// Nil does nothing; after an error the job is claimed once more.
	Abandoned func(ctx context.Context, j redoubt.Job, reason string) error
}

// Runner takes jobs from the store and has them done.
type Runner struct {
	store   Store
	work    map[string]Work
	kinds   []string
	options Options
	wake    chan struct{}

	mu      sync.Mutex
	seen    seenOutage
	outages map[int64]outages // by the job that met them
}

// New makes a runner for the given kinds of work.
func New(store Store, work map[string]Work, o Options) *Runner {
	r := &Runner{store: store, work: work, options: o, wake: make(chan struct{}, 1), outages: map[int64]outages{}}
	for kind := range work {
		r.kinds = append(r.kinds, kind)
	}
	if r.options.Workers == 0 {
		r.options.Workers = 2
	}
	if r.options.Lease == 0 {
		r.options.Lease = time.Minute
	}
	if r.options.Poll == 0 {
		r.options.Poll = time.Second
	}
	if r.options.Attempts == 0 {
		r.options.Attempts = 5
	}
	if r.options.Outages == 0 {
		r.options.Outages = 10
	}
	if r.options.Logger == nil {
		r.options.Logger = slog.New(slog.DiscardHandler)
	}
	return r
}

// Wake has an idle worker look now: call it after adding a job.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run works until the context ends, then waits for the jobs under way to let
// go; what they did not finish is due again at once, and no attempt is used up.
func (r *Runner) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range r.options.Workers {
		workers.Go(func() { r.worker(ctx) })
	}
	workers.Wait()
}

func (r *Runner) worker(ctx context.Context) {
	tick := time.NewTicker(r.options.Poll)
	defer tick.Stop()
	for ctx.Err() == nil {
		began := r.options.Clock()
		j, err := r.store.ClaimJob(ctx, r.kinds, r.options.Lease, r.lastOutage())
		if ctx.Err() == nil {
			r.note(began, err)
		}
		switch {
		case err != nil && ctx.Err() == nil:
			r.options.Logger.Error("cannot claim a job", "error", err)
		case j != nil:
			r.process(ctx, *j)
			continue
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-r.wake:
		}
	}
}

// process has one job done and stores how it ended. Losing the lease cancels the
// work: another worker has it by then. A job whose attempts are used up already
// is not tried again, or one that kills its process would do so for ever.
func (r *Runner) process(ctx context.Context, j redoubt.Job) {
	log := r.options.Logger.With("job", j.ID, "kind", j.Kind, "deployment", j.DeploymentID, "attempt", j.Attempt)
	held, release := context.WithCancel(ctx)
	defer release()
	go r.renewLease(held, release, j)
	if j.Attempt > r.options.Attempts {
		log.Error("job failed, no further attempt: the last one was cut off")
		logOutcome(ctx, log, r.abandon(held, j))
		return
	}
	result, media, err := r.attempt(held, j)
	worked := err == nil
	if worked {
		err = r.finish(ctx, j, result, media)
	}
	switch {
	case err == nil, worked && errors.Is(err, redoubt.ErrConflict):
		r.forget(j)
		logOutcome(ctx, log, err)
	case ctx.Err() != nil:
		r.letGo(ctx, log, j)
	default:
		if err = r.insist(ctx, r.outcome(ctx, log, j, err)); ctx.Err() != nil {
			r.letGo(ctx, log, j)
		}
		logOutcome(ctx, log, err)
	}
}

// finish stores a result, once the database answers again if it was out. Where the
// connection breaks a second time, the result itself may be what breaks it: that is an
// outage of this job, and not to be insisted on.
func (r *Runner) finish(ctx context.Context, j redoubt.Job, result []byte, media string) error {
	err := r.store.FinishJob(ctx, j, result, media)
	if !Outage(err) {
		return err
	}
	if err := r.insist(ctx, func() error { return r.store.RenewJob(ctx, j, r.options.Lease) }); err != nil {
		return err
	}
	return r.store.FinishJob(ctx, j, result, media)
}

// outcome says why a job ended without a result, and returns how that is stored.
func (r *Runner) outcome(ctx context.Context, log *slog.Logger, j redoubt.Job, err error) (end func() error) {
	if permanent, ok := errors.AsType[PermanentError](err); ok {
		r.forget(j)
		log.Warn("job failed", "error", err)
		return func() error { return r.store.FailJob(ctx, j, permanent.Reason) }
	}
	if Outage(err) {
		return r.afterOutage(ctx, log, j, err)
	}
	r.forget(j)
	if wait, ok := errors.AsType[WaitError](err); ok {
		if r.options.Clock().Sub(j.CreatedAt) < waitAtMost {
			return func() error { return r.store.ReleaseJob(ctx, j, wait.Wait) }
		}
		log.Warn("job failed: it waited too long", "error", err)
		return func() error { return r.store.FailJob(ctx, j, wait.Reason) }
	}
	if j.Attempt >= r.options.Attempts {
		log.Error("job failed, no further attempt", "error", err)
		text := fmt.Sprintf("failed %d times; the server's log has the cause under job %d", j.Attempt, j.ID)
		return func() error { return r.store.FailJob(ctx, j, text) }
	}
	log.Warn("job failed, will be tried again", "error", err)
	return func() error { return r.store.RetryJob(ctx, j, backoff(j.Attempt)) }
}

// releaseWithin bounds how long a runner that stops waits to let go of a job.
const releaseWithin = 5 * time.Second

// letGo gives a job back that a runner which stops could not finish. It is no
// fault of the job, so that a few restarts in a row do not fail it. Where even
// that cannot be stored, the lease runs out, and the attempt counts.
func (r *Runner) letGo(ctx context.Context, log *slog.Logger, j redoubt.Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer cancel()
	err := r.store.ReleaseJob(ctx, j, 0)
	for Outage(err) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(releaseWithin / 10):
			err = r.store.ReleaseJob(ctx, j, 0)
		}
	}
	if err != nil && !errors.Is(err, redoubt.ErrConflict) {
		log.Warn("cannot let go of a job; it is claimed again once its lease ran out", "error", err)
	}
}

// logOutcome logs that the end of a job could not be stored, if so.
func logOutcome(ctx context.Context, log *slog.Logger, err error) {
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, redoubt.ErrConflict):
		log.Info("a job had ended already, or was taken over by another worker, its lease having run out")
	default:
		log.Error("cannot store how a job ended", "error", err)
	}
}

// abandon fails a job for good that was claimed once more than it may be tried.
func (r *Runner) abandon(ctx context.Context, j redoubt.Job) error {
	return r.giveUp(ctx, j, fmt.Sprintf("tried %d times, and the last attempt was cut off before it ended: the server stopped, crashed or ran out of memory; its log has the rest under job %d",
		r.options.Attempts, j.ID))
}

// giveUp fails a job for good whose work could not say so, after what waits for it.
func (r *Runner) giveUp(ctx context.Context, j redoubt.Job, reason string) (err error) {
	defer recoverTo(&err)
	if r.options.Abandoned != nil {
		if err := r.options.Abandoned(ctx, j, reason); err != nil {
			return err
		}
	}
	return r.store.FailJob(ctx, j, reason)
}

// attempt turns a panic into an error, so that one bad job stops nothing else.
func (r *Runner) attempt(ctx context.Context, j redoubt.Job) (result []byte, media string, err error) {
	defer recoverTo(&err)
	return r.work[j.Kind](ctx, j)
}

// recoverTo makes a panic an error; it is to be deferred.
func recoverTo(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// renewLease renews the lease until the work is over.
func (r *Runner) renewLease(ctx context.Context, lost context.CancelFunc, j redoubt.Job) {
	tick := time.NewTicker(r.options.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := r.options.Clock()
		err := r.store.RenewJob(ctx, j, r.options.Lease)
		if ctx.Err() == nil {
			r.note(began, err)
		}
		if errors.Is(err, redoubt.ErrConflict) {
			lost()
			return
		}
	}
}

// maxBackoff bounds what backoff returns.
const maxBackoff = 5 * time.Minute

// backoff waits longer after each failed attempt: 1, 4, 9 … seconds.
func backoff(attempt int) time.Duration {
	attempt = min(attempt, 1000)
	return min(time.Duration(attempt*attempt)*time.Second, maxBackoff)
}
