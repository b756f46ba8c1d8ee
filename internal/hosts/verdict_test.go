package hosts_test

import (
	"context"
	"errors"
	"regexp"
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

// knownInStatus matches the numbers and names in the text of a status.
var knownInStatus = regexp.MustCompile(`\b(\d+|semgrep)\b`)

// latestStatus sends queued reports and returns the newest status: project, commit, state, and the numbers
// and names in its text.
func (w *world) latestStatus() string {
	w.t.Helper()
	w.host.statuses = nil
	for {
		j, err := storetest.Claim(w.t.Context(), w.s, time.Minute, store.StatusJob)
		w.must(err)
		if j == nil {
			break
		}
		err = w.runStatusJob(*j)
		if wait := (queue.WaitError{}); errors.As(err, &wait) {
			err = w.s.ReleaseJob(w.t.Context(), *j, wait.Wait)
		}
		w.must(err)
	}
	if len(w.host.statuses) == 0 {
		return ""
	}
	text, _, _ := strings.Cut(w.host.statuses[len(w.host.statuses)-1], " https:")
	parts := strings.SplitN(text, " ", 4)
	return strings.Join(append(parts[:3], knownInStatus.FindAllString(parts[3], -1)...), " ")
}

// run enqueues a run of the branch.
func (w *world) run(commit string) (r model.Run) {
	w.t.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, "acme/payments")
		if err == nil {
			r, err = tx.QueueRun(ctx, model.Run{ProjectID: p.ID, Ref: "refs/heads/fix", Commit: commit, Kind: model.RunFull, Cause: model.RunByPush})
		}
		return err
	})
	return r
}

func (w *world) end(o model.RunOutcome) {
	w.t.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		r, _, err := tx.LeaseRun(ctx, 1, nil)
		if err == nil {
			_, err = tx.FinishRun(ctx, r.ID, r.Claim, o)
		}
		return err
	})
}

// TestCommitStatusIsPendingDuringRun checks that the status waits for the run: it uploads
// findings in dependencies long before those in code.
func TestCommitStatusIsPendingDuringRun(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		w.run(first)
		same(t, "queued", w.latestStatus(), "acme/payments 1111 1")
		w.scanBy("lockfiles", "refs/heads/fix", first)
		same(t, "with its dependencies", w.latestStatus(), "acme/payments 1111 1")
		w.scanBy("semgrep", "refs/heads/fix", first, w.find("rule-a", 4))
		w.end(model.RunOutcome{State: model.RunDone, ScanID: w.newestScan()})
		same(t, "ended", w.latestStatus(), "acme/payments 1111 3 1")
		w.run(second)
		w.scanBy("lockfiles", "refs/heads/fix", second)
		w.end(model.RunOutcome{State: model.RunFailed, Failure: model.RunScanner, Reason: "exit code 7"})
		same(t, "failed", w.latestStatus(), "acme/payments 2222 4 7")
	})
}

// TestCommitStatusWaitsForSourcesOfParent checks that the status waits for a limited
// time for the sources that scanned the parent commit.
func TestCommitStatusWaitsForSourcesOfParent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		w.scanBy("lockfiles", "refs/heads/fix", first)
		w.scanBy("semgrep", "refs/heads/fix", first)
		same(t, "both", w.latestStatus(), "acme/payments 1111 2")
		w.now = storetest.Epoch
		w.scanBy("lockfiles", "refs/heads/fix", second)
		same(t, "one of two", w.latestStatus(), "acme/payments 2222 1 semgrep")
		w.scanBy("semgrep", "refs/heads/fix", second, w.find("rule-a", 4))
		same(t, "both", w.latestStatus(), "acme/payments 2222 3 1")
		w.scanBy("lockfiles", "refs/heads/fix", third)
		w.now = storetest.Epoch.Add(time.Hour)
		same(t, "that the other never came", w.latestStatus(), "acme/payments 3333 2")
	})
}

// TestRunDoesNotReplaceBuildScan checks that a run does not replace the scan of a build that scanned the
// commit before.
func TestRunDoesNotReplaceBuildScan(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		w.now = storetest.Epoch
		w.run(first)
		w.scanBy("lockfiles", "refs/heads/fix", first)
		w.end(model.RunOutcome{State: model.RunDone, ScanID: w.newestScan()})
		w.scanBy("semgrep", "refs/heads/fix", first)
		w.latestStatus()
		w.run(second)
		w.scanBy("lockfiles", "refs/heads/fix", second)
		w.end(model.RunOutcome{State: model.RunDone, ScanID: w.newestScan()})
		same(t, "without the build", w.latestStatus(), "acme/payments 2222 1 semgrep")
		w.scanBy("semgrep", "refs/heads/fix", second, w.find("rule-a", 4))
		same(t, "with it", w.latestStatus(), "acme/payments 2222 3 1")
		w.scanBy("semgrep", "refs/heads/fix", third)
		w.run(third)
		w.end(model.RunOutcome{State: model.RunDone})
		same(t, "without what only runs brought", w.latestStatus(), "acme/payments 3333 2")
	})
}

