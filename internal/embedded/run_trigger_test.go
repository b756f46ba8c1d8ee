package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/runner"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// repositoryOf creates a connection with a repository and its project.
func repositoryOf(ctx context.Context, tx *store.Tx, name, branch string, wanted model.ManagedScan, every model.RunEvery) (model.Repository, error) {
	c, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGitea, Name: name, BaseURL: "https://git.example"}, func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
	if err != nil {
		return model.Repository{}, err
	}
	seen, err := tx.SaveRepositories(ctx, c.ID, []model.Repository{{HostID: "1", FullName: name, DefaultBranch: branch, CloneURL: "https://git.example/" + name}}, true)
	if err != nil {
		return model.Repository{}, err
	}
	p, err := tx.AssignProject(ctx, seen[0].ID)
	if err != nil {
		return model.Repository{}, err
	}
	if _, err := tx.UpdateProject(ctx, p.ID, store.ProjectPatch{ManagedDiff: &wanted.Diff, ManagedFull: &wanted.Full}); err != nil {
		return model.Repository{}, err
	}
	if err := tx.PutRunPlan(ctx, model.RunPlan{ProjectID: p.ID, Every: every, QueuedAt: tx.Now().Add(-30 * 24 * time.Hour)}); err != nil {
		return model.Repository{}, err
	}
	return tx.Repository(ctx, p.ID)
}

// runsOf describes the runs of a deployment, one per line, newest first.
func runsOf(t *testing.T, s *store.Store, d model.Deployment) (lines []string) {
	t.Helper()
	err := s.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Runs(ctx, store.RunQuery{Limit: 100})
		for _, r := range list {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %.4s %s %s", r.Kind, r.Cause, r.Ref, r.Commit, r.State, r.Reason)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// push queues a scan if the branch is scanned on push.
func push(ctx context.Context, tx *store.Tx, r model.Repository, branch, commit string) error {
	if on, err := BranchOnPush(ctx, tx, r); err != nil || on != branch {
		return err
	}
	return RunPushed(ctx, tx, r, branch, commit)
}

// TestPushesAndChangeRequestsAreScanned checks that scans are queued if the project is configured
// for them, and that a newer commit replaces a queued one.
func TestPushesAndChangeRequestsAreScanned(t *testing.T) {
	first, second := strings.Repeat("1", 40), strings.Repeat("2", 40)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			on, err := repositoryOf(ctx, tx, "acme/on", "trunk", model.ManagedScan{Full: true, Diff: true}, model.RunOnPush)
			off, err2 := repositoryOf(ctx, tx, "acme/off", "trunk", model.ManagedScan{}, model.RunOnPush)
			weekly, err3 := repositoryOf(ctx, tx, "acme/weekly", "trunk", model.ManagedScan{Full: true}, model.RunWeekly)
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
			for _, r := range []model.Repository{on, off, weekly} {
				c := model.ChangeRequest{RepositoryID: r.ID, Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix", FetchRef: "refs/pull/3/head", BaseRef: "trunk"}
				err := errors.Join(push(ctx, tx, r, "trunk", first), push(ctx, tx, r, "other", first), push(ctx, tx, r, "trunk", second), RunProposed(ctx, tx, r, c))
				c.HeadCommit = second
				if err = errors.Join(err, RunProposed(ctx, tx, r, c)); err != nil {
					return err
				}
			}
			c := model.ChangeRequest{RepositoryID: on.ID, Number: 4, State: model.ChangeOpen, HeadCommit: first, FetchRef: "refs/pull/4/head", BaseRef: "+odd"}
			return RunProposed(ctx, tx, on, c)
		})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(runsOf(t, s, d), "\n")
		want := strings.Join([]string{
			"diff change_request   failed base: is not a valid ref name",
			"diff change_request refs/pull/3/head 2222 queued",
			"diff change_request refs/pull/3/head 1111 superseded a newer commit replaced it",
			"full push refs/heads/trunk 2222 queued",
			"full push refs/heads/trunk 1111 superseded a newer commit replaced it",
		}, "\n")
		if got != want {
			t.Errorf("runs are\n%s\nwant\n%s", got, want)
		}
	})
}

