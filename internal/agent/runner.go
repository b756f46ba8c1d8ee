package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/store"
)

// How long a runner may wait for a run, and how often the server checks for one.
const (
	maxLeaseWait = 30 * time.Second
	leaseLook    = time.Second
)

// tokenGrace extends the token of a run beyond the run's time limit, for an upload in progress.
const tokenGrace = 5 * time.Minute

// runnerRoutes returns the routes of runners for managed runs.
func (a *Agent) runnerRoutes() []httpx.Mounted {
	const base, scope, role = "/api/runner/v1/", httpx.Runner, model.RoleTriager
	return []httpx.Mounted{
		{Route: httpx.Row(http.MethodPost, base+"lease", scope, role, httpx.Writes, httpx.Filtered), Handle: a.leaseRun},
		{
			Route:  httpx.Row(http.MethodPost, base+"runs/{runId}/progress", scope, role, httpx.Writes, httpx.ByProject),
			Handle: a.progressRun,
		},
		{
			Route:  httpx.Row(http.MethodPost, base+"runs/{runId}/finish", scope, role, httpx.Writes, httpx.ByProject),
			Handle: a.finishRun,
		},
	}
}

// leaseRun returns the next run that the runner's token may execute, or none after a wait.
func (a *Agent) leaseRun(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	var in api.LeaseRunRequest
	if err := decode(r, &in); err != nil {
		return err
	}
	if in.Wait < 0 || in.Wait > int(maxLeaseWait/time.Second) {
		return model.Invalid("body.wait", "expected 0 to %d seconds", int(maxLeaseWait/time.Second))
	}
	over := time.After(time.Duration(in.Wait) * time.Second)
	for seen := false; ; seen = true {
		leased, err := a.tryLease(r.Context(), caller, in, !seen)
		if err == nil && leased.run != nil && leased.password != nil {
			leased.run, err = a.withPassword(r.Context(), caller, leased)
		}
		out := api.LeaseRunResponse{Run: leased.run}
		if err != nil || out.Run != nil {
			return errOr(err, func() error { return answer(w, out) })
		}
		select {
		case <-r.Context().Done():
			return answer(w, out) // the server shuts down or the runner disconnected
		case <-over:
			return answer(w, out)
		case <-time.After(leaseLook):
		}
	}
}

// leasing is a leased run. Its password is a function that creates the password, or nil if the run
// has one.
type leasing struct {
	run      *api.LeasedRun
	password func(context.Context) (string, error)
}

// passwordWithin limits how long a code host may take to create a password.
const passwordWithin = 20 * time.Second

// withPassword returns the run with a password that the code host creates for it. If this fails, it
// ends the run with the reason and returns nil.
func (a *Agent) withPassword(ctx context.Context, caller auth.Caller, l leasing) (*api.LeasedRun, error) {
	asking, cancel := context.WithTimeout(ctx, passwordWithin)
	defer cancel()
	password, err := l.password(asking)
	if err == nil {
		l.run.Credential.Password = password
		return l.run, nil
	}
	if ctx.Err() != nil { // its lease expires
		return nil, ctx.Err()
	}
	a.Logger.Warn("the host issued no credential for a run", "run", l.run.ID, "error", err)
	id, wrong := strconv.ParseInt(l.run.ID, 10, 64)
	if wrong != nil {
		return nil, wrong
	}
	return nil, a.Store.Update(ctx, caller.Deployment.ID, caller.Actor(), func(ctx context.Context, tx *store.Tx) error {
		o := model.RunOutcome{
			State:   model.RunFailed,
			Failure: model.RunTransient,
			Reason:  "the host issued no credential for the run: " + err.Error(),
		}
		_, err := tx.FinishRun(ctx, id, l.run.Claim, o)
		return err
	})
}

