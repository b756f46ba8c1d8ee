package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// from sets the clone source of all runs.
func (w *world) from(source model.CloneSource, err error) {
	w.agent.CloneSource = func(context.Context, *store.Tx, model.Project) (model.CloneSource, error) { return source, err }
}

// runners returns the known runners.
func (w *world) runners() (list []model.Runner) {
	w.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.Runners(ctx)
		return err
	})
	return list
}

// TestRunnerWaitLimit checks that a runner may wait up to 30 seconds. It must be known from
// its first request, with and without runs.
func TestRunnerWaitLimit(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.from(model.CloneSource{URL: "https://git.example/x"}, nil)
	c := w.runner()
	for _, seconds := range []int{-1, 31} {
		if _, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{Name: "r", Wait: seconds}); status(err) != 400 {
			t.Errorf("a wait of %d seconds is answered with %v", seconds, err)
		}
	}
	type leased struct {
		run *api.LeasedRun
		err error
	}
	got := make(chan leased, 1)
	go func() {
		run, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{Name: "r", Wait: 30})
		got <- leased{run, err}
	}()
	for len(w.runners()) == 0 { // after the first check without a run
		select {
		case l := <-got:
			t.Fatalf("a runner that may wait was answered %+v, %v, and is not known", l.run, l.err)
		case <-time.After(time.Millisecond):
		}
	}
	w.queueRun("acme/payments")
	if l := <-got; l.err != nil || l.run == nil || l.run.Project != "acme/payments" {
		t.Errorf("a run that comes while its runner waits: %+v, %v", l.run, l.err)
	}
}

// TestRunCredentials checks credentials of runs. A public repository has none, an
// unknown one ends the run with the reason, and an outage postpones it.
func TestRunCredentials(t *testing.T) {
	made := func(context.Context) (string, error) { return "made", nil }
	for what, c := range map[string]struct {
		project    string
		source     model.CloneSource
		err        error
		credential string // of the leased run; empty for none
		refused    string // the reason with which the run ends
		queued     bool   // the run remains queued, and the runner must retry
	}{
		"nothing to show":     {source: model.CloneSource{}},
		"a password":          {source: model.CloneSource{Username: "u", Password: "p"}, credential: "u p "},
		"a key":               {source: model.CloneSource{SSHKey: "k"}, credential: "  k"},
		"a password made":     {source: model.CloneSource{Username: "u", Make: made}, credential: "u made "},
		"no connection":       {err: model.ErrNotFound, refused: "no connection"},
		"a credential broken": {err: errors.New("sealed with another key"), refused: "could not be decrypted"},
		"an outage":           {err: fmt.Errorf("the key file: %w", model.ErrUnavailable), queued: true},
		"a glob as a name":    {project: "acme/*", refused: "contains *"},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, "sqlite")
			w.from(c.source, c.err)
			if c.project == "" {
				c.project = "acme/payments"
			}
			queued := w.queueRun(c.project)
			run, err := w.runner().LeaseRun(t.Context(), api.LeaseRunRequest{Name: "r"})
			got, _ := w.storedRun(queued.ID)
			switch {
			case c.queued:
				if status(err) != 503 || got.State != model.RunQueued {
					t.Errorf("the runner is answered %+v, %v, and the run is %s", run, err, got.State)
				}
			case c.refused != "":
				if err != nil || run != nil || got.State != model.RunFailed || got.Failure != model.RunPermanent || !strings.Contains(got.Reason, c.refused) {
					t.Errorf("the runner is given %+v, %v; the run is %s: %s, want %q", run, err, got.State, got.Reason, c.refused)
				}
			case err != nil || run == nil:
				t.Errorf("the runner is given %+v, %v", run, err)
			default:
				credential := ""
				if run.Credential != nil {
					credential = run.Credential.Username + " " + run.Credential.Password + " " + run.Credential.SSHKey
				}
				if credential != c.credential {
					t.Errorf("the credential is %q, want %q", credential, c.credential)
				}
			}
			if logged := strings.Contains(w.log.String(), "could not be determined"); logged != (c.refused == "could not be decrypted") {
				t.Errorf("the server's log: %s", w.log.String())
			}
		})
	}
}

