package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// memory stores jobs with leases, like the store.
type memory struct {
	mu    sync.Mutex
	jobs  []*model.Job
	due   map[int64]time.Time
	lease map[int64]time.Time
	dead  bool // processes die and release nothing
	out   bool // the database is unavailable
	heavy bool // results break the connection
	polls int
}

func (m *memory) isOut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out
}

func (m *memory) setOut(out bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out = out
}

func newMemory(kinds ...string) *memory {
	m := &memory{due: map[int64]time.Time{}, lease: map[int64]time.Time{}}
	for i, kind := range kinds {
		m.jobs = append(m.jobs, &model.Job{ID: int64(i + 1), DeploymentID: 1, Kind: kind, State: model.JobQueued, CreatedAt: time.Now()})
	}
	return m
}

func (m *memory) DueJobs(_ context.Context, kinds []string, within time.Duration) ([]model.JobDue, error) {
	if m.isOut() {
		return nil, model.ErrUnreachable
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.polls++
	var due []model.JobDue
	for _, j := range m.jobs {
		at := m.due[j.ID]
		if j.State == model.JobRunning {
			at = m.lease[j.ID]
		}
		one := model.JobDue{DeploymentID: j.DeploymentID, Kind: j.Kind, At: at}
		known := slices.ContainsFunc(due, func(d model.JobDue) bool { return d.DeploymentID == one.DeploymentID && d.Kind == one.Kind })
		if j.State < model.JobDone && !at.After(time.Now().Add(within)) && !known && slices.Contains(kinds, j.Kind) {
			due = append(due, one)
		}
	}
	return due, nil
}

func (m *memory) ClaimJob(_ context.Context, due model.JobDue, busy []string, lease time.Duration) (*model.Job, error) {
	if m.isOut() {
		return nil, model.ErrUnreachable
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for _, j := range m.jobs {
		queued := j.State == model.JobQueued && !now.Before(m.due[j.ID])
		abandoned := j.State == model.JobRunning && now.After(m.lease[j.ID])
		if (queued || abandoned) && j.Kind == due.Kind && j.DeploymentID == due.DeploymentID && !slices.Contains(busy, j.Key) {
			j.State, m.lease[j.ID] = model.JobRunning, now.Add(lease)
			j.Claim++
			j.Attempt++
			claimed := *j
			return &claimed, nil
		}
	}
	return nil, nil
}

func (m *memory) leased(j model.Job, change func(*model.Job)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.out {
		return model.ErrUnreachable
	}
	row := m.jobs[j.ID-1]
	if row.State != model.JobRunning || row.Claim != j.Claim {
		return model.ErrConflict
	}
	change(row)
	return nil
}

func (m *memory) RenewJob(_ context.Context, j model.Job, lease time.Duration) error {
	return m.leased(j, func(*model.Job) { m.lease[j.ID] = time.Now().Add(lease) })
}

func (m *memory) FinishJob(_ context.Context, j model.Job, result []byte, media string) error {
	if m.heavy && len(result) > 0 {
		return model.ErrUnreachable
	}
	return m.leased(j, func(row *model.Job) { row.State, row.Result, row.MediaType = model.JobDone, result, media })
}

func (m *memory) RetryJob(_ context.Context, j model.Job, wait time.Duration) error {
	return m.leased(j, func(row *model.Job) { row.State, m.due[j.ID] = model.JobQueued, time.Now().Add(wait) })
}

func (m *memory) ReleaseJob(ctx context.Context, j model.Job, wait time.Duration) error {
	if m.dead || ctx.Err() != nil {
		return errors.Join(errors.New("the job is interrupted"), ctx.Err())
	}
	return m.leased(j, func(row *model.Job) {
		row.State, m.due[j.ID] = model.JobQueued, time.Now().Add(wait)
		row.Attempt--
	})
}

func (m *memory) FailJob(_ context.Context, j model.Job, text string) error {
	return m.leased(j, func(row *model.Job) { row.State, row.Error = model.JobFailed, text })
}

func (m *memory) job(id int) model.Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.jobs[id-1]
}

// run runs a queue for a synthetic duration, with the options k for each kind.
func run(m *memory, d time.Duration, work map[string]Work, k Kind) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	runIn(ctx, m, work, k)
}

func runIn(ctx context.Context, m *memory, work map[string]Work, k Kind) {
	kinds := map[string]Kind{}
	for name, w := range work {
		k.Work = w
		kinds[name] = k
	}
	New(m, kinds, Options{Clock: time.Now}).Run(ctx, ctx)
}

func TestEachJobIsDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kinds := make([]string, 100)
		for i := range kinds {
			kinds[i] = "count"
		}
		m := newMemory(kinds...)
		var done atomic.Int64
		run(m, time.Minute, map[string]Work{"count": func(context.Context, model.Job) ([]byte, string, error) {
			done.Add(1)
			return []byte("x"), "text/plain", nil
		}}, Kind{MaxRunning: 8})
		if done.Load() != 100 {
			t.Errorf("100 jobs were done %d times", done.Load())
		}
		if j := m.job(100); j.State != model.JobDone || string(j.Result) != "x" || j.MediaType != "text/plain" {
			t.Errorf("the last job ended as %+v", j)
		}
	})
}

func TestFailuresAreRetriedThenEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("flaky", "broken", "hopeless", "panics")
		var flaky int
		work := map[string]Work{
			"flaky": func(context.Context, model.Job) ([]byte, string, error) {
				if flaky++; flaky < 3 {
					return nil, "", errors.New("not yet")
				}
				return []byte("ok"), "text/plain", nil
			},
			"broken": func(context.Context, model.Job) ([]byte, string, error) { return nil, "", errors.New("secret cause") },
			"hopeless": func(context.Context, model.Job) ([]byte, string, error) {
				return nil, "", PermanentError{"no such project"}
			},
			"panics": func(context.Context, model.Job) ([]byte, string, error) { panic("boom") },
		}
		run(m, 10*time.Minute, work, Kind{MaxRunning: 1})
		if j := m.job(1); j.State != model.JobDone || j.Attempt != 3 {
			t.Errorf("the flaky job: state %d after %d attempts, want done after 3", j.State, j.Attempt)
		}
		if j := m.job(2); j.State != model.JobFailed || j.Attempt != 5 || j.Error == "" || j.Error == "secret cause" {
			t.Errorf("the broken job: %+v, want failed after 5 attempts without the cause", j)
		}
		if j := m.job(3); j.State != model.JobFailed || j.Attempt != 1 || j.Error != "no such project" {
			t.Errorf("the hopeless job: %+v, want failed at once with its reason", j)
		}
		if j := m.job(4); j.State != model.JobFailed {
			t.Errorf("the panicking job: %+v, want failed", j)
		}
	})
}

func TestLongWorkRenewsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("long")
		var runs atomic.Int64
		run(m, time.Hour, map[string]Work{"long": func(ctx context.Context, _ model.Job) ([]byte, string, error) {
			runs.Add(1)
			time.Sleep(10 * time.Minute)
			return nil, "", ctx.Err()
		}}, Kind{MaxRunning: 3, Lease: time.Minute})
		if runs.Load() != 1 || m.job(1).State != model.JobDone {
			t.Errorf("ten minutes of work under a one-minute lease ran %d times, state %d", runs.Load(), m.job(1).State)
		}
	})
}

func TestAbandonedJobIsReclaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("work")
		hang := map[string]Work{"work": func(ctx context.Context, _ model.Job) ([]byte, string, error) {
			<-ctx.Done()
			return nil, "", ctx.Err()
		}}
		m.dead = true
		run(m, time.Second, hang, Kind{MaxRunning: 1, Lease: time.Minute}) // the process dies while working
		if j := m.job(1); j.State != model.JobRunning {
			t.Fatalf("after the stop the job is in state %d, want running under its lease", j.State)
		}
		done := map[string]Work{"work": func(context.Context, model.Job) ([]byte, string, error) { return []byte("x"), "", nil }}
		run(m, 5*time.Minute, done, Kind{MaxRunning: 1, Lease: time.Minute})
		if j := m.job(1); j.State != model.JobDone || j.Attempt != 2 {
			t.Errorf("the next process left the job at %+v", j)
		}
	})
}

// TestStoppingUsesUpNoAttempt checks that a server releases its jobs on shutdown. The next process
// continues at once, and no attempt is used, regardless of the number of restarts.
func TestStoppingUsesUpNoAttempt(t *testing.T) {
	for _, err := range []error{context.Canceled, model.ErrCancelled} {
		stopOften(t, err)
	}
}

func stopOften(t *testing.T, err error) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("long")
		var runs int
		long := map[string]Work{"long": func(ctx context.Context, _ model.Job) ([]byte, string, error) {
			runs++
			select {
			case <-ctx.Done():
				return nil, "", err
			case <-time.After(10 * time.Second):
				return []byte("x"), "", nil
			}
		}}
		o := Kind{MaxRunning: 1, Lease: time.Minute, Abandoned: func(context.Context, model.Job, string) error {
			t.Error("the job was given up")
			return nil
		}}
		for range 20 {
			run(m, 5*time.Second, long, o)
		}
		run(m, 11*time.Second, long, o)
		if j := m.job(1); j.State != model.JobDone || j.Attempt != 1 || runs != 21 {
			t.Errorf("after 20 restarts the job is %+v, begun %d times", j, runs)
		}
	})
}