func errOr(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// tryLease checks without a lock whether there is a run, and leases it.
func (a *Agent) tryLease(
	ctx context.Context, caller auth.Caller, in api.LeaseRunRequest, first bool,
) (out leasing, err error) {
	due := false
	err = a.Store.View(ctx, caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		due, err = tx.RunIsDue(ctx, caller.Globs())
		return err
	})
	if err != nil || !due && !first {
		return out, err
	}
	by := caller.Actor()
	err = a.Store.Update(ctx, caller.Deployment.ID, by, func(ctx context.Context, tx *store.Tx) error {
		runner, err := tx.RecordRunnerContact(ctx, model.Runner{
			Name:      in.Name,
			TokenID:   caller.Token.ID,
			Labels:    in.Labels,
			Version:   in.Version,
			Isolation: in.Isolation,
		})
		if err != nil || !due {
			return err
		}
		out, err = a.lease(ctx, tx, caller, runner)
		return err
	})
	return out, err
}

// lease leases the next run for a runner. It ends runs with an unknown repository and continues
// with the next one.
func (a *Agent) lease(ctx context.Context, tx *store.Tx, caller auth.Caller, runner model.Runner) (leasing, error) {
	for {
		run, ok, err := tx.LeaseRun(ctx, runner.ID, caller.Globs())
		if err != nil || !ok {
			return leasing{}, err
		}
		leased, refused, err := a.prepare(ctx, tx, run)
		if err != nil || refused == "" {
			return leased, err
		}
		if _, err := tx.FinishRun(ctx, run.ID, run.Claim, model.RunOutcome{
			State:   model.RunFailed,
			Failure: model.RunPermanent,
			Reason:  refused,
		}); err != nil {
			return leasing{}, err
		}
	}
}

// prepare returns the data of a run for a runner, with a new token. The result refused is the
// reason why there is no repository to fetch.
func (a *Agent) prepare(ctx context.Context, tx *store.Tx, run model.Run) (out leasing, refused string, err error) {
	project, err := tx.Project(ctx, run.ProjectID)
	if err != nil {
		return out, "", err
	}
	if strings.Contains(project.Name, "*") {
		return out, "the project's name contains *, so no token can be bound to it alone", nil
	}
	source, err := a.source(ctx, tx, project)
	switch {
	case errors.Is(err, model.ErrNotFound):
		return out, "no connection to a code host has this repository", nil
	case errors.Is(err, model.ErrUnavailable):
		return out, "", err
	case err != nil:
		a.Logger.Warn("the repository of a run could not be determined", "run", run.ID, "project", project.ID, "error", err)
		return out, "the connection's credential could not be decrypted: check the connection", nil
	}
	secret := auth.NewSecret(tx.Deployment().ID)
	token, err := tx.CreateToken(ctx, model.Token{
		PublicID: secret.PublicID, Name: fmt.Sprintf("managed run %d", run.ID), Scopes: []model.Scope{model.ScopeCI},
		ProjectGlobs: []string{project.Name}, ExpiresAt: tx.Now().Add(model.RunTimeLimit + tokenGrace),
	}, secret.Hash)
	if err == nil {
		err = tx.BindRunToken(ctx, run.ID, token.ID)
	}
	leased := &api.LeasedRun{
		ID: strconv.FormatInt(run.ID, 10), Claim: run.Claim,
		Attempt: run.Attempt, Project: project.Name, Kind: run.Kind.String(),
		Ref: run.Ref, Commit: run.Commit, Base: run.Base, Change: run.Change,
		CloneURL: source.URL, WebURL: source.WebURL, Token: secret.Text,
		Limits: api.LeasedRunLimits{Seconds: int(model.RunTimeLimit / time.Second), LogBytes: model.MaxRunLog},
	}
	if source.Password != "" || source.SSHKey != "" || source.Make != nil {
		leased.Credential = &api.CloneCredential{
			Username:   source.Username,
			Password:   source.Password,
			SSHKey:     source.SSHKey,
			KnownHosts: source.KnownHosts,
		}
	}
	return leasing{leased, source.Make}, "", err
}

// source returns the location of a project's repository, or model.ErrNotFound if it is unknown.
func (a *Agent) source(ctx context.Context, tx *store.Tx, project model.Project) (model.CloneSource, error) {
	if a.CloneSource == nil {
		return model.CloneSource{}, model.ErrNotFound
	}
	return a.CloneSource(ctx, tx, project)
}

