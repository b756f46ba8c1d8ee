package job

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redoubt/redoubt"
)

// outFor has the database be gone for a while.
func (m *memory) outFor(d time.Duration) {
	m.setOut(true)
	time.AfterFunc(d, func() { m.setOut(false) })
}

// A database that goes as the work ends, for longer than its lease, takes neither an
// attempt nor the result: whoever is idle leaves the job to who has the result.
func TestAnOutageLongerThanTheLeaseLosesNothing(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory("work")
			runs := 0
			work := map[string]Work{"work": func(context.Context, redoubt.Job) ([]byte, string, error) {
				runs++
				time.Sleep(time.Second)
				m.outFor(10 * time.Minute)
				return []byte("x"), "", nil
			}}
			run(m, 3*time.Hour, work, Options{Clock: time.Now, Workers: workers, Lease: 15 * time.Second})
			if j := m.job(1); j.State != redoubt.JobDone || j.Attempt != 1 || j.Claim != 1 || runs != 1 || string(j.Result) != "x" {
				t.Errorf("%d workers: after %d runs the job is %+v", workers, runs, j)
			}
		})
	}
}

// Outages under a job's work, each longer than its lease, use up no attempt either,
// however many workers there are, and the job goes on soon after each.
func TestOutagesInARowUseUpNoAttempt(t *testing.T) {
	for _, workers := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory("work")
			var last time.Time
			runs := 0
			work := map[string]Work{"work": func(context.Context, redoubt.Job) ([]byte, string, error) {
				if took := time.Since(last); runs > 0 && took > 40*time.Minute+backoff(runs)+25*time.Second {
					t.Errorf("run %d began %s after the outage did", runs, took)
				}
				if runs++; runs > 8 {
					return []byte("x"), "", nil
				}
				last = time.Now()
				m.outFor(40 * time.Minute)
				return nil, "", redoubt.ErrUnreachable
			}}
			run(m, 12*time.Hour, work, Options{Clock: time.Now, Workers: workers})
			if j := m.job(1); j.State != redoubt.JobDone || j.Attempt != 1 || j.Claim != 9 {
				t.Errorf("%d workers: the job is %+v", workers, j)
			}
		})
	}
}

// Another process that saw the outage, too, leaves a job to its holder for as long as
// a lease, and then takes it over without counting; a holder that died in no outage
// costs an attempt. An outage that comes back within that time is the same one.
func TestWhoDiesInAnOutageCostsNoAttempt(t *testing.T) {
	for _, outages := range [][]time.Duration{nil, {10 * time.Minute}, {10 * time.Minute, 5 * time.Second, 10 * time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory("work")
			m.dead = true
			dying, die := context.WithCancel(t.Context())
			o := Options{Clock: time.Now, Workers: 1, Lease: time.Minute}
			go New(m, map[string]Work{"work": func(ctx context.Context, _ redoubt.Job) ([]byte, string, error) {
				<-ctx.Done()
				return nil, "", ctx.Err()
			}}, o).Run(dying)
			synctest.Wait()
			began := time.Now()
			var until time.Duration
			for i, took := range outages { // every other one is a time between two
				time.AfterFunc(until, func() { m.setOut(i%2 == 0) })
				until += took
			}
			time.AfterFunc(until, func() { m.setOut(false) })
			time.AfterFunc(time.Second, die)
			var taken time.Duration
			run(m, time.Hour, map[string]Work{"work": func(context.Context, redoubt.Job) ([]byte, string, error) {
				taken = time.Since(began)
				return []byte("x"), "", nil
			}}, o)
			attempts := 2
			if until += time.Minute; len(outages) > 0 {
				attempts = 1
			}
			if j := m.job(1); j.State != redoubt.JobDone || j.Attempt != attempts || j.Claim != 2 {
				t.Errorf("outages of %s: the job is %+v", outages, j)
			}
			if taken < until || taken > until+5*time.Second {
				t.Errorf("outages of %s: the job was taken over after %s", outages, taken)
			}
		})
	}
}

// A claim whose answer is lost costs no attempt.
func TestALostClaimCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &losesClaims{memory: newMemory("work")}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		New(m, map[string]Work{"work": func(context.Context, redoubt.Job) ([]byte, string, error) { return []byte("x"), "", nil }},
			Options{Clock: time.Now, Workers: 2}).Run(ctx)
		if j := m.job(1); j.State != redoubt.JobDone || j.Attempt != 1 || j.Claim != 2 {
			t.Errorf("the job is %+v", j)
		}
	})
}

// losesClaims stores the first claim, and breaks the connection before it says so.
type losesClaims struct {
	*memory
	did bool
}

func (m *losesClaims) ClaimJob(ctx context.Context, kinds []string, lease time.Duration, outage redoubt.JobOutage) (*redoubt.Job, error) {
	j, err := m.memory.ClaimJob(ctx, kinds, lease, outage)
	if !m.did {
		m.did = true
		return nil, fmt.Errorf("claiming: %w", redoubt.ErrUnreachable)
	}
	return j, err
}

// A release, a result or a failure that is stored while its answer is lost is not
// stored a second time over the job of another worker: nobody works on it beside others.
func TestALostAnswerEndsNobodyElsesJob(t *testing.T) {
	for what, first := range map[string]error{"release": redoubt.ErrDiskFull, "retry": fmt.Errorf("not yet"), "result": nil, "failure": PermanentError{"no such project"}} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory("work")
			runs, at, most := 0, 0, 0
			work := map[string]Work{"work": func(ctx context.Context, _ redoubt.Job) ([]byte, string, error) {
				if runs++; runs == 1 {
					m.lost = func() bool { // which is called under the lock
						m.lost, m.out = nil, true
						time.AfterFunc(time.Minute, func() { m.setOut(false) })
						return true
					}
					return []byte("x"), "", first
				}
				at++
				most = max(most, at)
				defer func() { at-- }()
				select {
				case <-time.After(3 * time.Minute):
				case <-ctx.Done():
					t.Errorf("%s: the job was taken away from who held it", what)
				}
				return []byte("y"), "", ctx.Err()
			}}
			run(m, time.Hour, work, Options{Clock: time.Now, Workers: 3})
			want := redoubt.Job{State: redoubt.JobDone, Result: []byte("y")}
			wantRuns := 2
			switch what {
			case "result":
				want.Result, wantRuns = []byte("x"), 1
			case "failure":
				want.State, want.Result, wantRuns = redoubt.JobFailed, nil, 1
			}
			if j := m.job(1); runs != wantRuns || most > 1 || j.State != want.State || string(j.Result) != string(want.Result) {
				t.Errorf("%s: after %d runs, %d at once, the job is %+v", what, runs, most, j)
			}
		})
	}
}

// Who is told to stop in an outage, with a result that is not stored yet, lets go of
// the job if the database answers again within the time for it.
func TestStoppingInAnOutageLetsGo(t *testing.T) {
	for _, err := range []error{nil, redoubt.ErrUnreachable, fmt.Errorf("not yet")} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory("work")
			ctx, stop := context.WithCancel(t.Context())
			work := map[string]Work{"work": func(context.Context, redoubt.Job) ([]byte, string, error) {
				m.setOut(true)
				time.AfterFunc(time.Minute, stop)
				time.AfterFunc(time.Minute+2*time.Second, func() { m.setOut(false) })
				return []byte("x"), "", err
			}}
			New(m, work, Options{Clock: time.Now, Workers: 1}).Run(ctx)
			if j := m.job(1); j.State != redoubt.JobQueued || j.Attempt != 0 {
				t.Errorf("after %v it is %+v", err, j)
			}
		})
	}
}