// TestOutagesUseUpNoAttempt checks that an outage uses no attempt for a day, even if the queue
// cannot store it at first. Outages that a job may have caused do use attempts.
func TestOutagesUseUpNoAttempt(t *testing.T) {
	for outage, state := range map[model.OutageError]model.JobState{
		model.ErrDiskFull: model.JobDone, model.ErrBusy: model.JobDone, model.ErrReadOnly: model.JobDone,
		model.ErrOutOfMemory: model.JobFailed, model.ErrDamaged: model.JobFailed, model.ErrUnreachable: model.JobFailed, model.ErrCancelled: model.JobFailed,
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory("work")
			over := time.Now().Add(3 * time.Hour)
			runs, ended := 0, 0
			work := map[string]Work{"work": func(context.Context, model.Job) ([]byte, string, error) {
				if runs++; runs == 1 {
					m.setOut(true)
					time.AfterFunc(time.Minute, func() { m.setOut(false) })
				}
				if time.Now().Before(over) {
					return nil, "", fmt.Errorf("%w: gone", outage)
				}
				return nil, "", nil
			}}
			run(m, 4*time.Hour, work, Kind{MaxRunning: 1, Abandoned: func(context.Context, model.Job, string) error { ended++; return nil }})
			j := m.job(1)
			if j.State != state || state == model.JobDone && (j.Attempt != 1 || runs < 6) || state == model.JobFailed && (runs != 5 || ended != 1) {
				t.Errorf("%s: the job is %+v after %d runs, given up %d times", outage.Error(), j, runs, ended)
			}
		})
	}
}

// TestResultBreakingConnectionUsesUpAttempts checks that such a job uses up its attempts and ends, and
// that Abandoned is called.
func TestResultBreakingConnectionUsesUpAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("deadly", "other")
		m.heavy = true
		runs, ended := 0, 0
		run(m, 24*time.Hour, map[string]Work{
			"deadly": func(context.Context, model.Job) ([]byte, string, error) { runs++; return []byte("x"), "", nil },
			"other":  func(context.Context, model.Job) ([]byte, string, error) { return nil, "", nil },
		}, Kind{Attempts: 3, Abandoned: func(context.Context, model.Job, string) error { ended++; return nil }})
		if j := m.job(1); runs != 3 || j.State != model.JobFailed || ended != 1 || j.Error == "" {
			t.Errorf("after %d runs, given up %d times, it is %+v", runs, ended, j)
		}
		if j := m.job(2); j.State != model.JobDone {
			t.Errorf("the next job is %+v", j)
		}
	})
}

// TestJobThatKillsItsProcessFails checks that the number of claims limits a job that kills its
// process. Such a job returns no errors.
func TestJobThatKillsItsProcessFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("deadly", "other")
		m.dead = true
		var runs, abandoned int
		o := Kind{MaxRunning: 1, Lease: time.Minute, Attempts: 3, Abandoned: func(_ context.Context, j model.Job, reason string) error {
			if abandoned++; abandoned == 1 {
				return errors.New("the disk is full")
			}
			if abandoned == 2 {
				panic("boom")
			}
			if j.ID != 1 || reason == "" {
				t.Errorf("abandoned job %d because of %q", j.ID, reason)
			}
			return nil
		}}
		for runs < 3 {
			ctx, die := context.WithCancel(t.Context())
			runIn(ctx, m, map[string]Work{"deadly": func(context.Context, model.Job) ([]byte, string, error) {
				runs++
				die()
				return nil, "", ctx.Err()
			}}, o)
		}
		run(m, time.Hour, map[string]Work{
			"deadly": func(context.Context, model.Job) ([]byte, string, error) {
				runs++
				return nil, "", nil
			},
			"other": func(context.Context, model.Job) ([]byte, string, error) { return []byte("x"), "", nil },
		}, o)
		if j := m.job(1); runs != 3 || j.State != model.JobFailed || !strings.HasPrefix(j.Error, "tried 3 times") {
			t.Errorf("it was tried %d times, want 3, and ended in state %d: %q", runs, j.State, j.Error)
		}
		if abandoned != 3 {
			t.Errorf("what waits for it was ended %d times, want 3: the first two failed", abandoned)
		}
		if j := m.job(2); j.State != model.JobDone {
			t.Errorf("the next job is in state %d", j.State)
		}
	})
}
