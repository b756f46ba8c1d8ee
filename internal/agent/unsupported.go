package agent

import (
	"net/http"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
)

// Texts of errors for unsupported requests. Users of scanners read them, so they contain the
// alternative.
const (
	noEngine = "This server has no engine to download: run the scanner with --oss-only, which uses the open-source engine."
	noUpload = "The scanner cannot publish rules here: an administrator of the server adds them with redoubt " +
		"policies add-rules FILE."
)

// engineRefused is the exit code of a scanner that gets no engine.
const engineRefused = 2

// engine refuses the download of the Pro engine, which a scanner started without --oss-only
// requests. It ends the scan of the request with an error, because the scanner exits without
// reporting that it failed.
func (a *Agent) engine(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	attempt := a.attemptOf(r, model.FailedScope)
	attempt.DeploymentID, attempt.TokenID, attempt.Cause = caller.Deployment.ID, caller.Token.PublicID, noEngine
	attempt.ExitCode = engineRefused
	if caller.CanUpload() && caller.CanWrite() {
		if err := a.failScan(r.Context(), caller, &attempt); err != nil {
			a.Logger.WarnContext(r.Context(), "a scan without an engine was not ended",
				"unique_id", brief(attempt.Name, maxAgent), "error", err)
		}
	}
	if a.attempts.allow(attempt.Step, attempt.DeploymentID, attempt.Address) {
		a.enqueue(attempt)
	}
	return refuse(w, http.StatusForbidden, api.CodePermissionDenied, noEngine)
}

// publish refuses `semgrep publish`.
func (a *Agent) publish(w http.ResponseWriter, _ *http.Request, _ auth.Caller) error {
	return refuse(w, http.StatusForbidden, api.CodePermissionDenied, noUpload)
}

// reachabilityCache returns an empty cache, because the open engine does not have this analysis.
func (a *Agent) reachabilityCache(w http.ResponseWriter, _ *http.Request, _ auth.Caller) error {
	return answer(w, struct {
		Cached []string `json:"cached"`
	}{[]string{}})
}

func (a *Agent) acceptReachability(w http.ResponseWriter, _ *http.Request, _ auth.Caller) error {
	return answer(w, struct{}{})
}
