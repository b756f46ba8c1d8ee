package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// eachRunners runs a test in worlds in which each project has a repository, except for lost/.
func eachRunners(t *testing.T, test func(w *world)) {
	t.Helper()
	each(t, func(w *world) {
		w.agent.CloneSource = func(_ context.Context, _ *store.Tx, p model.Project) (model.CloneSource, error) {
			if strings.HasPrefix(p.Name, "lost/") {
				return model.CloneSource{}, model.ErrNotFound
			}
			return model.CloneSource{URL: "https://git.example/" + p.Name, Username: "u", Password: "clone-password"}, nil
		}
		test(w)
	})
}

func (w *world) runner(globs ...string) *api.Client {
	w.Helper()
	token := w.newToken(model.Token{Name: "runner", Scopes: []model.Scope{model.ScopeRunner}, ProjectGlobs: globs})
	return &api.Client{BaseURL: w.web.URL, Token: token, Retries: -1}
}

func (w *world) queueRun(name string) (r model.Run) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, name)
		if errors.Is(err, model.ErrNotFound) {
			p, err = tx.CreateProject(ctx, model.Project{Name: name})
		}
		if err == nil {
			r, err = tx.QueueRun(ctx, model.Run{ProjectID: p.ID, Kind: model.RunFull, Cause: model.RunByHand})
		}
		return err
	})
	w.clock.Advance(time.Second)
	return r
}

func (w *world) storedRun(id int64) (r model.Run, log string) {
	w.Helper()
	err := w.store.View(w.Context(), w.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		if r, err = tx.Run(ctx, id); err != nil {
			return err
		}
		text, err := tx.RunLog(ctx, id, 0)
		log = string(text)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return r, log
}

func status(err error) int {
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return p.Status
	}
	return 0
}

func TestRunnerCompletesRun(t *testing.T) {
	eachRunners(t, func(w *world) {
		t := w.T
		c := w.runner()
		if none, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{Name: "r1", Version: "test"}); none != nil || err != nil {
			t.Fatalf("leased %+v, %v", none, err)
		}
		queued := w.queueRun("acme/payments")
		run, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{Name: "r1", Version: "test", Wait: 5})
		if err != nil || run == nil || run.CloneURL != "https://git.example/acme/payments" || run.Credential == nil || run.Credential.Password != "clone-password" || run.Token == "" {
			t.Fatalf("leased %+v, %v", run, err)
		}
		if status, _ := w.send("GET", "/api/agent/deployments/current", run.Token, nil); status != 200 {
			t.Errorf("the run's token is answered with %d", status)
		}
		commit := strings.Repeat("d", 40)
		secret := "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
		p, err := c.ProgressRun(t.Context(), run.ID, api.ProgressRunRequest{Claim: run.Claim, State: "fetching", Ref: "refs/heads/main", Commit: commit, Log: "one\n\x1b[2Jtoken=" + secret + "\n"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.ProgressRun(t.Context(), run.ID, api.ProgressRunRequest{Claim: run.Claim, State: "scanning", Offset: p.Offset, Log: "two\n"}); err != nil {
			t.Fatal(err)
		}
		for what, in := range map[string]api.ProgressRunRequest{
			"another claim":       {Claim: run.Claim + 1, State: "scanning"},
			"a state before":      {Claim: run.Claim, State: "fetching"},
			"an end":              {Claim: run.Claim, State: "done"},
			"no state":            {Claim: run.Claim, State: "sleeping"},
			"an option as a ref":  {Claim: run.Claim, State: "scanning", Ref: "--upload-pack=x"},
			"a commit that is no": {Claim: run.Claim, State: "scanning", Commit: "HEAD"},
		} {
			if _, err := c.ProgressRun(t.Context(), run.ID, in); status(err) != 400 && status(err) != 409 {
				t.Errorf("%s is answered with %v", what, err)
			}
		}
		if out, err := c.FinishRun(t.Context(), run.ID, api.FinishRunRequest{Claim: run.Claim, State: "done", ScanID: "4000000"}); err != nil || out.State != "done" {
			t.Fatalf("%+v, %v", out, err)
		}
		got, log := w.storedRun(queued.ID)
		if got.State != model.RunDone || got.Commit != commit || got.Ref != "refs/heads/main" || got.ScanID != 0 {
			t.Errorf("stored is %+v", got)
		}
		if strings.Contains(log, secret) || strings.Contains(log, "\x1b") || !strings.HasPrefix(log, "one\n") || !strings.HasSuffix(log, "two\n") {
			t.Errorf("the log is %q", log)
		}
		w.clock.Advance(2 * time.Second) // longer than tokens are cached
		if status, _ := w.send("GET", "/api/agent/deployments/current", run.Token, nil); status != 401 {
			t.Errorf("the run's token outlives it: %d", status)
		}
		if _, err := c.FinishRun(t.Context(), run.ID, api.FinishRunRequest{Claim: run.Claim, State: "done"}); !errors.Is(err, api.ErrRunLost) {
			t.Errorf("finished twice: %v", err)
		}
		if strings.Contains(w.log.String(), "clone-password") || strings.Contains(w.log.String(), run.Token) {
			t.Error("a credential is in the server's log")
		}
	})
}

