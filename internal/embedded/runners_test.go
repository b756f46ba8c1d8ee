package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/runner"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// ownRunnersOf returns the built-in runners of a server and their log.
func ownRunnersOf(t *testing.T, isolation string) (*Runners, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	a := &command.App{Log: slog.New(slog.NewTextHandler(log, nil)), Clock: time.Now, Getenv: os.Getenv}
	return NewRunners(Config{
		App: a, Config: config.Server{Runner: true, Isolation: isolation}, Storage: config.Storage{Data: t.TempDir()},
		Store:   storetest.New(t, "sqlite"),
		BaseURL: func() string { return "https://redoubt.example" },
		LogFailure: func(_ context.Context, d model.Deployment, task string, err error) {
			if err != nil {
				a.Log.Error("housekeeping failed", "task", task, "deployment", d.Slug, "error", err)
			}
		},
	}), log
}

// TestBuiltInRunnerRequiresSandboxByDefault checks that a runner requires a sandbox unless the isolation
// setting allows runs without one. The log reports that.
func TestBuiltInRunnerRequiresSandboxByDefault(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // bubblewrap is not on the path
	for isolation, begins := range map[string]bool{"": false, "required": false, "auto": true, "none": true} {
		t.Run(isolation, func(t *testing.T) {
			o, log := ownRunnersOf(t, isolation)
			d := storetest.Deployment(t, o.Store)
			for range 2 {
				o.Update(t.Context())
			}
			if (o.of[d.ID] != nil) != begins || o.Accepts(d.ID) != begins {
				t.Errorf("runners are %v, it may make runs: %t", o.of, o.Accepts(d.ID))
			}
			want := "scans without a sandbox"
			if !begins {
				want = "--isolation"
			}
			logged := 0
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, want) && strings.Contains(line, "deployment="+d.Slug) {
					logged++
				}
			}
			if logged != 1 {
				t.Errorf("the log is to say %q once:\n%s", want, log)
			}
		})
	}
}

