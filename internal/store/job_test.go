package store_test

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// exports is a kind of job that the noisy tenant does not have.
var exports = []string{"sbom"}

// workplace is a store with a clock that tests of jobs control.
type workplace struct {
	*store.Store
	t     *testing.T
	d     model.Deployment
	clock *storetest.Clock
}

func eachWorkplace(t *testing.T, test func(w workplace)) {
	t.Helper()
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			test(workplace{s, t, storetest.Deployment(t, s), clock})
		})
	}
}

func (w workplace) add(token string) (j model.Job) {
	w.t.Helper()
	update(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) (err error) {
		j, err = tx.AddJob(ctx, model.Job{Kind: "sbom", Token: token, Input: []byte(`{"format":"x"}`)})
		return err
	})
	w.clock.Advance(time.Millisecond) // past the commit time, which may be ahead of the clock
	return j
}

func (w workplace) read(token string) (j model.Job) {
	w.t.Helper()
	view(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) (err error) {
		j, err = tx.Job(ctx, token)
		return err
	})
	return j
}

// claim leases a job for a minute, or returns nil.
func (w workplace) claim() *model.Job {
	w.t.Helper()
	j, err := storetest.Claim(w.t.Context(), w.Store, time.Minute, exports...)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

func TestJobLifecycle(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		first, second := w.add("job-token"), w.add("second")
		same(w.t, "queued", w.read("job-token"), first)
		if none, err := storetest.Claim(w.t.Context(), w.Store, time.Minute, "other"); none != nil || err != nil {
			w.t.Errorf("claimed %v, %v of another kind", none, err)
		}
		got := w.claim()
		want := first
		want.State, want.Claim, want.Attempt = model.JobRunning, 1, 1
		same(w.t, "claimed", got, &want)
		if next := w.claim(); next == nil || next.ID != second.ID {
			w.t.Errorf("claimed next is %v, want the second", next)
		}
		if none := w.claim(); none != nil {
			w.t.Errorf("claimed %v where none was due", none)
		}
		if err := w.FinishJob(w.t.Context(), *got, []byte{0, 1}, "application/json"); err != nil {
			w.t.Fatal(err)
		}
		want.State, want.Result, want.MediaType, want.FinishedAt = model.JobDone, []byte{0, 1}, "application/json", w.clock.Now()
		want.FinishedAt = want.FinishedAt.Truncate(time.Microsecond)
		same(w.t, "done", w.read("job-token"), want)
		view(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Job(ctx, "guess")
			fails(w.t, "an unknown token", err, model.ErrNotFound)
			return nil
		})
	})
}

func TestExpiredJobLeaseIsReclaimed(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.add("a")
		dead := w.claim()
		w.clock.Advance(59 * time.Second)
		if early := w.claim(); early != nil {
			w.t.Fatalf("claimed %v under another's lease", early)
		}
		if err := w.RenewJob(w.t.Context(), *dead, time.Minute); err != nil {
			w.t.Fatal(err)
		}
		w.clock.Advance(30 * time.Second)
		if early := w.claim(); early != nil {
			w.t.Fatalf("claimed %v under a renewed lease", early)
		}
		w.clock.Advance(31 * time.Second)
		heir := w.claim()
		if heir == nil || heir.Attempt != 2 {
			w.t.Fatalf("claimed %v, want the second attempt", heir)
		}
		ctx := w.t.Context()
		for what, err := range map[string]error{
			"renew": w.RenewJob(ctx, *dead, time.Minute), "finish": w.FinishJob(ctx, *dead, nil, ""),
			"retry": w.RetryJob(ctx, *dead, 0), "fail": w.FailJob(ctx, *dead, "x"),
		} {
			fails(w.t, what+" by the dead one", err, model.ErrConflict)
		}
		if err := w.FinishJob(ctx, *heir, []byte("x"), "text/plain"); err != nil {
			w.t.Error(err)
		}
		fails(w.t, "finishing it twice", w.FinishJob(ctx, *heir, []byte("y"), "text/plain"), model.ErrConflict)
	})
}

func TestJobIsRetriedAndFails(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.add("a")
		if err := w.RetryJob(w.t.Context(), *w.claim(), time.Hour); err != nil {
			w.t.Fatal(err)
		}
		w.clock.Advance(time.Hour - time.Second)
		if early := w.claim(); early != nil {
			w.t.Fatalf("claimed %v before its time", early)
		}
		w.clock.Advance(time.Second)
		retried := w.claim()
		if retried == nil || retried.Attempt != 2 {
			w.t.Fatalf("claimed %v, want the second attempt", retried)
		}
		if err := w.FailJob(w.t.Context(), *retried, "no such ref"); err != nil {
			w.t.Fatal(err)
		}
		w.clock.Advance(time.Hour)
		if dead := w.claim(); dead != nil {
			w.t.Errorf("claimed %v, which failed for good", dead)
		}
		got := w.read("a")
		if got.State != model.JobFailed || got.Error != "no such ref" || got.FinishedAt.IsZero() {
			w.t.Errorf("it is %v", got)
		}
	})
}

