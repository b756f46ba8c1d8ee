package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/store"
)

// ScanJob is the kind of job that applies a scan. Its input is a scanJob.
const ScanJob = "scan"

// Attempts is the maximum number of attempts to apply a scan. After the last one the scanner gets
// an error.
const Attempts = 5

// scanJob contains the scan to apply and its sender.
type scanJob struct {
	UniqueID string      `json:"unique_id"`
	By       model.Actor `json:"by"`
}

// jobToken returns the job token of a scan. It is derived from the scan, so that a repeated
// completion creates one job. Clients cannot read this job, because the API only returns jobs that
// it created itself.
func jobToken(uniqueID string) string { return "scan:" + uniqueID }

// queue stores a completion with the job that applies it, or returns an existing response. The scan
// is applied even if the scanner does not retry. Only the first of several completions is queued.
func (a *Agent) queue(
	ctx context.Context, caller auth.Caller, id int64, done *semgrep.CICompletion,
) (uniqueID string, answer []byte, queued bool, err error) {
	encoded, err := json.Marshal(done)
	if err != nil {
		return "", nil, false, err
	}
	err = a.Store.Update(ctx, caller.Deployment.ID, caller.Actor(), func(ctx context.Context, tx *store.Tx) error {
		known, _, err := find(ctx, tx, caller, id)
		uniqueID, answer, queued = known.UniqueID, known.Answer, false
		switch {
		case err != nil, known.Answer != nil, known.Done != nil:
			return err
		case known.Report == nil:
			return fmt.Errorf("the results of scan %d have not arrived, so it cannot be completed: run the scan again: %w",
				id, model.ErrConflict)
		}
		input, err := json.Marshal(scanJob{known.UniqueID, caller.Actor()})
		if err != nil {
			return err
		}
		queued = true
		return tx.QueueAgentScan(ctx, known.UniqueID, encoded, model.Job{
			Kind:  ScanJob,
			Token: jobToken(known.UniqueID),
			Input: input,
		})
	})
	return uniqueID, answer, queued, err
}

// pollInterval is how often a waiting request checks whether another process has applied its scan.
const pollInterval = 250 * time.Millisecond