// ownRun returns the run in the path if the caller's token is that of its runner. Otherwise it
// returns model.ErrNotFound.
func (a *Agent) ownRun(r *http.Request, caller auth.Caller) (run model.Run, err error) {
	id, err := strconv.ParseInt(r.PathValue("runId"), 10, 64)
	if err != nil || id <= 0 {
		return run, model.ErrNotFound
	}
	err = a.Store.View(r.Context(), caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		if run, err = tx.Run(ctx, id); err != nil {
			return err
		}
		project, err := tx.Project(ctx, run.ProjectID)
		if _, err = gate.VisibleProject(caller.Globs(), project, err); err != nil {
			return err
		}
		runners, err := tx.Runners(ctx)
		for _, u := range runners {
			if u.ID == run.RunnerID && u.TokenID == caller.Token.ID {
				return err
			}
		}
		return errOr(err, func() error { return model.ErrNotFound })
	})
	return run, err
}

// progressRun stores the progress of a run and the new part of its log.
func (a *Agent) progressRun(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	var in api.ProgressRunRequest
	if err := decode(r, &in); err != nil {
		return err
	}
	run, err := a.ownRun(r, caller)
	if err != nil {
		return err
	}
	state, known := model.ParseRunState(in.State)
	if !known {
		return model.Invalid("body.state", "expected leased, fetching, scanning or uploading")
	}
	reported := model.Run{Ref: in.Ref, Commit: in.Commit, Kind: model.RunFull, Cause: model.RunByHand}
	if err := model.CheckRun(reported); err != nil {
		return err
	}
	log := []byte(runLog(in.Log))
	err = a.Store.ProgressRun(r.Context(), caller.Deployment.ID, run.ID, in.Claim, store.RunProgress{
		State: state, Ref: in.Ref, Commit: in.Commit, Offset: in.Offset, Log: log,
	})
	if err != nil {
		return err
	}
	return answer(w, api.ProgressRunResponse{Offset: min(max(run.LogSize, in.Offset+int64(len(log))), model.MaxRunLog)})
}

// runLog returns a part of a log for storage: without secrets and without terminal control
// sequences.
func runLog(text string) string {
	return redact.Log(model.Note(strings.ToValidUTF8(text, "\uFFFD")))
}

// finishRun ends a run with its runner's outcome, or schedules another attempt.
func (a *Agent) finishRun(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	var in api.FinishRunRequest
	if err := decode(r, &in); err != nil {
		return err
	}
	run, err := a.ownRun(r, caller)
	if err != nil {
		return err
	}
	state, known := model.ParseRunState(in.State)
	if !known || !state.Ended() || state == model.RunSuperseded {
		return model.Invalid("body.state", "expected done, failed, cancelled or timed_out")
	}
	failure, known := model.ParseRunFailure(in.Failure)
	if !known && in.Failure != "" {
		return model.Invalid("body.failure", "expected permanent, transient or scanner")
	}
	scan, err := strconv.ParseInt(in.ScanID, 10, 64)
	if err != nil && in.ScanID != "" {
		return model.Invalid("body.scan_id", "expected the id of a scan")
	}
	err = a.Store.Update(r.Context(), caller.Deployment.ID, caller.Actor(), func(ctx context.Context, tx *store.Tx) error {
		outcome := model.RunOutcome{State: state, Failure: failure, Reason: printable(in.Reason)}
		if scan > 0 {
			// the scanning process may be compromised and report any scan
			if s, err := tx.Scan(ctx, scan); err == nil && run.Brought(s) {
				outcome.ScanID = scan
			} else if err != nil && !errors.Is(err, model.ErrNotFound) {
				return err
			}
		}
		run, err = tx.FinishRun(ctx, run.ID, in.Claim, outcome)
		return err
	})
	if err != nil {
		return err
	}
	return answer(w, api.FinishRunResponse{State: run.State.String()})
}