func TestReleasedJobRetainsAttempt(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.add("a")
		first := w.claim()
		if err := w.ReleaseJob(w.t.Context(), *first, 0); err != nil {
			w.t.Fatal(err)
		}
		fails(w.t, "releasing it twice", w.ReleaseJob(w.t.Context(), *first, 0), model.ErrConflict)
		retried := w.claim()
		if retried == nil || retried.ID != first.ID || retried.Attempt != 1 {
			w.t.Fatalf("claimed %v, want the first attempt again, at once", retried)
		}
		// The response to the first release was lost, so its worker retries later.
		fails(w.t, "releasing what another one holds by now", w.ReleaseJob(w.t.Context(), *first, 0), model.ErrConflict)
		if err := w.ReleaseJob(w.t.Context(), *retried, time.Minute); err != nil {
			w.t.Fatal(err)
		}
		if early := w.claim(); early != nil {
			w.t.Errorf("claimed %v before the wait was over", early)
		}
		w.clock.Advance(time.Minute)
		if retried = w.claim(); retried == nil || retried.Attempt != 1 {
			w.t.Fatalf("claimed %v, want the first attempt again, after the wait", retried)
		}
		w.clock.Advance(2 * time.Minute)
		heir := w.claim()
		if heir == nil || heir.Attempt != 2 {
			w.t.Fatalf("claimed %v, want the second attempt", heir)
		}
		fails(w.t, "release by one that lost its lease", w.ReleaseJob(w.t.Context(), *retried, 0), model.ErrConflict)
		if got := w.read("a"); got.State != model.JobRunning || got.Attempt != 2 {
			w.t.Errorf("it is %v", got)
		}
	})
}

func TestConcurrentWorkersClaimJobsOnce(t *testing.T) {
	const jobs, workers = 40, 6
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			s := storetest.Open(t, config)
			d := storetest.Deployment(t, s)
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				for i := range jobs {
					if _, err := tx.AddJob(ctx, model.Job{Kind: "sbom", Token: fmt.Sprint("t", i)}); err != nil {
						return err
					}
				}
				return nil
			})
			config.Clock = func() time.Time { return storetest.Epoch.Add(time.Second) }
			var mu sync.Mutex
			claims := map[int64]int{}
			var wg sync.WaitGroup
			for i := range workers {
				if i%2 == 0 {
					s = storetest.Open(t, config) // half of them as separate processes
				}
				worker := s
				wg.Go(func() {
					for {
						j, err := storetest.Claim(t.Context(), worker, time.Minute, exports...)
						if err != nil {
							t.Error(err)
						}
						if j == nil {
							return
						}
						mu.Lock()
						claims[j.ID]++
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if len(claims) != jobs {
				t.Errorf("%d jobs were claimed, want %d", len(claims), jobs)
			}
			for id, n := range claims {
				if n != 1 {
					t.Errorf("job %d was claimed %d times", id, n)
				}
			}
		})
	}
}

// TestJobsAreFairAcrossTenants checks that a tenant with many jobs does not delay others. Jobs must be
// found regardless of the clock.
func TestJobsAreFairAcrossTenants(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		for i := range 5 {
			w.add(fmt.Sprint("many", i))
		}
		other := w
		var err error
		if other.d, err = w.CreateDeployment(w.t.Context(), "other", "", storetest.Actor); err != nil {
			w.t.Fatal(err)
		}
		other.add("one")
		other.add("two")
		claim := func() (claimed []int64) {
			for {
				j, err := storetest.Claim(w.t.Context(), w.Store, time.Minute, exports...)
				if err != nil {
					w.t.Fatal(err)
				}
				if j == nil {
					return claimed
				}
				w.clock.Advance(time.Millisecond)
				claimed = append(claimed, j.DeploymentID-w.d.ID)
			}
		}
		same(w.t, "whose jobs are claimed, in order", claim(), []int64{0, 1, 0, 1, 0, 0, 0})
		w.clock.Advance(-time.Hour)
		w.add("late")
		same(w.t, "claimed after the clock stepped back", claim(), []int64{0})
		w.clock.Advance(time.Hour + time.Minute)
		same(w.t, "how many are claimed whose lease ran out", len(claim()), 8)
	})
}