// await returns the response to a scan's completion once it is applied, or nil after Config.Wait.
func (a *Agent) await(ctx context.Context, deployment int64, uniqueID string) ([]byte, error) {
	bound, poll := time.NewTimer(a.Wait), time.NewTicker(pollInterval)
	defer bound.Stop()
	defer poll.Stop()
	for {
		next := a.applied.next()
		answer, err := a.appliedAnswer(ctx, deployment, uniqueID)
		if answer != nil || err != nil {
			return answer, err
		}
		select {
		case <-next:
		case <-poll.C:
		case <-bound.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// appliedAnswer returns the response for an applied scan, or nil if it is not yet applied. It
// returns an error if the job has failed.
func (a *Agent) appliedAnswer(ctx context.Context, deployment int64, uniqueID string) (answer []byte, err error) {
	err = a.Store.View(ctx, deployment, func(ctx context.Context, tx *store.Tx) error {
		if answer, err = tx.AgentAnswer(ctx, uniqueID); err != nil || answer != nil {
			return err
		}
		j, err := tx.Job(ctx, jobToken(uniqueID))
		if err == nil && j.State == model.JobFailed {
			err = fmt.Errorf("the results could not be stored: %s; fix that, then run the scan again: %w",
				j.Error, model.ErrConflict)
		}
		return err
	})
	return answer, err
}

// Apply applies a scan exactly once, even with repeated or concurrent attempts.
func (a *Agent) Apply(ctx context.Context, j model.Job, in scanJob) error {
	defer a.applied.notifyAll()
	err := a.apply(ctx, j.DeploymentID, in)
	if reason := permanentReason(err, j.Attempt); reason != "" && ctx.Err() == nil {
		a.Logger.ErrorContext(ctx, "a scan could not be applied", "deployment", j.DeploymentID,
			"unique_id", in.UniqueID, "error", err)
		return errors.Join(a.storeFailure(ctx, j.DeploymentID, in, reason), queue.PermanentError{Reason: reason})
	}
	return err
}

// Abandoned implements queue.Kind.Abandoned. It ends a scan whose last attempt was interrupted, so
// that the scanner and users see it as failed.
func (a *Agent) Abandoned(ctx context.Context, j model.Job, reason string) error {
	var in scanJob
	if err := json.Unmarshal(j.Input, &in); err != nil {
		return nil // as in Apply: an unreadable job fails
	}
	defer a.applied.notifyAll()
	a.Logger.ErrorContext(ctx, "a scan could not be applied", "deployment", j.DeploymentID,
		"unique_id", in.UniqueID, "error", reason)
	return a.storeFailure(ctx, j.DeploymentID, in, reason)
}

// permanentReason returns the reason why a retry is useless, or "" if it may succeed.
func permanentReason(err error, attempt int) string {
	var invalid *model.InvalidError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &invalid):
		return invalid.Error()
	case errors.Is(err, model.ErrNotFound):
		return "the scan, its project or its deployment was deleted in the meantime"
	case queue.Outage(err): // the next attempt has the same number
	case attempt >= Attempts:
		return fmt.Sprintf("it failed %d times: the server's log contains the cause", attempt)
	}
	return ""
}

// longReport is the size of a stored report, in bytes, from which applying it takes seconds.
const longReport = 1 << 20

func (a *Agent) apply(ctx context.Context, deployment int64, in scanJob) (err error) {
	defer func() { // a panic ends the scan like other errors
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	var known model.AgentScan
	var secret func(tool, rule string) bool
	err = a.Store.View(ctx, deployment, func(ctx context.Context, tx *store.Tx) (err error) {
		if known, err = tx.AgentScan(ctx, in.UniqueID); err != nil || known.Answer != nil {
			return err
		}
		secret, err = conceal.KnownRules(ctx, tx)
		return err
	})
	if err != nil || known.Answer != nil {
		return err
	}
	if len(known.Report) > longReport {
		ctx = store.Long(ctx)
	}
	// The report is decoded and cleaned before the deployment is locked.
	c := completion{encodeOutcome: a.EncodeOutcome}
	if err := c.unpack(known, a.SecretKey, secret); err != nil {
		return err
	}
	known.Begun, known.Report, known.Done = nil, nil, nil // frees memory: they may be large and were decoded
	return a.Store.Update(ctx, deployment, in.By, func(ctx context.Context, tx *store.Tx) error {
		answer, err := tx.AgentAnswer(ctx, in.UniqueID)
		if err != nil || answer != nil { // another process was faster
			return err
		}
		c.tx, c.advised = tx, a.Advisories.For(tx)
		if c.scan, err = tx.Scan(ctx, known.ScanID); err != nil {
			return err
		}
		if answer, err = c.apply(ctx); err != nil {
			return err
		}
		return tx.AnswerAgentScan(ctx, in.UniqueID, answer)
	})
}

// storeFailure ends a scan that cannot be applied, with the reason.
func (a *Agent) storeFailure(ctx context.Context, deployment int64, in scanJob, reason string) error {
	err := a.Store.Update(ctx, deployment, in.By, func(ctx context.Context, tx *store.Tx) error {
		known, err := tx.AgentScan(ctx, in.UniqueID)
		if err != nil {
			return err
		}
		scan, err := tx.Scan(ctx, known.ScanID)
		if err != nil || scan.Status != model.ScanRunning {
			return err
		}
		attempt := model.FailedAttempt{
			DeploymentID: deployment, Name: in.UniqueID, Step: model.FailedStorage, TokenID: in.By.ID,
			ExitCode: failedToStore, Cause: "the results could not be stored: " + reason,
		}
		if err := scanFailed(ctx, tx, &attempt, scan); err != nil {
			return err
		}
		if a.attempts.allow(attempt.Step, deployment, "") {
			a.enqueue(attempt)
		}
		return end(ctx, tx, scan, failedToStore, attempt.Cause)
	})
	return ignoreMissing(err) // nothing to end
}

// ignoreMissing returns nil for model.ErrNotFound.
func ignoreMissing(err error) error {
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	return err
}

// failedToStore is the exit code of a scan whose results could not be stored. The scanner uses it
// for fatal errors.
const failedToStore = 2

// broadcast notifies all waiting goroutines of the next event.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// next returns a channel that is closed at the next event.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) notifyAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