// TestRunsAreAccessibleOnlyToTheirRunner checks that other tokens, including those of other runners, cannot
// access runs. A restricted token must only get runs of its projects.
func TestRunsAreAccessibleOnlyToTheirRunner(t *testing.T) {
	eachRunners(t, func(w *world) {
		t := w.T
		w.queueRun("acme/payments")
		all, bound := w.runner(), w.runner("platform/**")
		if run, err := bound.LeaseRun(t.Context(), api.LeaseRunRequest{Name: "r"}); run != nil || err != nil {
			t.Fatalf("a bound runner was given %+v, %v", run, err)
		}
		own := w.queueRun("platform/own")
		run, err := bound.LeaseRun(t.Context(), api.LeaseRunRequest{Name: "r"})
		if err != nil || run == nil || run.Project != "platform/own" {
			t.Fatalf("a bound runner was given %+v, %v", run, err)
		}
		for what, c := range map[string]*api.Client{"another runner's": all, "another one's of the same projects": w.runner("platform/**")} {
			if _, err := c.ProgressRun(t.Context(), run.ID, api.ProgressRunRequest{Claim: run.Claim, State: "scanning"}); status(err) != 404 {
				t.Errorf("%s token has a part in it: %v", what, err)
			}
			if _, err := c.FinishRun(t.Context(), run.ID, api.FinishRunRequest{Claim: run.Claim, State: "failed"}); status(err) != 404 {
				t.Errorf("%s token ends it: %v", what, err)
			}
		}
		for what, scopes := range map[string][]model.Scope{"web_api": {model.ScopeWebAPI}, "ci": {model.ScopeCI}, "both": {model.ScopeWebAPI, model.ScopeCI}} {
			c := &api.Client{BaseURL: w.web.URL, Retries: -1, Token: w.newToken(model.Token{Scopes: scopes})}
			if _, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{}); status(err) != 403 {
				t.Errorf("a token with %s is given runs: %v", what, err)
			}
		}
		for _, path := range []string{"/api/v1/deployments", "/api/agent/deployments/current", "/api/v1/deployments/acme/findings"} {
			if status, _ := w.send("GET", path, bound.Token, nil); status != 403 {
				t.Errorf("a runner's token is answered with %d at %s", status, path)
			}
		}
		for path, want := range map[string]int{"/api/v1/deployments/acme/findings": 403, "/api/agent/deployments/scans/config?repo_name=acme/payments": 404, "/api/agent/deployments/scans/config?repo_name=platform/own": 200} {
			if status, text := w.send("GET", path, run.Token, nil); status != want {
				t.Errorf("the run's token is answered with %d at %s, not %d: %s", status, path, want, text)
			}
		}
		if status, _ := w.send("POST", "/api/runner/v1/lease", run.Token, []byte(`{}`)); status != 403 {
			t.Errorf("the run's token takes runs: %d", status)
		}
		w.update(func(ctx context.Context, tx *store.Tx) error { return tx.CancelRun(ctx, own.ID, "stopped by hand") })
		w.clock.Advance(2 * time.Second)
		if _, err := bound.ProgressRun(t.Context(), run.ID, api.ProgressRunRequest{Claim: run.Claim, State: "scanning"}); !errors.Is(err, api.ErrRunLost) {
			t.Errorf("a cancelled run goes on: %v", err)
		}
		if status, _ := w.send("GET", "/api/agent/deployments/current", run.Token, nil); status != 401 {
			t.Errorf("the token of a cancelled run is answered with %d", status)
		}
	})
}

