package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// TestLimits checks that running jobs never exceed the limits of kind, deployment and key. It also
// checks that no startable job waits.
func TestLimits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			k := Kind{MaxRunning: rapid.IntRange(1, 6).Draw(rt, "most")}
			k.MaxPerDeployment = rapid.IntRange(1, k.MaxRunning).Draw(rt, "per deployment")
			k.MaxPerKey = rapid.IntRange(1, k.MaxRunning).Draw(rt, "per key")
			n := rapid.IntRange(1, 30).Draw(rt, "jobs")
			m := newMemory(slices.Repeat([]string{"work"}, n)...)
			for _, j := range m.jobs {
				j.DeploymentID = int64(rapid.IntRange(1, 3).Draw(rt, "deployment"))
				j.Key = rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(rt, "key")
			}
			var mu sync.Mutex
			working, most, ended := map[string]int{}, map[string]int{}, time.Time{}
			count := func(by int, j model.Job) {
				mu.Lock()
				defer mu.Unlock()
				ended = time.Now()
				of := []string{"all", fmt.Sprint("deployment ", j.DeploymentID)}
				if j.Key != "" {
					of = append(of, "key "+j.Key)
				}
				for _, name := range of {
					working[name] += by
					most[name] = max(most[name], working[name])
				}
			}
			began := time.Now()
			run(m, time.Hour, map[string]Work{"work": func(_ context.Context, j model.Job) ([]byte, string, error) {
				count(1, j)
				time.Sleep(time.Second)
				count(-1, j)
				return nil, "", nil
			}}, k)
			for name, n := range most {
				limit := k.MaxRunning
				if strings.HasPrefix(name, "deployment") {
					limit = k.MaxPerDeployment
				} else if strings.HasPrefix(name, "key") {
					limit = k.MaxPerKey
				}
				if n > limit {
					rt.Errorf("%s: %d at once, of %d", name, n, limit)
				}
			}
			for _, j := range m.jobs {
				if j.State != model.JobDone {
					rt.Errorf("job %d is in state %d", j.ID, j.State)
				}
			}
			if took := ended.Sub(began); took > time.Duration(n)*time.Second {
				rt.Errorf("%d jobs of a second each took %s", n, took)
			}
		})
	})
}

// TestWakeStartsJobsImmediately checks that Wake starts jobs immediately. Without it, the queue checks every 2.9
// seconds, or when the next job is due.
func TestWakeStartsJobsImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan time.Duration, 3)
		began := time.Now()
		q := New(m, map[string]Kind{"work": {Work: func(context.Context, model.Job) ([]byte, string, error) {
			done <- time.Since(began)
			return nil, "", nil
		}}}, Options{Clock: time.Now})
		add := func(after time.Duration) {
			m.mu.Lock()
			defer m.mu.Unlock()
			id := int64(len(m.jobs) + 1)
			m.jobs = append(m.jobs, &model.Job{ID: id, DeploymentID: 1, Kind: "work", State: model.JobQueued, CreatedAt: time.Now()})
			m.due[id] = began.Add(after)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); q.Run(ctx, ctx) }()
		time.Sleep(time.Second)
		add(0)
		q.Wake()
		if at := <-done; at != time.Second {
			t.Errorf("woken at 1s, it worked at %s", at)
		}
		add(0)
		if at := <-done; at > time.Second+2900*time.Millisecond {
			t.Errorf("unannounced at 1s, it worked at %s", at)
		}
		add(10 * time.Second)
		if at := <-done; at != 10*time.Second {
			t.Errorf("due at 10s, it worked at %s", at)
		}
		polls := func() int {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.polls
		}
		before := polls()
		time.Sleep(5 * time.Minute)
		if n := polls() - before; n > 104 {
			t.Errorf("it looked %d times in five minutes", n)
		}
		stop()
		<-ended
	})
}

// TestDuringShutdownWorkContinues checks that kinds with DuringShutdown continue until requests have ended, and
// that other kinds stop.
func TestDuringShutdownWorkContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("late", "other")
		ctx, stop := context.WithCancel(t.Context())
		late, end := context.WithCancel(t.Context())
		q := New(m, map[string]Kind{
			"late":  {DuringShutdown: true, Work: func(ctx context.Context, _ model.Job) ([]byte, string, error) { return nil, "", ctx.Err() }},
			"other": {Work: func(context.Context, model.Job) ([]byte, string, error) { return nil, "", nil }},
		}, Options{Clock: time.Now})
		stop()
		ended := make(chan struct{})
		go func() { defer close(ended); q.Run(ctx, late) }()
		time.Sleep(10 * time.Second)
		end()
		<-ended
		if m.job(1).State != model.JobDone || m.job(2).State != model.JobQueued {
			t.Errorf("they are %+v", m.jobs)
		}
	})
}
