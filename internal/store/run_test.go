package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// queue queues a full run of a project's ref.
func (w workplace) queue(projectID int64, ref string, change func(*model.Run)) (r model.Run) {
	w.t.Helper()
	r = model.Run{ProjectID: projectID, Ref: ref, Kind: model.RunFull, Cause: model.RunByHand}
	if change != nil {
		change(&r)
	}
	update(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = tx.QueueRun(ctx, r)
		return err
	})
	w.clock.Advance(time.Millisecond)
	return r
}

// lease leases a run for a runner with a new token, or returns nil if none is due.
func (w workplace) lease(globs ...string) *model.Run {
	w.t.Helper()
	w.clock.Advance(time.Millisecond)
	var leased *model.Run
	update(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
		r, ok, err := tx.LeaseRun(ctx, 1, globs)
		if err != nil || !ok {
			return err
		}
		token, err := tx.CreateToken(ctx, model.Token{PublicID: fmt.Sprintf("run-%d-%d", r.ID, r.Claim), Name: "run", Scopes: []model.Scope{model.ScopeCI}},
			storetest.TokenHash(fmt.Sprintf("run %d %d", r.ID, r.Claim)))
		if err != nil {
			return err
		}
		r.TokenID = token.ID
		leased = &r
		return tx.BindRunToken(ctx, r.ID, token.ID)
	})
	w.clock.Advance(time.Millisecond)
	return leased
}

func (w workplace) run(id int64) (r model.Run) {
	w.t.Helper()
	view(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = tx.Run(ctx, id)
		return err
	})
	return r
}

func (w workplace) finish(r *model.Run, o model.RunOutcome) error {
	return w.Update(w.t.Context(), w.d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.FinishRun(ctx, r.ID, r.Claim, o)
		return err
	})
}

func (w workplace) progress(r *model.Run, s model.RunState, offset int64, log string) error {
	return w.ProgressRun(w.t.Context(), w.d.ID, r.ID, r.Claim, saying(s, offset, log))
}

func saying(s model.RunState, offset int64, log string) store.RunProgress {
	return store.RunProgress{State: s, Offset: offset, Log: []byte(log)}
}

// tokenWorks reports whether the token of an attempt exists and is active.
func (w workplace) tokenWorks(r *model.Run) bool {
	w.t.Helper()
	token, err := w.TokenByHash(w.t.Context(), w.d.ID, storetest.TokenHash(fmt.Sprintf("run %d %d", r.ID, r.Claim)))
	if err != nil && !errors.Is(err, model.ErrNotFound) {
		w.t.Fatal(err)
	}
	return err == nil && token.Active(w.clock.Now())
}

func TestRunLifecycle(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		p := addProjects(t, w.Store, w.d, "acme/payments")[0]
		w.clock.Advance(time.Millisecond)
		if w.lease() != nil {
			t.Fatal("another project's run was leased")
		}
		queued := w.queue(p.ID, "", nil)
		r := w.lease()
		if r == nil || r.ID != queued.ID || r.State != model.RunLeased || r.Attempt != 1 || w.lease() != nil {
			t.Fatalf("leased %+v of %+v", r, queued)
		}
		commit := strings.Repeat("c", 40)
		err := w.ProgressRun(t.Context(), w.d.ID, r.ID, r.Claim, store.RunProgress{State: model.RunFetching, Ref: "refs/heads/main", Commit: commit, Log: []byte("one\n")})
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range []struct {
			offset int64
			log    string
		}{{4, "two\n"}, {4, "two\n"}, {4, "two\nthree\n"}, {0, ""}} {
			if err := w.progress(r, model.RunScanning, piece.offset, piece.log); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.progress(r, model.RunScanning, 99, "x"); err == nil {
			t.Error("a piece beyond the end was taken")
		}
		for _, back := range []model.RunState{model.RunFetching, model.RunQueued, model.RunDone, 0, 77} {
			if err := w.progress(r, back, 0, ""); err == nil {
				t.Errorf("scanning became %q", back)
			}
		}
		if err := w.finish(r, model.RunOutcome{State: model.RunDone, ScanID: 41}); err != nil {
			t.Fatal(err)
		}
		got := w.run(r.ID)
		if got.State != model.RunDone || got.Ref != "refs/heads/main" || got.Commit != commit || got.ScanID != 41 || got.EndedAt.IsZero() || got.TokenID != 0 || w.tokenWorks(r) {
			t.Errorf("at the end %+v, its token works: %v", got, w.tokenWorks(r))
		}
		view(t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
			for offset, want := range map[int64]string{0: "one\ntwo\nthree\n", 2: "e\ntwo\nthree\n", 4: "two\nthree\n", 13: "\n", 14: "", 99: ""} {
				log, err := tx.RunLog(ctx, r.ID, offset)
				if string(log) != want || err != nil {
					t.Errorf("log from %d: %q, %v", offset, log, err)
				}
			}
			return nil
		})
		for what, err := range map[string]error{"progress": w.progress(r, model.RunUploading, 0, ""), "finish": w.finish(r, model.RunOutcome{State: model.RunDone})} {
			if !errors.Is(err, model.ErrConflict) {
				t.Errorf("%s of one that ended: %v", what, err)
			}
		}
	})
}