// TestRunWithoutRepositoryEnds checks that the run ends with a reason, and that the next one is
// leased.
func TestRunWithoutRepositoryEnds(t *testing.T) {
	eachRunners(t, func(w *world) {
		t := w.T
		lost := w.queueRun("lost/one")
		w.queueRun("acme/payments")
		run, err := w.runner().LeaseRun(t.Context(), api.LeaseRunRequest{})
		if err != nil || run == nil || run.Project != "acme/payments" {
			t.Fatalf("leased %+v, %v", run, err)
		}
		if got, _ := w.storedRun(lost.ID); got.State != model.RunFailed || got.Failure != model.RunPermanent || got.Reason == "" {
			t.Errorf("stored is %+v", got)
		}
	})
}

func TestTransientRunFailureIsRetried(t *testing.T) {
	eachRunners(t, func(w *world) {
		t := w.T
		queued := w.queueRun("acme/payments")
		c := w.runner()
		run, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{})
		if err != nil || run == nil {
			t.Fatal(run, err)
		}
		out, err := c.FinishRun(t.Context(), run.ID, api.FinishRunRequest{Claim: run.Claim, State: "failed", Failure: "transient", Reason: "the host did not answer\x1b[31m: https://u:pw@git.example"})
		if err != nil || out.State != "queued" {
			t.Fatalf("%+v, %v", out, err)
		}
		got, _ := w.storedRun(queued.ID)
		if got.Reason == "" || strings.Contains(got.Reason, "pw@") || strings.Contains(got.Reason, "\x1b") {
			t.Errorf("the reason is %q", got.Reason)
		}
		w.clock.Advance(model.RunBackoff(1) + time.Second)
		second, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{})
		if err != nil || second == nil || second.ID != run.ID || second.Attempt != 2 || second.Token == run.Token {
			t.Fatalf("%+v, %v", second, err)
		}
		if out, err = c.FinishRun(t.Context(), run.ID, api.FinishRunRequest{Claim: second.Claim, State: "failed", Failure: "permanent", Reason: "the branch is gone"}); err != nil || out.State != "failed" {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// TestRunTokenIsRestrictedToRun checks that the token is restricted to its run, because scanned code
// may compromise the scanner.
func TestRunTokenIsRestrictedToRun(t *testing.T) {
	eachRunners(t, func(w *world) {
		t := w.T
		w.queueRun("acme/payments")
		c := w.runner()
		run, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{})
		if err != nil || run == nil {
			t.Fatal(run, err)
		}
		commit := strings.Repeat("d", 40)
		if _, err := c.ProgressRun(t.Context(), run.ID, api.ProgressRunRequest{Claim: run.Claim, State: "scanning", Ref: "refs/heads/main", Commit: commit}); err != nil {
			t.Fatal(err)
		}
		begin := func(token, branch, commit string) (int, int64) {
			body := `{"project_metadata":{"repository":"acme/payments","branch":"` + branch + `","commit":"` + commit + `","is_full_scan":true},"scan_metadata":{"unique_id":"` + branch + commit[:2] + token[len(token)-4:] + `","requested_products":["sast"]}}`
			status, answer := w.send("POST", "/api/cli/v2/scans", token, []byte(body))
			var begun struct {
				Info struct {
					ID int64 `json:"id"`
				} `json:"info"`
			}
			w.decode([]byte(answer), &begun)
			return status, begun.Info.ID
		}
		ids := map[string]int64{}
		for _, c := range []struct {
			what, token, branch, commit string
			status                      int
		}{
			{"another branch", run.Token, "release", commit, 400},
			{"another commit", run.Token, "main", strings.Repeat("e", 40), 400},
			{"its own", run.Token, "main", commit, 200},
			{"another branch, by a token of the project", w.bound("acme/payments"), "release", commit, 200},
			{"the same commit, by a token of the project", w.bound("acme/payments"), "main", commit, 200},
		} {
			got, id := begin(c.token, c.branch, c.commit)
			if ids[c.what] = id; got != c.status {
				t.Errorf("%s is answered with %d, want %d", c.what, got, c.status)
			}
		}
		write := func(id int64, step string, body []byte) int {
			status, _ := w.send("POST", fmt.Sprintf("/api/agent/scans/%d/%s", id, step), run.Token, body)
			return status
		}
		for _, c := range []struct {
			what   string
			status int
		}{{"another branch, by a token of the project", 400}, {"the same commit, by a token of the project", 400}, {"its own", 200}} {
			id := ids[c.what]
			steps := []int{write(id, "results", w.recorded("full/3-results.json")), write(id, "complete", w.recorded("full/4-complete.json")), write(id, "error", []byte(`{"exit_code":2}`))}
			if want := []int{c.status, c.status, c.status}; !slices.Equal(steps, want) {
				t.Errorf("a scan of %s: results, complete and error are answered with %v, want %v", c.what, steps, want)
			}
		}
	})
}

// TestRunReportsOnlyItsOwnScan checks that a run cannot refer to another scan. The file with the
// scan id is written where untrusted code runs.
func TestRunReportsOnlyItsOwnScan(t *testing.T) {
	eachRunners(t, func(w *world) {
		t := w.T
		var first int64
		for _, c := range []struct {
			what string
			own  bool
		}{{"its own", true}, {"one of a build", false}, {"one of the run before", false}} {
			w.queueRun("acme/payments")
			runner := w.runner()
			run, err := runner.LeaseRun(t.Context(), api.LeaseRunRequest{})
			if err != nil || run == nil {
				t.Fatal(run, err)
			}
			token := run.Token
			if c.what == "one of a build" {
				token = w.bound("acme/payments")
			}
			scan := first
			if c.what != "one of the run before" {
				status, id, answer := w.beginAs(token, claim{name: "acme/payments", id: "1", run: strings.ReplaceAll(c.what, " ", "-")})
				if scan = id; id == 0 {
					t.Fatalf("%s: there is no scan: %d %s", c.what, status, answer)
				}
			}
			if c.own {
				first = scan
			}
			if out, err := runner.FinishRun(t.Context(), run.ID, api.FinishRunRequest{Claim: run.Claim, State: "done", ScanID: fmt.Sprint(scan)}); err != nil || out.State != "done" {
				t.Fatalf("%s: %+v, %v", c.what, out, err)
			}
			id, _ := strconv.ParseInt(run.ID, 10, 64)
			if got, _ := w.storedRun(id); (got.ScanID == scan) != c.own || !c.own && got.ScanID != 0 {
				t.Errorf("%s, %d: the run names %d", c.what, scan, got.ScanID)
			}
		}
	})
}

// TestRunPasswordIsCreatedByHost checks that the password is created outside of any transaction. If
// this fails, the run must wait for another attempt.
func TestRunPasswordIsCreatedByHost(t *testing.T) {
	eachRunners(t, func(w *world) {
		t := w.T
		var fails error
		w.agent.CloneSource = func(_ context.Context, _ *store.Tx, p model.Project) (model.CloneSource, error) {
			return model.CloneSource{URL: "https://git.example/" + p.Name, Username: "x-access-token", Make: func(ctx context.Context) (string, error) {
				err := w.store.View(ctx, w.deployment.ID, func(context.Context, *store.Tx) error { return nil })
				return "made-for-this", errors.Join(err, fails)
			}}, nil
		}
		queued := w.queueRun("acme/payments")
		c := w.runner()
		fails = errors.New("the app is suspended")
		if run, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{}); run != nil || err != nil {
			t.Fatalf("leased %+v, %v", run, err)
		}
		if got, _ := w.storedRun(queued.ID); got.State != model.RunQueued || !strings.Contains(got.Reason, "the app is suspended") {
			t.Errorf("the run is %+v", got)
		}
		if !strings.Contains(w.log.String(), "the host issued no credential") {
			t.Errorf("the server's log: %s", w.log.String())
		}
		fails = nil
		w.clock.Advance(model.RunBackoff(1) + time.Second)
		run, err := c.LeaseRun(t.Context(), api.LeaseRunRequest{})
		if err != nil || run == nil || run.Credential == nil || run.Credential.Password != "made-for-this" || run.Credential.Username != "x-access-token" {
			t.Errorf("leased %+v, %v", run, err)
		}
	})
}