// TestScannedCommitIsNotQueuedAgain checks that a push queues no scan of a commit that the last
// run scans, for any cause. A failed run, or an older commit, is scanned again.
func TestScannedCommitIsNotQueuedAgain(t *testing.T) {
	first, second := strings.Repeat("1", 40), strings.Repeat("2", 40)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			r, err := repositoryOf(ctx, tx, "acme/on", "trunk", model.ManagedScan{Full: true}, model.RunOnPush)
			if err != nil {
				return err
			}
			ends := func(state model.RunState) error {
				run, _, err := tx.LeaseRun(ctx, 1, nil)
				if err == nil {
					_, err = tx.FinishRun(ctx, run.ID, run.Claim, model.RunOutcome{State: state, Failure: model.RunPermanent})
				}
				return err
			}
			_, err = tx.QueueRun(ctx, model.Run{ProjectID: r.ProjectID, Ref: "refs/heads/trunk", Commit: first, Kind: model.RunFull, Cause: model.RunByHand})
			return errors.Join(err,
				ends(model.RunDone), push(ctx, tx, r, "trunk", first),
				push(ctx, tx, r, "trunk", second), ends(model.RunFailed), push(ctx, tx, r, "trunk", second), ends(model.RunDone),
				push(ctx, tx, r, "trunk", first))
		})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(runsOf(t, s, d), "\n")
		want := strings.Join([]string{
			"full push refs/heads/trunk 1111 queued", "full push refs/heads/trunk 2222 done", "full push refs/heads/trunk 2222 failed", "full manual refs/heads/trunk 1111 done",
		}, "\n")
		if got != want {
			t.Errorf("runs are\n%s\nwant\n%s", got, want)
		}
	})
}

// TestInvalidBranchFailsOnlyItsRun checks that an invalid branch only fails its own run, with the
// reason.
func TestInvalidBranchFailsOnlyItsRun(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			for _, r := range [][2]string{{"acme/bad", "+main"}, {"acme/good", "main"}} {
				if _, err := repositoryOf(ctx, tx, r[0], r[1], model.ManagedScan{Full: true}, model.RunDaily); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := queueDueRuns(t.Context(), s, d.ID); err != nil {
				t.Fatal(err)
			}
		}
		got := strings.Join(runsOf(t, s, d), "\n")
		if !strings.Contains(got, "refs/heads/main") || strings.Count(got, "queued") != 1 || strings.Count(got, "failed ref: ") != 1 {
			t.Errorf("runs are\n%s", got)
		}
	})
}

// TestEachServerHasItsOwnRunnerToken checks that each server's runner has a separate token, and
// that a rejected token is replaced.
func TestEachServerHasItsOwnRunnerToken(t *testing.T) {
	s := storetest.New(t, "sqlite")
	d := storetest.Deployment(t, s)
	shown := []string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Header.Get("Authorization"))
		if len(shown) == 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	own := func(name string) *ownRunner {
		client := &api.Client{BaseURL: server.URL, Retries: -1}
		r, err := runner.New(t.Context(), runner.Config{Client: client, Server: base, Dir: t.TempDir(), Path: os.Getenv("PATH"), Isolation: runner.IsolateNever, Limits: runner.DefaultLimits(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return &ownRunner{Config: Config{Store: s}, deployment: d, runner: r, client: client, name: name}
	}
	one, two := own("runner one"), own("runner two")
	for _, r := range []*ownRunner{one, two, one} {
		if err := r.register(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := two.runOne(t.Context()); err != nil {
		t.Error(err)
	}
	if len(shown) != 2 || shown[0] == shown[1] {
		t.Errorf("the server was shown %d tokens", len(shown))
	}
	active := map[string]int{}
	err = s.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Tokens(ctx)
		for _, token := range list {
			if token.RevokedAt.IsZero() {
				active[token.Name]++
			}
		}
		return err
	})
	if err != nil || active["runner one"] != 1 || active["runner two"] != 1 {
		t.Errorf("in force are %v, %v", active, err)
	}
}