// TestFailedRunnerCreationDoesNotDelayOthers checks that a deployment whose runner cannot be
// created does not delay others. It has a runner after the problem is fixed.
func TestFailedRunnerCreationDoesNotDelayOthers(t *testing.T) {
	o, log := ownRunnersOf(t, "none")
	one := storetest.Deployment(t, o.Store)
	two, err := o.Store.CreateDeployment(t.Context(), "two", "Two", storetest.Actor)
	if err != nil {
		t.Fatal(err)
	}
	blocking := filepath.Join(command.RunnerFolder(o.Storage, one.ID), command.RunnerIDFile)
	if err := os.MkdirAll(blocking, 0o700); err != nil {
		t.Fatal(err)
	}
	if o.Update(t.Context()); o.of[one.ID] != nil || o.of[two.ID] == nil {
		t.Errorf("begun are %v\n%s", o.of, log)
	}
	if err := os.Remove(blocking); err != nil {
		t.Fatal(err)
	}
	if o.Update(t.Context()); o.of[one.ID] == nil {
		t.Errorf("begun are then %v\n%s", o.of, log)
	}
	for _, d := range []model.Deployment{one, two} { // both runners are listed
		err := o.Store.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Runners(ctx)
			if len(list) != 1 || !list[0].Present(storetest.Epoch) {
				t.Errorf("%s has the runners %+v", d.Slug, list)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeletedDeploymentRemovesBuiltInRunner checks that the runner of a deleted deployment and
// its repositories are removed, including deployments deleted while no server was running.
func TestDeletedDeploymentRemovesBuiltInRunner(t *testing.T) {
	o, log := ownRunnersOf(t, "none")
	stays := storetest.Deployment(t, o.Store)
	deleted, err := o.Store.CreateDeployment(t.Context(), "goes", "Goes", storetest.Actor)
	if err != nil {
		t.Fatal(err)
	}
	folder := func(id int64, parts ...string) string {
		return filepath.Join(append([]string{command.RunnerFolder(o.Storage, id)}, parts...)...)
	}
	createFiles := func(id int64, with string) {
		t.Helper()
		for _, dir := range []string{"cache/x.git", "runs"} {
			if err := os.MkdirAll(folder(id, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(folder(id, with), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const before, others = 900_001, 900_002
	createFiles(before, command.RunnerIDFile)
	createFiles(others, "lock") // a separate redoubt runner uses this directory
	o.Update(t.Context())
	createFiles(stays.ID, "cache/x.git/HEAD")
	createFiles(deleted.ID, "cache/x.git/HEAD")
	if err := o.Store.DeleteDeployment(t.Context(), deleted.ID, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	o.of[deleted.ID].busy.Lock()
	if o.Update(t.Context()); o.of[deleted.ID] == nil {
		t.Error("one that has a run is ended")
	}
	o.of[deleted.ID].busy.Unlock()
	o.Update(t.Context())
	for id, want := range map[int64]bool{stays.ID: true, deleted.ID: false, before: false, others: true} {
		if _, err := os.Stat(folder(id, "cache/x.git")); (err == nil) != want {
			t.Errorf("the repositories of %d: %v\n%s", id, err, log)
		}
	}
	if o.of[deleted.ID] != nil || o.of[stays.ID] == nil {
		t.Errorf("runners are %v", o.of)
	}
}

// TestRunnerWithNewTokenPreservesRepositories checks that a runner can be restarted with a
// new token in its directory before the old token is revoked. It fetches nothing again.
func TestRunnerWithNewTokenPreservesRepositories(t *testing.T) {
	dir, repository := t.TempDir(), ""
	requests := make(chan string, 100)
	var revoked atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := r.Header.Get("Authorization"); token == "Bearer old" && revoked.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"status":401,"code":%q}`, api.CodeUnauthenticated)
		} else {
			select {
			case requests <- token:
			default:
			}
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	defer server.Close()
	work := func(token string, until func() error) error {
		t.Helper()
		r, err := runner.New(t.Context(), runner.Config{Client: &api.Client{BaseURL: server.URL, Token: token, Retries: -1}, Dir: dir, Path: os.Getenv("PATH"), Isolation: runner.IsolateNever, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if repository == "" {
			repository = filepath.Join(dir, "cache", "x.git")
			err = os.MkdirAll(repository, 0o700)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		done := make(chan error, 1)
		go func() { done <- runAll(ctx, []*runner.Runner{r}) }()
		if until != nil {
			err = errors.Join(err, until())
			stop()
		}
		return errors.Join(err, <-done, r.Close())
	}
	for _, token := range []string{"old", "new"} {
		err := work(token, func() error {
			select {
			case by := <-requests:
				if by != "Bearer "+token {
					return fmt.Errorf("asked by %s", by)
				}
				return nil
			case <-time.After(2 * time.Minute):
				return errors.New("it sent no request")
			}
		})
		for len(requests) > 0 {
			<-requests
		}
		if _, gone := os.Stat(repository); err != nil || gone != nil {
			t.Fatalf("with the %s token: %v, %v", token, err, gone)
		}
		revoked.Store(true)
	}
	err := work("old", nil)
	if _, gone := os.Stat(repository); !errors.Is(err, runner.ErrToken) || !errors.Is(gone, os.ErrNotExist) {
		t.Errorf("with the one that was revoked: %v, %v", err, gone)
	}
}

// TestRevokedRunnerTokenDeletesRepositories checks that a runner with a revoked token deletes
// its repositories. Other rejections preserve them.
func TestRevokedRunnerTokenDeletesRepositories(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   string
		stays  bool
	}{
		"a token that is in force no more":   {401, api.CodeUnauthenticated, false},
		"a proxy that wants to be signed in": {401, "", true},
		"a token that may take no runs":      {403, api.CodePermissionDenied, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprintf(w, `{"status":%d,"code":%q}`, c.status, c.code)
			}))
			defer server.Close()
			dir := t.TempDir()
			r, err := runner.New(t.Context(), runner.Config{Client: &api.Client{BaseURL: server.URL, Retries: -1}, Dir: dir, Path: os.Getenv("PATH"), Isolation: runner.IsolateNever, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if err := os.MkdirAll(filepath.Join(dir, "cache", "x.git"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := runAll(t.Context(), []*runner.Runner{r}); err == nil || errors.Is(err, runner.ErrToken) == c.stays {
				t.Errorf("it ended with: %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "cache", "x.git")); (err == nil) != c.stays {
				t.Errorf("what it kept: %v", err)
			}
		})
	}
}
