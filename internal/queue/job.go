package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// PermanentError marks an error that a retry cannot fix. Its text is shown to the requester of the
// job.
type PermanentError struct{ Reason string }

// Error returns the reason.
func (p PermanentError) Error() string { return p.Reason }

// WaitError delays a job without counting the attempt. A job older than a day fails instead.
type WaitError struct {
	Wait   time.Duration
	Reason string // for users, when the job fails
}

// Error returns the reason.
func (w WaitError) Error() string { return w.Reason }

// waitAtMost limits the age of a job that is delayed or affected by database outages.
const waitAtMost = 24 * time.Hour

// process runs one job and stores its outcome. It cancels the work if the lease is lost. A job
// without attempts left is not run, because it may crash its process each time.
func (q *Queue) process(ctx context.Context, k Kind, j model.Job) {
	log := q.options.Logger.With("job", j.ID, "kind", j.Kind, "deployment", j.DeploymentID, "attempt", j.Attempt)
	leaseCtx, release := context.WithCancel(ctx)
	defer release()
	go q.renewLease(leaseCtx, release, k, j)
	if j.Attempt > k.Attempts {
		log.Error("job failed permanently: the last attempt was interrupted")
		logOutcome(ctx, log, q.abandon(leaseCtx, k, j))
		return
	}
	result, media, err := attempt(leaseCtx, k, j)
	if err != nil && ctx.Err() != nil {
		q.release(ctx, log, j)
		return
	}
	end := func() error { return q.store.FinishJob(ctx, j, result, media) }
	if err != nil {
		end = q.outcome(ctx, log, k, j, err)
	}
	if err = insist(ctx, end); err != nil && ctx.Err() != nil {
		q.release(ctx, log, j)
		return
	}
	logOutcome(ctx, log, err)
}

// outcome returns the function that stores the end of a failed attempt.
func (q *Queue) outcome(ctx context.Context, log *slog.Logger, k Kind, j model.Job, err error) (end func() error) {
	fail := func(text string) func() error { return func() error { return q.store.FailJob(ctx, j, text) } }
	permanent, isPermanent := errors.AsType[PermanentError](err)
	wait, waits := errors.AsType[WaitError](err)
	young := q.options.Clock().Sub(j.CreatedAt) < waitAtMost
	switch {
	case isPermanent:
		log.Warn("job failed", "error", err)
		return fail(permanent.Reason)
	case waits && young:
		return func() error { return q.store.ReleaseJob(ctx, j, wait.Wait) }
	case waits:
		log.Warn("job failed: it waited too long", "error", err)
		return fail(wait.Reason)
	case Outage(err) && young:
		log.Warn("job stopped by an outage and will be retried; the attempt does not count", "error", err)
		return func() error { return q.store.ReleaseJob(ctx, j, outageWait) }
	case j.Attempt >= k.Attempts:
		log.Error("job failed permanently", "error", err)
		reason := fmt.Sprintf("failed %d times; the server log contains the cause under job %d", j.Attempt, j.ID)
		if errors.Is(err, model.ErrUnavailable) { // the work could not report the outage itself
			return func() error { return q.failAbandoned(ctx, k, j, reason) }
		}
		return fail(reason)
	}
	log.Warn("job failed and will be retried", "error", err)
	return func() error { return q.store.RetryJob(ctx, j, backoff(j.Attempt)) }
}

// outageWait is the delay of a job after a database outage.
const outageWait = 5 * time.Second

// insistMost limits the attempts to store an outcome, over about 100 seconds. Afterwards the lease
// expires, because the database may be rejecting the outcome itself.
const insistMost = 22

// insist repeats a write while the database is unavailable.
func insist(ctx context.Context, end func() error) (err error) {
	for n := 1; ; n++ {
		if err = end(); !errors.Is(err, model.ErrUnavailable) || n == insistMost {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(min(backoff(n), outageWait)):
		}
	}
}

// releaseWithin limits the time to release a job during shutdown.
const releaseWithin = 5 * time.Second

// release returns an unfinished job to the queue during shutdown, without counting the attempt.
// If that fails too, the lease expires and the attempt counts.
func (q *Queue) release(ctx context.Context, log *slog.Logger, j model.Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer cancel()
	err := insist(ctx, func() error { return q.store.ReleaseJob(ctx, j, 0) })
	if err != nil && !errors.Is(err, model.ErrConflict) {
		log.Warn("cannot release a job; it is claimed again after its lease expires", "error", err)
	}
}

// logOutcome logs an error of storing an outcome.
func logOutcome(ctx context.Context, log *slog.Logger, err error) {
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, model.ErrConflict):
		log.Info("a job had already ended, or another worker claimed it after its lease expired")
	default:
		log.Error("cannot store the result of a job", "error", err)
	}
}

// abandon fails a job that was claimed after its last attempt.
func (q *Queue) abandon(ctx context.Context, k Kind, j model.Job) error {
	return q.failAbandoned(ctx, k, j, fmt.Sprintf("tried %d times; the last attempt was interrupted: "+
		"the server stopped, crashed or ran out of memory; the server log has details under job %d", k.Attempts, j.ID))
}

// failAbandoned calls Abandoned and fails the job.
func (q *Queue) failAbandoned(ctx context.Context, k Kind, j model.Job, reason string) (err error) {
	defer recoverTo(&err)
	if k.Abandoned != nil {
		if err := k.Abandoned(ctx, j, reason); err != nil {
			return err
		}
	}
	return q.store.FailJob(ctx, j, reason)
}

// attempt runs the work and converts a panic to an error.
func attempt(ctx context.Context, k Kind, j model.Job) (result []byte, media string, err error) {
	defer recoverTo(&err)
	return k.Work(ctx, j)
}

// recoverTo converts a panic to an error. It must be deferred.
func recoverTo(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// renewLease renews the lease until the work ends. It calls lost if the lease was lost.
func (q *Queue) renewLease(ctx context.Context, lost context.CancelFunc, k Kind, j model.Job) {
	tick := time.NewTicker(k.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := q.store.RenewJob(ctx, j, k.Lease); errors.Is(err, model.ErrConflict) {
			lost()
			return
		}
	}
}

// maxBackoff limits the result of backoff.
const maxBackoff = 5 * time.Minute

// backoff returns the delay after a failed attempt: 1, 4, 9 … seconds.
func backoff(attempt int) time.Duration {
	attempt = min(attempt, 1000)
	return min(time.Duration(attempt*attempt)*time.Second, maxBackoff)
}
