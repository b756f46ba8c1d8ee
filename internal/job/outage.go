package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redoubt/redoubt"
)

// Outage reports whether an error is the database's fault whatever a job is, so that
// the attempt does not count. A job that finds no memory, or damage, may be the only
// one that does: that counts, or it would be tried for ever. So does a connection that
// breaks, or a statement that the database ends, under the same job many times in a row
// (see Options.Outages): between two of its tries the database answered, or the job
// could not have been claimed.
func Outage(err error) bool {
	if !errors.Is(err, redoubt.ErrUnavailable) {
		return false
	}
	outage := redoubt.OutageOf(err)
	return outage != redoubt.ErrOutOfMemory && outage != redoubt.ErrDamaged
}

// seenOutage is what a runner has seen of outages, by the calls that every job makes
// whatever its work is.
type seenOutage struct {
	last   redoubt.JobOutage
	goesOn bool
	over   chan struct{} // closed when it ends
}

// note notes how a call went that began at a time.
func (r *Runner) note(began time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch seen, out := &r.seen, Outage(err); {
	case out && !seen.goesOn:
		seen.goesOn, seen.over = true, make(chan struct{})
		if began.After(seen.last.Until) { // else it is the last one, that came back
			seen.last.From = began
		}
	case !out && seen.goesOn:
		seen.goesOn, seen.last.Until = false, r.graceFromNow()
		close(seen.over)
	}
}

// graceFromNow is by when all who are alive have renewed their leases, if the database
// answers from now on: each tries several times within a lease.
func (r *Runner) graceFromNow() time.Time { return r.options.Clock().Add(r.options.Lease) }

// lastOutage is the one that others may have been in with this runner.
func (r *Runner) lastOutage() redoubt.JobOutage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen.goesOn {
		return redoubt.JobOutage{From: r.seen.last.From, Until: r.graceFromNow()}
	}
	return r.seen.last
}

// ended is closed once the outage is over that goes on; nil where none does.
func (r *Runner) ended() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.seen.goesOn {
		return nil
	}
	return r.seen.over
}

// outages are how many a job met in a row.
type outages struct {
	all int
	// The last ones, which the job may have caused: the connection to the database
	// broke, or the database ended a statement.
	broken, cancelled int
}

// own counts the last ones that the job may have caused.
func (o outages) own() int { return o.broken + o.cancelled }

// what says what happened each of those times.
func (o outages) what() string {
	switch {
	case o.cancelled == 0:
		return "the connection to the database broke"
	case o.broken == 0:
		return "the database ended a statement before it was done, as past its statement_timeout,"
	}
	return "the connection to the database broke, or the database ended a statement before it was done,"
}

// afterOutage returns how it is stored that a job met an outage. What meets nothing
// else waits longer each time, as it may be their cause; and so often that it must be,
// it has used up an attempt.
func (r *Runner) afterOutage(ctx context.Context, log *slog.Logger, j redoubt.Job, err error) (end func() error) {
	met := r.countOutage(j, redoubt.OutageOf(err))
	switch wait := backoff(met.all); {
	case met.own() <= r.options.Outages:
		log.Warn("job met an outage, will be tried again; the attempt does not count", "error", err)
		return func() error { return r.store.ReleaseJob(ctx, j, wait) }
	case j.Attempt < r.options.Attempts:
		log.Warn("job met such an outage each time it ran; the attempt counts", "error", err, "what", met.what(), "times", met.own())
		return func() error { return r.store.RetryJob(ctx, j, wait) }
	}
	r.forget(j)
	log.Error("job failed, no further attempt: it met such an outage each time", "error", err, "what", met.what(), "times", met.own())
	reason := fmt.Sprintf("%s each of the last %d times this ran, and not in between; the server's log has the rest under job %d", met.what(), met.own(), j.ID)
	return func() error { return r.giveUp(ctx, j, reason) }
}

// countOutage counts the outages that a job met in a row.
func (r *Runner) countOutage(j redoubt.Job, outage redoubt.OutageError) outages {
	r.mu.Lock()
	defer r.mu.Unlock()
	met := r.outages[j.ID]
	met.all++
	switch outage {
	case redoubt.ErrUnreachable:
		met.broken++
	case redoubt.ErrCancelled:
		met.cancelled++
	default:
		met.broken, met.cancelled = 0, 0
	}
	r.outages[j.ID] = met
	return met
}

// forget ends a row of outages.
func (r *Runner) forget(j redoubt.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.outages, j.ID)
}

// insist has something stored, again and again while the database is out, and at once
// when it answers others again.
func (r *Runner) insist(ctx context.Context, end func() error) (err error) {
	for n := 1; ; n++ {
		if err = end(); !Outage(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-r.ended():
		case <-time.After(backoff(n)):
		}
	}
}