// TestRunHasThreeAttempts checks that a run has three attempts in total. A late report of an
// earlier attempt must be rejected.
func TestRunHasThreeAttempts(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		p := addProjects(t, w.Store, w.d, "acme/payments")[0]
		w.queue(p.ID, "refs/heads/main", nil)
		var before *model.Run
		for attempt := 1; attempt <= model.RunAttempts; attempt++ {
			r := w.lease()
			if r == nil || r.Attempt != attempt || !w.tokenWorks(r) {
				t.Fatalf("attempt %d: leased %+v", attempt, r)
			}
			if before != nil && (!errors.Is(w.progress(before, model.RunScanning, 0, "late"), model.ErrConflict) || w.tokenWorks(before)) {
				t.Error("the runner before was not told")
			}
			for range 3 {
				w.clock.Advance(model.RunLease - time.Second)
				if err := w.progress(r, model.RunFetching, 0, "alive"); err != nil {
					t.Fatal(err)
				}
			}
			w.clock.Advance(model.RunLease + time.Second)
			if !errors.Is(w.progress(r, model.RunFetching, 0, ""), model.ErrConflict) {
				t.Error("a lease was renewed that is over")
			}
			if w.lease() != nil && attempt < model.RunAttempts {
				t.Error("tried again without a wait")
			}
			w.clock.Advance(model.RunBackoff(attempt))
			before = r
		}
		if got := w.run(before.ID); w.lease() != nil || got.State != model.RunFailed || got.Failure != model.RunTransient || got.Reason == "" {
			t.Errorf("at the end %+v", got)
		}
	})
}

func TestRunTimesOutDespiteProgress(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		p := addProjects(t, w.Store, w.d, "acme/payments")[0]
		w.queue(p.ID, "refs/heads/main", nil)
		r := w.lease()
		for range int(model.RunTimeLimit/model.RunLease) * 2 {
			w.clock.Advance(model.RunLease / 2)
			_ = w.progress(r, model.RunScanning, 0, "") // rejected in the end
		}
		if got := w.run(r.ID); w.lease() != nil || w.run(r.ID).State != model.RunTimedOut {
			t.Errorf("after its time %+v", got)
		}
	})
}

func TestNewerRunsReplaceQueuedOnes(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		p := addProjects(t, w.Store, w.d, "acme/payments", "acme/other")
		commit := func(digit string) func(*model.Run) {
			return func(r *model.Run) { r.Commit = strings.Repeat(digit, 40) }
		}
		first := w.queue(p[0].ID, "refs/heads/main", commit("a"))
		if duplicate := w.queue(p[0].ID, "refs/heads/main", commit("a")); duplicate.ID != first.ID {
			t.Errorf("the same was queued twice: %d and %d", first.ID, duplicate.ID)
		}
		other := w.queue(p[1].ID, "refs/heads/main", commit("a"))
		second := w.queue(p[0].ID, "refs/heads/main", commit("b"))
		if w.run(first.ID).State != model.RunSuperseded || w.run(other.ID).State != model.RunQueued {
			t.Error("the wrong one was superseded")
		}
		request := func(digit string) func(*model.Run) {
			return func(r *model.Run) {
				r.Kind, r.Cause, r.Change, r.Base, r.Commit = model.RunDiff, model.RunByChangeRequest, 7, "refs/heads/main", strings.Repeat(digit, 40)
			}
		}
		w.lease(p[0].Name)
		w.queue(p[0].ID, "refs/heads/main", commit("c"))
		if got := w.run(second.ID); got.State != model.RunLeased {
			t.Errorf("one that began became %s", got.State)
		}
		w.clock.Advance(time.Second)
		diff := w.queue(p[1].ID, "refs/pull/7/head", request("a"))
		for {
			r := w.lease(p[1].Name)
			if r == nil {
				t.Fatal("the diff was not leased")
			}
			if r.ID == diff.ID {
				w.queue(p[1].ID, "refs/pull/7/head", request("b"))
				if got := w.run(diff.ID); got.State != model.RunCancelled || w.tokenWorks(r) || !errors.Is(w.progress(r, model.RunScanning, 0, ""), model.ErrConflict) {
					t.Errorf("the older one of a change request: %+v", got)
				}
				return
			}
		}
	})
}

