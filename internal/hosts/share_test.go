package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// shared contains the hosts of two deployments. Those of the first block until release is closed; that
// of the other responds immediately.
type shared struct {
	slow, quick *fakeHost
	release     chan struct{}
}

func (shared) Forget(time.Time) {}

func (s shared) Open(c model.Connection, _ model.HostCredential) (scm.Host, error) {
	if strings.HasPrefix(c.BaseURL, "https://slow") {
		return slowHost{s.slow, s.release}, nil
	}
	return s.quick, nil
}

// slowHost blocks requests for change requests until release is closed.
type slowHost struct {
	*fakeHost
	release chan struct{}
}

func (h slowHost) ChangeRequests(ctx context.Context, r model.Repository) ([]model.ChangeRequest, error) {
	select {
	case h.blocked <- struct{}{}:
	case <-ctx.Done():
	}
	<-h.release
	return h.fakeHost.ChangeRequests(ctx, r)
}

func (h *fakeHost) statusCount() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.statuses)
}

// newShared creates two deployments, the first with n hosts, each with one project.
func newShared(t *testing.T, s *store.Store, n int) (w *world, of shared, other model.Deployment) {
	t.Helper()
	w = newWorld(t, s)
	of = shared{&fakeHost{blocked: make(chan struct{}, 100)}, &fakeHost{}, make(chan struct{})}
	of.quick.repositories = []model.Repository{newRepository("1", "quick/app")}
	c := w.keeper.Config
	c.Hosts = of
	w.keeper = hosts.New(c)
	other, err := s.CreateDeployment(t.Context(), "other", "Other", storetest.Actor)
	w.must(err)
	for i := range n {
		of.slow.repositories = []model.Repository{{HostID: "1", FullName: fmt.Sprintf("slow/app%d", i), DefaultBranch: "trunk", CloneURL: fmt.Sprintf("https://slow%d.example/app.git", i)}}
		w.add(w.d.ID, fmt.Sprintf("https://slow%d.example", i))
	}
	w.add(other.ID, "https://quick.example")
	return w, of, other
}

func (w *world) add(deployment int64, address string) {
	w.t.Helper()
	c, err := w.keeper.Add(w.t.Context(), deployment, storetest.Actor, model.Connection{Kind: model.HostGitea, Name: address, BaseURL: address, Follow: []string{"**"}}, credential)
	w.must(err)
	w.followNow(deployment, c)
}

// followNow schedules a poll of a connection at once.
func (w *world) followNow(deployment int64, c model.Connection) {
	w.t.Helper()
	w.must(w.s.Update(w.t.Context(), deployment, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		return tx.QueueFollowing(ctx, c, time.Time{})
	}))
}

// scanAll completes a scan of each project of a deployment.
func (w *world) scanAll(deployment int64) {
	w.t.Helper()
	w.must(w.s.Update(w.t.Context(), deployment, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		projects, err := tx.Projects(ctx, store.ProjectQuery{Limit: 100})
		for _, p := range projects {
			if err != nil {
				return err
			}
			var id int64
			if id, err = tx.AddScan(ctx, model.Scan{ProjectID: p.ID, Ref: "refs/heads/fix", Commit: first, Source: "semgrep", StartedAt: tx.Now(), CompletedAt: tx.Now(), Status: model.ScanCompleted, Outcome: model.ScanApplied}); err == nil {
				err = tx.PutScanGate(ctx, id, nil)
			}
		}
		return err
	}))
}

// eventually waits until is returns true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 3000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it never came to be: %s", what)
}

// work runs jobs of a kind like a server does. The returned function stops it.
func (w *world) work(kind string, k queue.Kind) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	q := queue.New(w.s, map[string]queue.Kind{kind: k}, queue.Options{Poll: 10 * time.Millisecond, Clock: w.keeper.Clock})
	done := make(chan struct{})
	go func() { defer close(done); q.Run(ctx, ctx) }()
	return func() { cancel(); <-done }
}

// TestSlowHostsDoNotBlockOtherDeployments checks that slow hosts of one deployment do not
// block reports of another deployment.
func TestSlowHostsDoNotBlockOtherDeployments(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, of, other := newShared(t, s, 12)
		w.scanAll(w.d.ID)
		stop := w.work(store.StatusJob, queue.Kind{Work: queue.Do(w.keeper.ReportStatus), MaxRunning: 8, MaxPerDeployment: 4, MaxPerKey: 2})
		defer func() { close(of.release); stop() }()
		eventually(t, "the slow ones are asked", func() bool { return len(of.slow.blocked) >= 4 })
		w.scanAll(other.ID)
		eventually(t, "the other deployment's status is sent", func() bool { return of.quick.statusCount() == 1 })
		same(t, "slow ones asked at once", len(of.slow.blocked), 4)
	})
}