// TestStatusWaitsForChangeRequestScan checks that the scan of a branch does not replace that of a change
// request. This applies if builds scan the change request separately, or a run is queued.
func TestStatusWaitsForChangeRequestScan(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		w.now = storetest.Epoch
		const waits = "acme/payments 2222 1 3 semgrep"
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix", FetchRef: "refs/pull/3/head", UpdatedAt: w.now}}
		w.must(w.keeper.Poll(t.Context(), w.d.ID, c))
		w.scanBy("semgrep", "refs/pull/3/merge", first)
		same(t, "its own", w.latestStatus(), "acme/payments 1111 2")
		w.scanBy("semgrep", "refs/heads/fix", second)
		same(t, "its branch, before the host reported the head", w.latestStatus(), waits)
		w.host.open[0].HeadCommit, w.host.open[0].UpdatedAt = second, w.now.Add(time.Second)
		w.must(w.keeper.Poll(t.Context(), w.d.ID, c))
		same(t, "its branch", w.latestStatus(), waits)
		w.scanBy("semgrep", "refs/pull/3/merge", second)
		same(t, "its own", w.latestStatus(), "acme/payments 2222 2")

		w.host.open = append(w.host.open, model.ChangeRequest{Number: 4, State: model.ChangeOpen, HeadCommit: third, HeadRef: "more", FetchRef: "refs/pull/4/head", UpdatedAt: w.now})
		w.scanBy("semgrep", "refs/heads/more", third)
		const waitsToo = "acme/payments 3333 1 4 semgrep"
		same(t, "a new one, as those before it", w.latestStatus(), "")
		w.scanBy("lockfiles", "refs/heads/more", third)
		same(t, "a new one, known by then", w.latestStatus(), waitsToo)
		w.now = storetest.Epoch.Add(time.Hour)
		w.scanBy("lockfiles", "refs/heads/more", third)
		same(t, "that it never came", w.latestStatus(), "acme/payments 3333 2")
	})
}

// TestStatusCoversAllRefsOfCommit checks that the status covers all refs of a commit, regardless of order.
func TestStatusCoversAllRefsOfCommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		w.scanBy("semgrep", "refs/heads/fix", first, w.find("rule-a", 4))
		w.scanBy("semgrep", "refs/heads/release", first)
		same(t, "the status", w.latestStatus(), "acme/payments 1111 3 1")
	})
}

// TestFixOnOtherRefDoesNotResolveComment checks that a fix on one branch does not resolve a comment at the
// change request of another.
func TestFixOnOtherRefDoesNotResolveComment(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix"}}
		w.scanBy("semgrep", "refs/heads/fix", first, w.find("rule-a", 4))
		w.latestStatus()
		before := len(w.host.comments)
		w.scanBy("semgrep", "refs/heads/release", first)
		w.latestStatus()
		for _, c := range w.host.comments {
			if hosts.Resolved(c.Body) || len(w.host.comments) != before {
				t.Errorf("a comment is %s", c.Body)
			}
		}
	})
}

// TestCommentsAreIdentifiedByID checks that comments are identified by their ids. They are
// searched for once if a response was lost.
func TestCommentsAreIdentifiedByID(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix"}}
		a := w.find("rule-a", 4)
		w.host.cut = model.ErrUnavailable
		j := w.scan(first, a)
		if err := w.runStatusJob(j); err == nil {
			t.Fatal("a lost answer is none")
		}
		w.host.cut = nil
		w.must(w.runStatusJob(j))
		same(t, "comments after a lost answer", len(w.host.comments), 2)
		listed := w.host.listed
		w.must(w.runStatusJob(w.scan(first, a)))
		same(t, "comments, told again", len(w.host.comments), 2)
		same(t, "lists of comments", w.host.listed, listed)
	})
}

// TestOneServerWritesToChangeRequest checks that one of several servers writes at a change request at a
// time.
func TestOneServerWritesToChangeRequest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix"}}
		w.must(w.keeper.Poll(t.Context(), w.d.ID, c))
		w.latestStatus()
		claim := func(want bool) {
			w.update(func(ctx context.Context, tx *store.Tx) error {
				r, err := tx.RepositoryByHostID(ctx, c.ID, "1")
				if err != nil {
					return err
				}
				_, ok, err := tx.ClaimChange(ctx, r.ID, 3, time.Minute)
				same(t, "a claim", ok, want)
				return err
			})
		}
		claim(true)
		claim(false)
		err := w.runStatusJob(w.scan(first, w.find("rule-a", 4)))
		if wait := (queue.WaitError{}); !errors.As(err, &wait) || len(w.host.comments) != 0 {
			t.Errorf("while another writes: %v, %+v", err, w.host.comments)
		}
	})
}

// TestOneJobReportsPerCommit checks that one job at a time reports about a commit: otherwise, an
// outdated report could be sent last.
func TestOneJobReportsPerCommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		older := w.scan(first)
		for range 2 { // the second replaces the first
			w.scanBy("semgrep", "refs/heads/fix", first, w.find("rule-a", 4))
		}
		if j, err := storetest.Claim(t.Context(), s, time.Minute, store.StatusJob); j != nil || err != nil {
			t.Fatalf("while an older one tells: %+v, %v", j, err)
		}
		w.must(w.runStatusJob(older))
		w.must(w.runStatusJob(w.claim()))
		if j, err := storetest.Claim(t.Context(), s, time.Minute, store.StatusJob); j != nil || err != nil {
			t.Errorf("two wait: %+v, %v", j, err)
		}
		same(t, "statuses", len(w.host.statuses), 2)
		same(t, "the last one fails", strings.Contains(w.host.statuses[1], "acme/payments 1111 3 1"), true)
	})
}

// TestHostRetryAfterIsHonored checks that a host is retried after the delay that it requests.
func TestHostRetryAfterIsHonored(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	w.connect()
	w.host.down = &model.BusyError{Text: "slow down", Wait: 7 * time.Minute}
	for _, commit := range []string{first, second} {
		err := w.runStatusJob(w.scan(commit))
		if wait := (queue.WaitError{}); !errors.As(err, &wait) || wait.Wait != 7*time.Minute {
			t.Errorf("busy: %v", err)
		}
	}
}

var _ scm.Host = (*fakeHost)(nil)