// TestServerWithoutConnectionsEndsRuns checks that runs end with the reason.
func TestServerWithoutConnectionsEndsRuns(t *testing.T) {
	w := newWorld(t, "sqlite")
	queued := w.queueRun("acme/payments")
	if run, err := w.runner().LeaseRun(t.Context(), api.LeaseRunRequest{Name: "r"}); run != nil || err != nil {
		t.Errorf("leased %+v, %v", run, err)
	}
	if got, _ := w.storedRun(queued.ID); got.State != model.RunFailed || !strings.Contains(got.Reason, "no connection") {
		t.Errorf("the run is %s: %s", got.State, got.Reason)
	}
}

// TestFinishRunValidation checks that a runner must send one of four final states, a known failure and a
// numeric scan id. Rejected requests must not change the run.
func TestFinishRunValidation(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.from(model.CloneSource{URL: "https://git.example/x"}, nil)
	c := w.runner()
	for i, test := range []struct {
		in     api.FinishRunRequest
		status int // 0 for none
		state  model.RunState
	}{
		{api.FinishRunRequest{State: "sleeping"}, 400, model.RunLeased},
		{api.FinishRunRequest{State: ""}, 400, model.RunLeased},
		{api.FinishRunRequest{State: "scanning"}, 400, model.RunLeased},
		{api.FinishRunRequest{State: "queued"}, 400, model.RunLeased},
		{api.FinishRunRequest{State: "superseded"}, 400, model.RunLeased},
		{api.FinishRunRequest{State: "failed", Failure: "bad luck"}, 400, model.RunLeased},
		{api.FinishRunRequest{State: "done", ScanID: "seven"}, 400, model.RunLeased},
		{api.FinishRunRequest{State: "done"}, 0, model.RunDone},
		{api.FinishRunRequest{State: "failed", Failure: "permanent"}, 0, model.RunFailed},
		{api.FinishRunRequest{State: "failed", Failure: "scanner", ScanID: "9"}, 0, model.RunFailed},
		{api.FinishRunRequest{State: "timed_out"}, 0, model.RunTimedOut},
		{api.FinishRunRequest{State: "cancelled"}, 0, model.RunCancelled},
	} {
		w.queueRun(fmt.Sprint("acme/", i))
		run, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{Name: "r"})
		if err != nil || run == nil {
			t.Fatal(run, err)
		}
		test.in.Claim = run.Claim
		_, err = c.FinishRun(t.Context(), run.ID, test.in)
		id, _ := strconv.ParseInt(run.ID, 10, 64)
		if got, _ := w.storedRun(id); status(err) != test.status || (err != nil) != (test.status != 0) || got.State != test.state {
			t.Errorf("%+v is answered with %v, and the run is %s, want %d and %s", test.in, err, got.State, test.status, test.state)
		}
	}
}

// TestNoPasswordForAnUnleasedRun checks that no password is created if the lease is not
// stored. The run must remain for the next runner.
func TestNoPasswordForAnUnleasedRun(t *testing.T) {
	w := newWorld(t, "sqlite")
	ctx, gone := context.WithCancel(t.Context())
	made := false
	w.agent.CloneSource = func(ctx context.Context, _ *store.Tx, _ model.Project) (model.CloneSource, error) {
		gone() // the runner disconnects
		<-ctx.Done()
		return model.CloneSource{URL: "https://git.example/x", Make: func(context.Context) (string, error) {
			made = true
			return "made", nil
		}}, nil
	}
	queued := w.queueRun("acme/payments")
	if run, err := w.runner().LeaseRun(ctx, api.LeaseRunRequest{Name: "r"}); run != nil || err == nil {
		t.Errorf("leased %+v, %v", run, err)
	}
	w.web.Close() // ends the request
	if got, _ := w.storedRun(queued.ID); made || got.State != model.RunQueued {
		t.Errorf("a password was made: %v; the run is %s", made, got.State)
	}
}