// TestSlowHostsUseQuarterOfWorkers checks that forty slow hosts use a quarter of
// the workers. Change requests of the other deployment are still found.
func TestSlowHostsUseQuarterOfWorkers(t *testing.T) {
	s := storetest.New(t, "sqlite")
	w, of, other := newShared(t, s, 40)
	of.quick.open = []model.ChangeRequest{{Number: 7, State: model.ChangeOpen, HeadCommit: first}}
	stop := w.work(store.FollowJob, queue.Kind{Work: queue.Do(w.keeper.Follow), MaxRunning: 32, MaxPerDeployment: 8, MaxPerKey: 4})
	defer func() { close(of.release); stop() }()
	eventually(t, "the slow ones are asked, and the other found", func() bool {
		found := 0
		w.must(s.View(t.Context(), other.ID, func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.ProjectByName(ctx, "quick/app")
			if err != nil {
				return err
			}
			r, err := tx.Repository(ctx, p.ID)
			if err != nil {
				return err
			}
			list, err := tx.ChangeRequests(ctx, r.ID)
			found = len(list)
			return err
		}))
		return found == 1 && len(of.slow.blocked) >= 8
	})
	same(t, "slow ones asked at once", len(of.slow.blocked), 8)
}

// TestSharedSlowHostDoesNotBlockOthers checks that at most four of ten deployments
// wait for one slow host. Another host is polled in the meantime.
func TestSharedSlowHostDoesNotBlockOthers(t *testing.T) {
	s := storetest.New(t, "sqlite")
	w, of, _ := newShared(t, s, 1)
	for i := range 9 {
		d, err := s.CreateDeployment(t.Context(), fmt.Sprint("more-", i), "More", storetest.Actor)
		w.must(err)
		w.add(d.ID, "https://slow0.example")
	}
	stop := w.work(store.FollowJob, queue.Kind{Work: queue.Do(w.keeper.Follow), MaxRunning: 32, MaxPerDeployment: 8, MaxPerKey: 4})
	defer func() { close(of.release); stop() }()
	eventually(t, "the slow one is asked by four, and the other", func() bool {
		of.quick.mu.Lock()
		defer of.quick.mu.Unlock()
		return len(of.quick.polled) == 1 && len(of.slow.blocked) >= 4
	})
	same(t, "asked at once", len(of.slow.blocked), 4)
}

// timedHost records the deadlines of requests.
type timedHost struct {
	*fakeHost
	until chan time.Time
}

func (h timedHost) Open(model.Connection, model.HostCredential) (scm.Host, error) { return h, nil }

func (h timedHost) Who(ctx context.Context) (scm.Account, error) {
	h.note(ctx)
	return h.fakeHost.Who(ctx)
}

func (h timedHost) ChangeRequests(ctx context.Context, r model.Repository) ([]model.ChangeRequest, error) {
	h.note(ctx)
	return h.fakeHost.ChangeRequests(ctx, r)
}

func (h timedHost) note(ctx context.Context) {
	until, _ := ctx.Deadline()
	h.until <- until
}

// TestHostRequestsHaveSeparateTimeouts checks that listing repositories and polling them have
// separate timeouts.
func TestHostRequestsHaveSeparateTimeouts(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	w.followNow(w.d.ID, w.connect())
	w.now = w.now.Add(2 * time.Hour)
	c := w.keeper.Config
	of := timedHost{w.host, make(chan time.Time, 10)}
	c.Hosts = of
	w.keeper = hosts.New(c)
	defer w.work(store.FollowJob, queue.Kind{Work: queue.Do(w.keeper.Follow)})()
	check, poll := <-of.until, <-of.until
	if check.IsZero() || !poll.After(check) {
		t.Errorf("it is asked for its repositories until %v, and for news until %v", check, poll)
	}
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	same(t, "forgotten is who asked nothing since", w.host.forgotten, w.now.Add(-2*time.Hour))
}

// TestUnavailableHostIsRetriedForOneDay checks that a job retries an unavailable host for a day with
// growing delays and uses up no attempt.
func TestUnavailableHostIsRetriedForOneDay(t *testing.T) {
	clock := storetest.NewClock()
	w := newWorld(t, storetest.Open(t, storetest.Database(t, "sqlite", clock)))
	w.keeper.Clock = clock.Now
	w.connect()
	w.scanBy("semgrep", "refs/heads/fix", first)
	w.host.down = fmt.Errorf("no response: %w", model.ErrUnavailable)
	for _, c := range []struct{ after, want time.Duration }{{0, 5 * time.Second}, {time.Minute, 15 * time.Second}, {23 * time.Hour, 5 * time.Minute}} {
		clock.Advance(c.after)
		j := w.claim()
		_, _, err := queue.Do(w.keeper.ReportStatus)(t.Context(), j)
		wait, is := errors.AsType[queue.WaitError](err)
		if !is || wait.Wait.Round(time.Second) != c.want || !strings.Contains(wait.Reason, "no response") || queue.Outage(err) {
			t.Errorf("after %v: %v, waiting %v, want %v", c.after, err, wait.Wait, c.want)
		}
		w.must(w.s.ReleaseJob(t.Context(), j, 0))
	}
	w.host.down = nil
	w.must(w.runStatusJob(w.claim()))
	same(t, "statuses", len(w.host.statuses), 1)
}