// TestConcurrentServersLeaseRunOnce checks that each run is leased by one of several servers. Leases
// must respect the limit per host and the allowed projects.
func TestConcurrentServersLeaseRunOnce(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			config := storetest.Database(t, engine, clock)
			first := storetest.Open(t, config)
			w := workplace{first, t, storetest.Deployment(t, first), clock}
			p := addProjects(t, first, w.d, "acme/payments", "secret/shop")
			for i := range 12 {
				w.queue(p[0].ID, fmt.Sprintf("refs/heads/b%d", i), func(r *model.Run) { r.Host = fmt.Sprint("host-", i/6) })
			}
			hidden := w.queue(p[1].ID, "refs/heads/main", nil)
			clock.Advance(time.Second)
			var mu sync.Mutex
			got := map[int64]int{}
			var workers sync.WaitGroup
			for range 3 {
				s := storetest.Open(t, config)
				workers.Go(func() {
					for range 6 {
						err := s.Update(t.Context(), w.d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
							r, ok, err := tx.LeaseRun(ctx, 1, model.ProjectGlobs{"acme/**"})
							if ok && err == nil {
								mu.Lock()
								got[r.ID]++
								mu.Unlock()
							}
							return err
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			workers.Wait()
			for id, n := range got {
				if n > 1 || id == hidden.ID {
					t.Errorf("run %d was leased %d times", id, n)
				}
			}
			if want := 2 * model.MaxRunsOfHost; len(got) != want {
				t.Errorf("%d runs are under way, want %d of each of two hosts", len(got), model.MaxRunsOfHost)
			}
		})
	}
}

func TestRunsAndTheirLogsAreBounded(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		p := addProjects(t, w.Store, w.d, "acme/payments")[0]
		w.queue(p.ID, "refs/heads/main", nil)
		r := w.lease()
		piece := strings.Repeat("x", 200<<10)
		for i := range 4 {
			if err := w.progress(r, model.RunScanning, min(int64(i*len(piece)), model.MaxRunLog), piece); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.run(r.ID); got.LogSize != model.MaxRunLog {
			t.Errorf("a log of %d bytes is kept", got.LogSize)
		}
		update(t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.CancelRun(ctx, r.ID, "enough"); err != nil {
				return err
			}
			for i := range model.MaxRunsKept + 20 {
				queued, err := tx.QueueRun(ctx, model.Run{ProjectID: p.ID, Ref: fmt.Sprint("refs/heads/", i), Kind: model.RunFull, Cause: model.RunByPush})
				if err == nil {
					err = tx.CancelRun(ctx, queued.ID, "enough")
				}
				if err != nil {
					return err
				}
			}
			list, err := tx.Runs(ctx, store.RunQuery{ProjectID: p.ID, Limit: 1000})
			if len(list) > model.MaxRunsKept+1 || list[len(list)-1].ID == r.ID {
				t.Errorf("%d runs are kept", len(list))
			}
			if log, err := tx.RunLog(ctx, r.ID, 0); len(log) > 0 || err != nil {
				t.Errorf("the log of one that is forgotten has %d bytes, %v", len(log), err)
			}
			return err
		})
		if err := w.Update(t.Context(), w.d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Runs(ctx, store.RunQuery{Limit: 1})
			if err != nil {
				return err
			}
			return tx.CancelRun(ctx, list[0].ID, "again")
		}); !errors.Is(err, model.ErrConflict) {
			t.Errorf("cancelling one that ended: %v", err)
		}
	})
}

// TestRunsOfDeletedProjectAreDeleted checks that runs are deleted with their upload tokens.
func TestRunsOfDeletedProjectAreDeleted(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		p := addProjects(t, w.Store, w.d, "acme/payments")[0]
		w.queue(p.ID, "refs/heads/main", nil)
		r := w.lease()
		update(t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.PutRunPlan(ctx, model.RunPlan{ProjectID: p.ID, Every: model.RunDaily, QueuedAt: tx.Now()}); err != nil {
				return err
			}
			return tx.DeleteProject(ctx, p.ID)
		})
		if w.tokenWorks(r) || !errors.Is(w.progress(r, model.RunScanning, 0, ""), model.ErrConflict) {
			t.Error("a run of a deleted project goes on")
		}
		view(t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Runs(ctx, store.RunQuery{Limit: 10})
			same(t, "runs", list, []model.Run{})
			return err
		})
	})
}