// TestUnreachableTenantsDoNotDelayOthers makes as many tenants unreachable as one query
// returns, as after the loss of a node. The next query must return the job of another tenant.
func TestUnreachableTenantsDoNotDelayOthers(t *testing.T) {
	w := workplace{storetest.New(t, "postgres"), t, model.Deployment{}, storetest.NewClock()}
	w.d = storetest.Deployment(t, w.Store)
	const away = 1_000_000 // tenants with ids from here on are unreachable
	for _, text := range []string{
		`CREATE FUNCTION away() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'node is away'; END $$`,
		`CREATE TRIGGER away BEFORE UPDATE ON job FOR EACH ROW WHEN (OLD.deployment_id >= 1000000) EXECUTE FUNCTION away()`,
		`INSERT INTO job_due (deployment_id, kind, due_at) SELECT 1000000 + n, 'sbom', 0 FROM generate_series(1, 250) n`,
		`INSERT INTO job (deployment_id, id, kind, token, state, claim, attempt, run_at, input_json, media_type, error, created_at, requester)
			SELECT deployment_id, 5000000 + deployment_id, 'sbom', 'away' || deployment_id, 1, 0, 0, 0, '{}', '', '', 0, '' FROM job_due WHERE deployment_id >= 1000000`,
	} {
		if err := w.ExecRaw(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	w.add("here")
	// This tenant is checked last.
	if err := w.ExecRaw(t.Context(), fmt.Sprintf(`UPDATE job_due SET turn_at = 1 WHERE deployment_id < %d`, away)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		due, err := w.DueJobs(t.Context(), exports, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range due {
			j, err := w.ClaimJob(t.Context(), d, nil, time.Minute)
			if j != nil {
				same(t, "whose job", j.DeploymentID, w.d.ID)
				return
			}
			if err == nil {
				t.Fatal("unreachable tenants are not reported")
			}
		}
	}
	t.Error("two looks did not reach the tenant that can be asked")
}

// TestSubjectHasOneRunningJob checks that a subject has one running job across processes. A released job
// is dropped if a newer one of its subject waits, and of two concurrent claims one succeeds.
func TestSubjectHasOneRunningJob(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			a, b := storetest.Open(t, config), storetest.Open(t, config)
			d := storetest.Deployment(t, a)
			enqueue := func(subject, input string) {
				update(t, a, d, func(ctx context.Context, tx *store.Tx) error {
					_, err := tx.Enqueue(ctx, model.Job{Kind: "k", Subject: subject, Input: []byte(input)})
					return err
				})
			}
			due := model.JobDue{DeploymentID: d.ID, Kind: "k"}
			for range 50 {
				enqueue("s", `"old"`)
				j, err := a.ClaimJob(t.Context(), due, nil, time.Minute)
				if err != nil || j == nil {
					t.Fatal(j, err)
				}
				enqueue("s", `"new"`)
				if err := a.ReleaseJob(t.Context(), *j, 0); err != nil {
					t.Fatal(err)
				}
				var all sync.WaitGroup
				var got [2]*model.Job
				for i, s := range []*store.Store{a, b} {
					all.Go(func() {
						var err error
						if got[i], err = s.ClaimJob(t.Context(), due, nil, time.Minute); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if (got[0] == nil) == (got[1] == nil) {
					t.Fatalf("claimed are %v", got)
				}
				one := cmp.Or(got[0], got[1])
				same(t, "what it is about", string(one.Input), `"new"`)
				if err := a.FinishJob(t.Context(), *one, nil, ""); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestServerJobsAreEnsuredOnce checks that two servers that start concurrently add a job once.
func TestServerJobsAreEnsuredOnce(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			servers := []*store.Store{storetest.Open(t, config), storetest.Open(t, config)}
			for n := range 30 {
				kind := fmt.Sprint("load ", n)
				var all sync.WaitGroup
				for _, s := range servers {
					all.Go(func() {
						if err := s.EnsureServerJob(t.Context(), model.Job{Kind: kind, Subject: "load"}); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				due := model.JobDue{Kind: kind}
				j, err := servers[0].ClaimJob(t.Context(), due, nil, time.Minute)
				if err != nil || j == nil {
					t.Fatal(j, err)
				}
				if err := servers[0].FinishJob(t.Context(), *j, nil, ""); err != nil {
					t.Fatal(err)
				}
				if j, err := servers[1].ClaimJob(t.Context(), due, nil, time.Minute); j != nil || err != nil {
					t.Fatalf("there is another: %+v, %v", j, err)
				}
			}
		})
	}
}

// TestOrderedJobsRunInOrder checks the order of jobs, also after the death of a worker.
func TestOrderedJobsRunInOrder(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		for _, token := range []string{"first", "second", "third"} {
			w.add(token)
		}
		due := model.JobDue{DeploymentID: w.d.ID, Kind: exports[0], Ordered: true}
		claim := func() *model.Job {
			j, err := w.ClaimJob(w.t.Context(), due, nil, time.Minute)
			if err != nil {
				w.t.Fatal(err)
			}
			return j
		}
		if j := claim(); j == nil || j.Token != "first" {
			w.t.Fatalf("claimed is %+v", j)
		}
		if j := claim(); j != nil {
			w.t.Fatalf("claimed is %+v while the first is under way", j)
		}
		w.clock.Advance(time.Minute + time.Second) // its worker died
		for _, token := range []string{"first", "second", "third"} {
			j := claim()
			if j == nil || j.Token != token {
				w.t.Fatalf("claimed is %+v, want %s", j, token)
			}
			if err := w.FinishJob(w.t.Context(), *j, nil, ""); err != nil {
				w.t.Fatal(err)
			}
		}
	})
}