func TestForeignRunsAreNotFound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		var foreign []model.Run
		view(t, s, deployment(t, s, storetest.Noise), func(ctx context.Context, tx *store.Tx) (err error) {
			foreign, err = tx.Runs(ctx, store.RunQuery{Limit: 10})
			return err
		})
		if len(foreign) != 3 {
			t.Fatalf("the noise has %d runs", len(foreign))
		}
		for _, r := range foreign {
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.Run(ctx, r.ID)
				_, err2 := tx.FinishRun(ctx, r.ID, r.Claim, model.RunOutcome{State: model.RunDone})
				_, err3 := tx.QueueRun(ctx, model.Run{ProjectID: r.ProjectID, Kind: model.RunFull, Cause: model.RunByHand})
				err4 := tx.PutRunPlan(ctx, model.RunPlan{ProjectID: r.ProjectID, Every: model.RunDaily})
				for i, err := range []error{err, err2, err3, err4, tx.CancelRun(ctx, r.ID, "x")} {
					if !errors.Is(err, model.ErrNotFound) {
						t.Errorf("call %d: %v", i, err)
					}
				}
				log, err := tx.RunLog(ctx, r.ID, 0)
				if len(log) > 0 {
					t.Errorf("a log of %d bytes", len(log))
				}
				runners, _ := tx.Runners(ctx)
				same(t, "runners", runners, []model.Runner{})
				return err
			})
			if err := s.ProgressRun(t.Context(), d.ID, r.ID, r.Claim, store.RunProgress{State: model.RunScanning}); !errors.Is(err, model.ErrConflict) {
				t.Errorf("progress: %v", err)
			}
		}
	})
}

func TestRunnersAreRecognizedAndBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			first, err := tx.RecordRunnerContact(ctx, model.Runner{Name: "a", TokenID: 1, Labels: []string{"linux"}, Version: "1"})
			if err != nil {
				return err
			}
			updated, err := tx.RecordRunnerContact(ctx, model.Runner{Name: "a", TokenID: 1, Version: "2", Isolation: "bubblewrap"})
			if updated.ID != first.ID || err != nil {
				t.Errorf("%d is %d now, %v", first.ID, updated.ID, err)
			}
			if other, err := tx.RecordRunnerContact(ctx, model.Runner{Name: "a", TokenID: 2}); other.ID == first.ID || err != nil {
				t.Errorf("another token's runner is %d too, %v", other.ID, err)
			}
			for i := range model.MaxRunners + 5 {
				if _, err := tx.RecordRunnerContact(ctx, model.Runner{Name: fmt.Sprint("many-", i), TokenID: 3}); err != nil {
					return err
				}
			}
			list, err := tx.Runners(ctx)
			if len(list) != model.MaxRunners {
				t.Errorf("%d runners are known", len(list))
			}
			return err
		})
	})
}

// TestRunFactsListEligibleRunners checks that only runners that can run the project's scans are
// returned.
func TestRunFactsListEligibleRunners(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		p := addProjects(t, s, d, "acme/payments")[0]
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			for i, token := range []model.Token{
				{Scopes: []model.Scope{model.ScopeRunner}},
				{Scopes: []model.Scope{model.ScopeRunner}, ProjectGlobs: []string{"secret/**"}},
				{Scopes: []model.Scope{model.ScopeCI}},
				{Scopes: []model.Scope{model.ScopeRunner}, ExpiresAt: tx.Now().Add(-time.Hour)},
			} {
				token.PublicID = fmt.Sprint("runner-", i)
				made, err := tx.CreateToken(ctx, token, storetest.TokenHash(token.PublicID))
				if err == nil {
					_, err = tx.RecordRunnerContact(ctx, model.Runner{Name: fmt.Sprint("r", i), TokenID: made.ID})
				}
				if err != nil {
					return err
				}
			}
			facts, err := tx.RunFacts(ctx, p)
			if len(facts.Runners) != 1 || facts.Runners[0].Name != "r0" {
				t.Errorf("runners that may: %+v", facts.Runners)
			}
			if facts.Plan.Every != model.RunWeekly || facts.Open != nil || facts.Last != nil {
				t.Errorf("facts %+v", facts)
			}
			return err
		})
	})
}
